"""Titles of frames keep clear of lines, and frames do not get wide for them."""

from __future__ import annotations

from tl_viz._layout.problem import Margins
from tl_viz._layout.title import place_title

SIDE = 12.0
# parts stand 6 apart, and 8 from a line


def margins(*widths):
    return Margins(22.0, 8.0, SIDE, widths)


def test_without_a_line_the_title_begins_at_the_left():
    assert place_title(margins(40.0, 30.0), [], 5.0, 60.0) == (5.0, 12 + 40 + 6 + 30 + 12, (12.0, 58.0))
    assert place_title(margins(), [50.0], 5.0, 60.0) == (5.0, 60.0, ())


def test_a_title_that_fits_stands_on_one_side_of_the_line():
    assert place_title(margins(40.0, 30.0), [200.0], 0.0, 400.0) == (0.0, 400.0, (12.0, 58.0))
    assert place_title(margins(40.0, 30.0), [50.0], 0.0, 400.0) == (0.0, 400.0, (58.0, 104.0))


def test_a_long_title_stands_on_both_sides_of_the_line():
    # In one piece of 186 it would widen the frame of 200 by 106 on either side of its middle; 90 fit on each.
    assert place_title(margins(80.0, 80.0), [104.0], 0.0, 208.0) == (0.0, 208.0, (12.0, 112.0))


def test_a_title_may_stand_between_two_lines():
    # 30 to the left of the first line, 134 between them
    assert place_title(margins(100.0, 60.0), [50.0, 200.0], 0.0, 300.0) == (0.0, 300.0, (58.0, 208.0))


def test_a_frame_grows_by_what_is_missing():
    move, width, places = place_title(margins(100.0), [60.0], 0.0, 120.0)
    assert (move, width, places) == (60.0, 180.0, (12.0,))  # 12 + 100 + 8 = 120, 60 to the right of where the line was
