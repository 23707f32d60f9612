"""A plus in the corner marks a box with more inside than is drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from columns import DEFAULTS, load, names

from tl_viz._display import PLUS_HALF, Bar, Stroke, Words
from tl_viz._draw import picture


def signs(group):
    """Left, top, right and bottom of each plus of a node."""
    squares = [shape for shape in group.shapes if isinstance(shape, Stroke) and shape.width == 2 * PLUS_HALF]
    found = []
    for square in squares:
        (((x, y), (to_x, _)),) = square.lines
        found.append((x, y - PLUS_HALF, to_x, y + PLUS_HALF))
    return found


@pytest.mark.parametrize("direction", ["topdown", "bottomup", "leftright", "rightleft"])
@pytest.mark.parametrize("name", names())
def test_closed_boxes_have_it_and_no_others(name, direction):
    drawing = picture(load(name), replace(DEFAULTS, direction=direction))
    closed = {node.key for node in drawing.scene.nodes() if node.role == "module"}
    for group in drawing._display.groups:
        if group.kind != "node":
            continue
        found = signs(group)
        assert len(found) == (group.key in closed)
        box = [shape for shape in group.shapes if isinstance(shape, Bar)][-1]
        bars = [shape for shape in group.shapes if isinstance(shape, Stroke) and shape.width == 5.0]
        for left, top, right, bottom in found:
            assert box.x < left
            assert right < box.x + box.width
            assert box.y < top
            for words in group.shapes:
                if isinstance(words, Words) and words.y - words.size * 0.76 < bottom:
                    assert words.x + words.width <= left or words.x >= right
            for bar in bars:
                (((x, y), (to_x, _)),) = bar.lines
                gaps = (left - x, x - right) if x == to_x else (top - y, y - bottom)
                assert max(gaps) >= bar.width / 2 + 1


def test_dot_writes_it_before_the_title():
    drawing = picture(load("resnet50"), DEFAULTS)
    assert drawing.dot.count('label="[+] ') == 3
    assert '[label="[+] layer2\\n' in drawing.dot
