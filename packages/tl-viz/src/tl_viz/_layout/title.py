"""Finds room for the title of a frame, so that no line meets it."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise
from typing import TYPE_CHECKING, NamedTuple

from tl_viz._measure import joined_width, part_places

if TYPE_CHECKING:
    from tl_viz._layout.problem import Margins, TitlePlaces

TITLE_GAP = 8.0
SPLIT = 30.0
"""How many pixels a frame must get narrower for a title that stands in one more place."""
MOST_GAPS = 3
"""So many places between two lines are tried, the widest."""
MIDDLE = 11.0
"""Where the middle of the first row of a title lies."""
ROW = 14.0
"""How much higher a frame is for a second row."""
SECOND = 60.0
"""How many pixels a frame must get narrower for a second row."""


class Title(NamedTuple):
    """A title that has its place."""

    move: float
    """How far the content is moved to the right."""
    width: float
    """Width of the frame."""
    places: TitlePlaces
    higher: float
    """How much higher the frame is for a second row."""


class _Row(NamedTuple):
    """One row of a title."""

    cost: float
    """By how much it makes the frame wider, and what it costs that it is cut."""
    gaps: tuple[int, ...]
    """In which gap between lines each part stands."""
    shift: float
    """How far it moves the content."""
    end: float
    """Least width of the frame before it is moved."""


def place_title(margins: Margins, ports: list[float], move: float, width: float) -> Title:
    """Return where the parts of a title stand: in one row, or in two where that makes the frame much narrower.

    Args:
        margins: what is known of the frame.
        ports: x of the lines that pass the title, without `move`.
        move: how far the content is moved to the right so far.
        width: of the frame so far.
    """
    side, parts = margins.side, margins.title
    if not parts:
        return Title(move, width, (), 0.0)
    lines = sorted(x + move for x in ports)
    starts, rooms = _gaps(lines, side)
    rows = [_row(parts, lines, (starts, rooms), side, width)]
    first, least = len(parts), rows[0].cost
    if least > SECOND:
        for cut in range(1, len(parts)):
            two = [_row(some, lines, (starts, rooms), side, width) for some in (parts[:cut], parts[cut:])]
            cost = max(two[0].cost, two[1].cost) + SECOND
            if cost < least:
                rows, first, least = two, cut, cost
    shift = max(row.shift for row in rows)
    places: list[tuple[float, float]] = []
    for number, (row, some) in enumerate(zip(rows, (parts[:first], parts[first:]), strict=False)):
        for gap in dict.fromkeys(row.gaps):
            at = starts[gap] + (shift if gap else 0.0)
            places += [(x, MIDDLE + ROW * number) for x in part_places(tuple(_parts_in(gap, row.gaps, some)), at)]
    return Title(move + shift, max(width, *[row.end for row in rows]) + shift, tuple(places), ROW * (len(rows) - 1))


def _row(
    parts: tuple[float, ...],
    lines: list[float],
    gaps_between: tuple[list[float], list[float]],
    side: float,
    width: float,
) -> _Row:
    """Return the cheapest way to set parts beside each other and around lines."""
    starts, rooms = gaps_between
    if not lines:
        end = joined_width(parts) + 2 * side
        return _Row(max(0.0, end - width), (0,) * len(parts), 0.0, end)
    options: list[_Row] = []
    for gaps in combinations_with_replacement(range(len(starts)), len(parts)):
        wide = {gap: joined_width(tuple(_parts_in(gap, gaps, parts))) for gap in gaps}
        if any(wide[gap] > room for gap, room in enumerate(rooms, 1) if gap in wide):
            continue
        shift = max(0.0, side + wide[0] + TITLE_GAP - lines[0]) if 0 in wide else 0.0
        at_end = wide.get(len(starts) - 1)
        end = 0.0 if at_end is None else starts[-1] + at_end + side
        options.append(_Row(shift + max(0.0, end - width) + SPLIT * (len(wide) - 1), gaps, shift, end))
    return min(options, key=lambda option: (round(option.cost, 3), option.gaps.count(0) % len(parts)))


def _gaps(lines: list[float], side: float) -> tuple[list[float], list[float]]:
    """Return where the places for parts of a title begin: to the left of all lines, between two, and to the right of all.

    And the room in those between.
    """
    if not lines:
        return [side], []
    between = [(one + TITLE_GAP, other - one - 2 * TITLE_GAP) for one, other in pairwise(lines)]
    if len(between) > MOST_GAPS:
        between = sorted(sorted(between, key=lambda gap: -gap[1])[:MOST_GAPS])
    return [side, *[start for start, _ in between], lines[-1] + TITLE_GAP], [room for _, room in between]


def _parts_in(gap: int, gaps: tuple[int, ...], parts: tuple[float, ...]) -> list[float]:
    return [part for one, part in zip(gaps, parts, strict=True) if one == gap]
