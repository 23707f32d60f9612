"""A picture that is wrapped into columns."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from columns import DEFAULTS, load
from quality import all_faults

from tl_viz._display import Bar, Words
from tl_viz._draw import picture
from tl_viz._layout import lay_out
from tl_viz._scene import Box, Edge, Node, Scene, TextRow


def stacked(heights, *, skip=False):
    """A chain of nodes with these heights."""
    nodes = tuple(
        Node(key=f"n{number}", role="op", rows=(), width=60.0, height=height) for number, height in enumerate(heights)
    )
    edges = [Edge(source=one.key, targets=(other.key,)) for one, other in pairwise(nodes)]
    if skip:
        edges[0] = Edge(source="n0", targets=("n1", "n4"))
    return Scene(root=Box(key="", role="root", title=(), children=nodes), edges=tuple(edges))


@pytest.mark.parametrize("skip", [False, True])
def test_a_short_last_column_ends_where_the_picture_ends(skip):
    """One node of 4,100 px and five of 40: the five stand beside its lower end, and their line climbs no higher than that."""
    scene = stacked([4100.0] + [40.0] * 5, skip=skip)
    geometry = lay_out(scene)
    rects = geometry.rects
    assert rects["n1"].x > rects["n0"].x + rects["n0"].width
    assert rects["n5"].y + rects["n5"].height == pytest.approx(rects["n0"].y + rects["n0"].height, abs=20)
    highest = min(y for line in geometry.lines for x, y in line.points if x > rects["n0"].x + 60)
    assert rects["n1"].y - 80 < highest < rects["n1"].y
    assert all_faults(scene, geometry) == []


def test_columns_of_like_length_begin_together():
    scene = stacked([1400.0, 1000.0, 40.0, 40.0, 40.0, 2200.0])
    geometry = lay_out(scene)
    heads = {round(rect.x): rect.y for rect in reversed([geometry.rects[node.key] for node in scene.nodes()])}
    assert len(heads) > 1
    assert max(heads.values()) - min(heads.values()) < 20
    assert all_faults(scene, geometry) == []


def test_forty_items_stand_in_one_column():
    geometry = lay_out(stacked([70.0] * 40))
    assert {rect.x for key, rect in geometry.rects.items() if key} == {0.0}


@pytest.mark.parametrize("direction", ["topdown", "bottomup", "leftright", "rightleft"])
def test_both_ends_say_where_it_goes_on(direction):
    """There are words at the foot of every column but the last, at the head of every one but the first, and gaps between them."""
    chain = stacked([700.0] * 12)
    square = tuple(replace(node, width=700.0) for node in chain.root.children)
    frame = Box(key="f", role="module", title=(TextRow(text="frame"),), children=square)
    scene = Scene(root=Box(key="", role="root", title=(), children=(frame,)), edges=chain.edges)
    geometry = lay_out(scene, direction=direction)
    across = 1 if direction in {"leftright", "rightleft"} else 0
    columns = len({round(rect[across]) for key, rect in geometry.rects.items() if key.startswith("n")})
    assert columns > 2
    word = "column" if direction in {"topdown", "bottomup"} else "row"
    texts = [text for _, text in geometry.marks]
    assert texts == [f"continues in the next {word}"] * (columns - 1) + [f"continued from the last {word}"] * (
        columns - 1
    )
    assert [key for key, _ in geometry.gaps] == ["f"] * (columns - 1)
    assert all_faults(scene, geometry) == []


def test_the_words_are_in_the_picture_and_the_gaps_are_white():
    drawing = picture(load("swin"), replace(DEFAULTS, collapse=0.3))
    shapes = [
        shape
        for group in drawing._display.groups
        for shape in group.shapes
        if group.kind == "note" and group.key not in {"heavy", "joins"}
    ]
    texts = [shape.text for shape in shapes if isinstance(shape, Words)]
    assert texts.count("continues in the next column") == texts.count("continued from the last column") == 3
    gaps = [shape for shape in shapes if isinstance(shape, Bar)]
    assert {gap.fill for gap in gaps} == {DEFAULTS.theme.background}
    assert len(gaps) == 2  # between the three columns in `features`; outside of it the picture is white as it is
