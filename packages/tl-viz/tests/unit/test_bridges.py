"""Lines of two tensors that cross pass over each other; lines of one tensor meet plainly."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from columns import DEFAULTS, load

from tl_viz._bridges import bridges, upright_ways
from tl_viz._display import Stroke
from tl_viz._draw import picture
from tl_viz._write.corners import round_corners
from tl_viz._write.pdf import to_pdf

UPRIGHT = ((50.0, 0.0), (50.0, 100.0))
LEVEL = ((0.0, 40.0), (90.0, 40.0), (90.0, 100.0))


def test_a_level_line_passes_over_an_upright_one_of_another_tensor():
    ways = upright_ways([[UPRIGHT], [LEVEL]])
    assert bridges(LEVEL, 1, ways) == ((50.0, 40.0),)
    assert bridges(UPRIGHT, 0, ways) == ()


def test_lines_of_one_tensor_do_not_pass_over_each_other():
    assert bridges(LEVEL, 0, upright_ways([[UPRIGHT, LEVEL]])) == ()


@pytest.mark.parametrize(
    "line", [((0.0, 40.0), (50.0, 40.0)), ((0.0, 100.0), (90.0, 100.0)), ((0.0, 140.0), (90.0, 140.0))]
)
def test_lines_that_only_touch_do_not_cross(line):
    assert bridges(line, 1, upright_ways([[UPRIGHT], [line]])) == ()


def test_a_bridge_is_eight_wide_and_stands_over_the_crossing():
    steps = round_corners(LEVEL, 6.0, False, ((50.0, 40.0),))
    assert steps[:3] == [("M", ((0.0, 40.0),)), ("L", ((46.0, 40.0),)), ("Q", ((50.0, 31.0), (54.0, 40.0)))]
    backwards = round_corners(LEVEL[:2][::-1], 6.0, False, ((50.0, 40.0),))
    assert backwards[1:3] == [("L", ((54.0, 40.0),)), ("Q", ((50.0, 31.0), (46.0, 40.0)))]


def test_bridges_that_would_touch_are_one():
    steps = round_corners(LEVEL[:2], 6.0, False, ((50.0, 40.0), (57.0, 40.0)))
    assert steps[1:3] == [("L", ((46.0, 40.0),)), ("Q", ((53.5, 31.0), (61.0, 40.0)))]


def test_a_corner_beside_a_bridge_is_sharper():
    steps = round_corners(LEVEL, 6.0, False, ((83.0, 40.0),))
    assert steps[3:5] == [("L", ((87.0, 40.0),)), ("Q", ((90.0, 40.0), (90.0, 43.0)))]


def crossings(drawing):
    """Pairs of edges whose lines cross, with the place, found by comparing everything with everything."""
    strokes = {
        number: shape.lines
        for number, group in enumerate(group for group in drawing._display.groups if group.kind == "edge")
        for shape in group.shapes
        if isinstance(shape, Stroke)
    }
    pieces = [(net, start, end) for net, lines in strokes.items() for line in lines for start, end in pairwise(line)]
    return {
        (round(x0, 3), round(y0, 3))
        for net, (x0, top), (x1, bottom) in pieces
        for other, (left, y0), (right, y1) in pieces
        if net != other
        and abs(x0 - x1) < 0.01
        and abs(y0 - y1) < 0.01
        and min(left, right) + 1 < x0 < max(left, right) - 1
        and min(top, bottom) + 1 < y0 < max(top, bottom) - 1
    }


def built(drawing):
    return {
        (round(x, 3), round(y, 3))
        for group in drawing._display.groups
        for shape in group.shapes
        if isinstance(shape, Stroke) and group.kind == "edge"
        for hops in shape.hops
        for x, y in hops
    }


@pytest.mark.parametrize("name", ["gru-500", "mamba", "moe", "gpt2-12-cache"])
def test_every_crossing_of_the_gallery_is_a_bridge(name):
    drawing = picture(load(name), DEFAULTS)
    assert built(drawing) == crossings(drawing)


def test_every_format_draws_the_bridge():
    drawing = picture(load("mamba"), DEFAULTS)
    x, y = min(built(drawing), key=lambda hop: hop[1])
    svg, pdf = drawing.svg, to_pdf(drawing._display).decode("latin-1")
    curves = [[float(number) for number in curve.split()] for curve in re.findall("Q([0-9. ]+)", svg)]
    assert any(curve == pytest.approx([x, y - 9, x + step, y], abs=0.06) for curve in curves for step in (-4, 4))
    # A cubic curve, whose control points lie two thirds of the way to the one of the quadratic curve.
    assert f" {_short(y - 6, 3)} " in pdf


def _short(value, digits):
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
