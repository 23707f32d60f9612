"""Lines are short, bend seldom, and cross where they must."""

from __future__ import annotations

from itertools import pairwise

import pytest
from columns import DEFAULTS, load
from quality import all_faults, labels_on_nodes

from tl_viz._bridges import bridges, upright_ways
from tl_viz._draw import picture
from tl_viz._layout import Geometry, Line, lay_out
from tl_viz._layout.score import effort
from tl_viz._layout.tracks import NEAR, Crossing, assign_tracks
from tl_viz._scene import Box, Edge, Node, Scene, TextRow


def node(key, width=80.0, height=30.0):
    return Node(key=key, role="input" if key in {"x", "side"} else "op", rows=(), width=width, height=height)


def frame(key, *children):
    return Box(key=key, role="module", title=(TextRow(text=key),), children=children)


def scene(children, *edges):
    return Scene(
        root=Box(key="", role="root", title=(), children=tuple(children)),
        edges=tuple(Edge(source=source, targets=tuple(targets.split())) for source, targets in edges),
    )


def crossings(geometry):
    lines = {}
    for line in geometry.lines:
        lines.setdefault(line.edge, []).append(line.points)
    ways = upright_ways(list(lines.values()))
    return {point for number, own in enumerate(lines.values()) for line in own for point in bridges(line, number, ways)}


def corners(geometry, edge):
    return sum(
        (before[0] == here[0]) != (here[0] == after[0])
        for line in geometry.lines
        if line.edge == edge
        for before, here, after in zip(line.points, line.points[1:], line.points[2:], strict=False)
    )


def drawn(one):
    geometry = lay_out(one)
    assert all_faults(one, geometry) == []
    assert labels_on_nodes(one, geometry) == []
    return geometry


def test_a_skip_from_frame_to_frame_stays_on_its_side():
    """What goes down has its skip on the right; so has what goes up, though the skip was there first."""
    one = scene(
        [
            node("x"),
            frame("down", node("conv"), node("pool")),
            node("middle"),
            frame("up", node("grow"), node("cat"), node("join")),
            node("end"),
        ],
        ("x", "conv"), ("conv", "pool cat"), ("pool", "middle"), ("middle", "grow"), ("grow", "cat"), ("cat", "join"),
        ("join", "end"),
    )  # fmt: skip
    geometry = drawn(one)
    assert crossings(geometry) == set()
    main = {geometry.rects[key].x + 40 for key in ("conv", "pool", "middle", "grow", "cat", "join")}
    assert len(main) == 1
    skip = [x for line in geometry.lines if line.edge == 1 for x, _ in line.points]
    assert min(skip) == main.pop()


def test_a_frame_gives_its_outputs_in_the_order_in_which_the_next_one_needs_them():
    one = scene(
        [
            node("x"),
            frame("gate", node("score"), node("left"), node("right")),
            frame("mix", node("first"), node("second")),
        ],
        ("x", "score"), ("score", "left right"), ("right", "first"), ("left", "second"), ("first", "second"),
    )  # fmt: skip
    assert crossings(drawn(one)) == set()


def test_a_line_past_a_node_goes_straight_to_its_port():
    """Only at its end the line bends: from the right edge of the inner frame to `mul` in its middle."""
    one = scene(
        [
            node("x"),
            node("side", 40.0),
            frame("outer", node("norm"), frame("inner", node("wide", 300.0), node("scale"), node("mul"))),
        ],
        ("x", "norm"), ("norm", "wide"), ("side", "mul"), ("wide", "scale"), ("scale", "mul"),
    )  # fmt: skip
    assert corners(drawn(one), 2) == 2


def test_a_node_beside_the_main_path_stands_where_its_result_is_used():
    """`gain` reads what `mul` reads further down anyway."""
    chain = [f"n{number}" for number in range(6)]
    one = scene(
        [node("x"), node("gain"), *map(node, chain), node("add")],
        ("x", "n0 gain n3"), *[(one, other) for one, other in pairwise(chain)], ("n5", "add"), ("gain", "add"),
    )  # fmt: skip
    rects = drawn(one).rects
    assert rects["gain"].y == rects["n5"].y


def test_a_branch_of_its_own_begins_where_it_splits_off():
    chain = [f"n{number}" for number in range(6)]
    one = scene(
        [node("x"), node("short"), *map(node, chain), node("add")],
        ("x", "n0 short"), *[(one, other) for one, other in pairwise(chain)], ("n5", "add"), ("short", "add"),
    )  # fmt: skip
    rects = drawn(one).rects
    assert rects["short"].y == rects["n0"].y


def test_a_long_line_runs_beside_what_it_passes_not_beside_the_widest_row():
    """The boxes that the line from `short` passes end at 80; the two at the head of the picture reach to 386."""
    chain = [f"n{number}" for number in range(9)]
    one = scene(
        [node("x"), node("n0"), node("short", 280.0), *map(node, chain[1:]), node("add")],
        ("x", "n0 short"), *[(one, other) for one, other in pairwise(chain)], ("n8", "add"), ("short", "add"),
    )  # fmt: skip
    geometry = drawn(one)
    (line,) = [line for line in geometry.lines if line.edge == 10]
    right = geometry.rects["n1"].x + 80
    assert geometry.rects["short"].x + 280 == right + 26 + 280
    assert sorted({x for x, _ in line.points})[1] == right + 14


def test_a_loop_runs_on_the_side_with_fewer_lines():
    children = (node("first"), node("second"), node("third"), node("fourth"))
    edges = (
        Edge(source="main", targets=("first",)),
        Edge(source="first", targets=("second",)),
        Edge(source="second", targets=("third",)),
        Edge(source="third", targets=("fourth",)),
        Edge(source="one", targets=("third",)),
        Edge(source="two", targets=("third",)),
        Edge(source="fourth", targets=("second",), role="loop", label="next round (1, 8)"),
    )
    outer = (node("main"), node("one"), node("two"), frame("loop", *children))
    geometry = drawn(Scene(root=Box(key="", role="root", title=(), children=outer), edges=edges))
    middle = geometry.rects["third"].x + 40
    entering = {x for line in geometry.lines if line.edge in {4, 5} for x, _ in line.points}
    lane = {x for line in geometry.lines if line.edge == 6 for x, _ in line.points}
    assert min(entering) >= middle
    assert max(lane) <= middle
    assert crossings(geometry) == set()


def test_the_main_path_leaves_a_node_in_its_middle_beside_a_loop():
    children = (node("x"), node("cell"), node("head"))
    edges = (
        Edge(source="x", targets=("cell",)),
        Edge(source="cell", targets=("head",)),
        Edge(source="cell", targets=("cell",), role="loop"),
    )
    geometry = drawn(Scene(root=Box(key="", role="root", title=(), children=children), edges=edges))
    middle = geometry.rects["cell"].x + 40
    assert {x for line in geometry.lines if line.edge < 2 for x, _ in line.points} == {middle}


def test_several_nodes_stand_beside_one_high_frame():
    """The frame is 128 high, three of them are 122; the fourth stands below."""
    chain = [f"n{number}" for number in range(4)]
    one = scene(
        [frame("block", *map(node, chain), frame("short", node("a"), node("b")), node("add"))],
        *pairwise(chain), ("a", "b"), ("n3", "add"), ("b", "add"),
    )  # fmt: skip
    edges = (*one.edges, Edge(source="x", targets=("n0", "a")))
    outer = Box(key="", role="root", title=(), children=(node("x"), *one.root.children))
    rects = drawn(Scene(root=outer, edges=edges)).rects
    short = rects["short"]
    assert short.y < rects["n0"].y
    assert rects["n1"].y == rects["n0"].y + 30 + 16
    assert rects["n2"].y + 30 < short.y + short.height < rects["n3"].y


def test_a_node_that_another_reads_too_is_not_stacked():
    chain = [f"n{number}" for number in range(4)]
    one = scene(
        [node("x"), frame("short", node("a"), node("b")), *map(node, chain), node("add")],
        ("x", "n0 a"), ("n0", "n1 n3"), ("n1", "n2"), ("n2", "n3"), ("a", "b"), ("n3", "add"), ("b", "add"),
    )  # fmt: skip
    rects = drawn(one).rects
    assert rects["n1"].y > rects["short"].y + rects["short"].height


def test_the_words_of_a_loop_on_the_left_stand_to_its_left():
    geometry = picture(load("mamba"), DEFAULTS).geometry
    (label,) = geometry.labels
    lane = min(x for line in geometry.lines if line.edge == label[0] for x, _ in line.points)
    assert label[1] < lane - 60


@pytest.mark.parametrize("direction", ["topdown", "bottomup", "leftright", "rightleft"])
def test_the_words_of_a_short_loop_lie_under_nothing(direction):
    """They are longer than the box that the loop is around, and its neighbours are higher than it."""
    one = scene(
        [node("a", 90.0, 120.0), node("b", 30.0, 20.0), node("c", 90.0, 120.0)], ("a", "b"), ("b", "c"), ("a", "c")
    )
    loop = Edge(source="b", targets=("b",), role="loop", label="next round (128, 8)")
    one = Scene(root=one.root, edges=(*one.edges, loop))
    geometry = lay_out(one, direction=direction)
    assert all_faults(one, geometry) == []
    assert labels_on_nodes(one, geometry) == []


def test_effort_is_length_and_width_and_crossings():
    geometry = Geometry(
        100, 100, {}, {}, (Line(0, (50, 0, 50, 100), True), Line(1, (0, 40, 90, 40, 90, 100), True)), ()
    )
    assert effort(geometry) == 100 + 90 + 60 + 100 + 400


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("resnet50", 0), ("densenet121", 0), ("gpt2-12", 0), ("gpt2-48", 0), ("gpt2-12-cache", 3), ("vit", 0), ("swin", 0),
        ("unet", 0), ("lstm", 0), ("gru-500", 0), ("moe", 1), ("mamba", 1),
    ],
)  # fmt: skip
def test_few_lines_of_the_gallery_cross(name, most):
    assert len(crossings(picture(load(name), DEFAULTS).geometry)) <= most


@pytest.mark.parametrize(("name", "most"), [("moe", 780), ("gpt2-12-cache", 700), ("resnet50", 450), ("vit", 360)])
def test_pictures_of_the_gallery_are_as_wide_as_their_content_needs(name, most):
    assert picture(load(name), DEFAULTS).geometry.width <= most


def residuals(geometry, *edges):
    """Return on which sides of the main path long lines run: edge -> True for right."""
    main = geometry.rects["a"].x + 40
    xs = {edge: [x for line in geometry.lines if line.edge == edge for x, _ in line.points] for edge in edges}
    return [max(found, key=lambda x: abs(x - main)) > main for found in xs.values()]


def test_lines_around_the_main_path_run_on_one_side():
    """The line from `side` comes from the other one."""
    one = scene(
        [
            node("x"),
            node("side"),
            frame("block", node("a"), frame("inner", node("b"), node("c")), node("add"), node("d"), node("e"), node("sum")),
        ],
        ("x", "a add"), ("a", "b"), ("b", "c"), ("side", "c"), ("c", "add"), ("add", "d sum"), ("d", "e"), ("e", "sum"),
    )  # fmt: skip
    geometry = drawn(one)
    assert crossings(geometry) == set()
    assert len(set(residuals(geometry, 0, 5))) == 1


def test_a_lone_line_leaves_a_wide_box_where_it_is_straight():
    """The keys and values of earlier tokens enter the blocks below their box, but not below its middle."""
    drawing = picture(load("gpt2-12-cache"), DEFAULTS)
    past = drawing.geometry.rects["input_2"]
    (line,) = [
        line.points
        for line in drawing.geometry.lines
        if line.points[0][1] == past.y + past.height and past.x < line.points[0][0] < past.x + past.width
    ]
    assert len({x for x, _ in line}) == 1
    assert abs(line[0][0] - past.x - past.width / 2) > 1


def test_the_main_path_stands_in_the_middle_where_that_makes_pictures_narrower():
    """Branches beside the longest one stand on both sides of it in each of two frames, of which one has its longest branch last."""
    one = scene(
        [
            node("x"),
            frame("upper", node("a"), node("b"), node("c"), node("c2"), node("cat")),
            frame("lower", node("d"), node("d2"), node("e"), node("f"), node("sum")),
        ],
        ("x", "a b c"), ("c", "c2"), ("a", "cat"), ("b", "cat"), ("c2", "cat"), ("cat", "d e f"), ("d", "d2"), ("d2", "sum"),
        ("e", "sum"), ("f", "sum"),
    )  # fmt: skip
    geometry = drawn(one)
    rects = geometry.rects
    assert rects["a"].x < rects["c"].x < rects["b"].x
    assert rects["e"].x < rects["d"].x < rects["f"].x
    assert geometry.width <= 3 * 80 + 2 * 26 + 2 * 12  # as wide as one of them


def test_a_line_out_of_a_frame_goes_the_shorter_way():
    """What leaves the frame for `kept`, which stands on the right, is never led to the left of where it comes from."""
    one = scene(
        [
            node("x"),
            frame("block", node("a"), node("q"), node("k"), node("v"), node("mix"), node("b"), node("c")),
            node("end"),
            node("kept"),
        ],
        ("x", "a"), ("a", "q k v"), ("q", "mix"), ("k", "mix kept"), ("v", "mix kept"), ("mix", "b"), ("b", "c"),
        ("c", "end"),
    )  # fmt: skip
    geometry = drawn(one)
    below = geometry.rects["b"].y
    for edge, source in ((3, "k"), (4, "v")):
        ways = [x for line in geometry.lines if line.edge == edge for x, y in line.points if y > below]
        assert min(ways) == geometry.rects[source].x + 40
    assert len(crossings(geometry)) <= 1


def test_two_lines_that_change_sides_without_room_between_them_do_not_lie_on_each_other() -> None:
    """Each comes from above where the other goes down; one of them goes round on two tracks, above and below the other."""
    close = Crossing(1, tops=[139.5], bottoms=[134.0])
    wide = Crossing(3, tops=[134.5], bottoms=[140.0, 101.0])
    assert assign_tracks([close, wide]) == 3
    around, other = (close, wide) if close.step is not None else (wide, close)
    assert around.step is not None
    x, lower = around.step
    assert around.track < other.track < lower
    assert all(abs(x - end) >= NEAR for end in (139.5, 134.0, 134.5, 140.0, 101.0))
