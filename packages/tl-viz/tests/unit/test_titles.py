"""Titles of frames keep clear of lines, and frames do not get wide for them."""

from __future__ import annotations

from quality import all_faults

from tl_viz._layout import lay_out
from tl_viz._layout.problem import Margins
from tl_viz._layout.title import place_title
from tl_viz._scene import Box, Edge, Node, Scene, TextRow

SIDE = 12.0
# parts stand 6 apart, and 8 from a line


def margins(*widths):
    return Margins(22.0, 8.0, SIDE, widths)


def place(parts, ports, move, width):
    """Return how far the content moves, how wide the frame is, and where the parts of a title in one row begin."""
    title = place_title(parts, ports, move, width)
    assert title.higher == 0
    assert {y for _, y in title.places} <= {11.0}
    return title.move, title.width, tuple(x for x, _ in title.places)


def test_without_a_line_the_title_begins_at_the_left():
    assert place(margins(40.0, 30.0), [], 5.0, 60.0) == (5.0, 12 + 40 + 6 + 30 + 12, (12.0, 58.0))
    assert place(margins(), [50.0], 5.0, 60.0) == (5.0, 60.0, ())


def test_a_title_that_fits_stands_before_the_line():
    assert place(margins(40.0, 30.0), [200.0], 0.0, 400.0) == (0.0, 400.0, (12.0, 58.0))


def test_the_name_stands_at_the_left_edge_and_the_rest_together_behind_a_line():
    # 12 + 40 + 6 + 30 + 8 = 96 would move the line by 26; 12 + 40 + 8 = 60 does not
    assert place(margins(40.0, 30.0), [70.0], 0.0, 400.0) == (0.0, 400.0, (12.0, 78.0))
    # the frame of 208 need not get wider: 12 + 80 + 8 = 100, and 112 + 34 + 6 + 40 + 12 = 204
    assert place(margins(80.0, 34.0, 40.0), [104.0], 0.0, 208.0) == (0.0, 208.0, (12.0, 112.0, 152.0))


def test_what_is_missing_for_the_name_moves_the_lines():
    # 12 + 40 + 8 = 60, 10 to the right of where the line was
    assert place(margins(40.0, 30.0), [50.0], 0.0, 400.0) == (10.0, 410.0, (12.0, 68.0))


def test_the_rest_may_stand_between_two_lines():
    # 12 + 100 + 8 = 120, 70 more than 50; between the lines are 104, for 40 + 6 + 30 = 76
    assert place(margins(100.0, 40.0, 30.0), [50.0, 170.0], 0.0, 270.0) == (70.0, 340.0, (12.0, 128.0, 174.0))
    # 106 do not fit: behind the last line, 178 + 70 and 178 + 70 + 76
    assert place(margins(100.0, 70.0, 30.0), [50.0, 170.0], 0.0, 300.0) == (70.0, 370.0, (12.0, 248.0, 324.0))


def test_a_frame_grows_by_what_is_missing():
    # 12 + 100 + 8 = 120, 60 to the right of where the line was
    assert place(margins(100.0), [60.0], 0.0, 120.0) == (60.0, 180.0, (12.0,))


def test_a_title_that_would_make_a_frame_much_wider_has_two_rows():
    # 92 fit on each side of the line. In one row, 90 and 120 behind it would need 124 more.
    title = place_title(margins(90.0, 90.0, 120.0), [112.0], 0.0, 224.0)
    assert title.places == ((12.0, 11.0), (120.0, 11.0), (120.0, 25.0))
    assert (title.move, title.width, title.higher) == (0.0, 252.0, 14.0)  # the second row is 28 too long


def test_a_second_row_must_save_more_than_it_costs():
    # 90 beside 20 and 20 needs 52 more than there are; in two rows it would need none, but be higher
    assert place_title(margins(90.0, 66.0, 66.0), [112.0], 0.0, 224.0).higher == 0
    assert place_title(margins(90.0, 66.0, 96.0), [112.0], 0.0, 224.0).higher == 14


def test_lines_begin_above_a_second_row_and_what_is_below_moves_down():
    parts = tuple(TextRow(text="A title of many words", size=11.0) for _ in range(3))
    node = Node(key="a", role="op", rows=(), width=60.0, height=30.0)
    other = Node(key="b", role="op", rows=(), width=60.0, height=30.0)
    heights = {}
    for title in (parts[:1], parts):
        frame = Box(key="f", role="module", title=title, children=(other,))
        scene = Scene(
            root=Box(key="", role="root", title=(), children=(node, frame)), edges=(Edge(source="a", targets=("b",)),)
        )
        for direction in ("topdown", "bottomup"):
            geometry = lay_out(scene, direction=direction)
            assert all_faults(scene, geometry) == []
            heights[len(title), direction] = geometry.rects["f"].height
    assert heights[3, "topdown"] == heights[1, "topdown"] + 14
    assert heights[3, "bottomup"] == heights[1, "bottomup"] + 14
