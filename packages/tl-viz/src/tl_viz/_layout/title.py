"""Finds room for the title of a frame, so that no line meets it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tl_viz._measure import joined_width, part_places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_viz._layout.problem import Margins, TitlePlaces

TITLE_GAP = 8.0
SPLIT = 10.0
"""How many pixels a frame must get narrower for a title of which all but the name stands behind a line."""
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


class _Way(NamedTuple):
    """A way to set a title: its name at the left edge, and the other parts beside it or all together behind a line."""

    cost: float
    """By how much it makes the frame wider, and what it costs that it is cut."""
    shift: float
    """How far it moves the content."""
    end: float
    """Least width of the frame before it is moved."""
    begin: float
    """Where the other parts begin, before the content is moved."""
    apart: int
    """How many parts stand alone at the left edge: the name or nothing."""
    cut: int
    """How many parts stand in the first row."""


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
    way = min(_ways(parts, sorted(x + move for x in ports), side, width), key=lambda way: round(way.cost, 3))
    at = way.begin + (way.shift if way.apart else 0.0)
    xs = (
        *part_places(parts[: way.apart], side),
        *part_places(parts[way.apart : way.cut], at),
        *part_places(parts[way.cut :], at),
    )
    places = tuple([(x, MIDDLE if part < way.cut else MIDDLE + ROW) for part, x in enumerate(xs)])
    return Title(move + way.shift, max(width, way.end) + way.shift, places, ROW if way.cut < len(parts) else 0.0)


def _ways(parts: tuple[float, ...], lines: list[float], side: float, width: float) -> Iterator[_Way]:
    """Yield every way to set the parts around the lines, those that need no room behind a line first."""
    first = lines[0] - TITLE_GAP if lines else 0.0
    behind = [(one + TITLE_GAP, other - one - 2 * TITLE_GAP) for one, other in pairwise(lines)]
    places = [(side, 0.0), *[place for place in behind if place[1] > 0]]
    if lines and len(parts) > 1:
        places.append((lines[-1] + TITLE_GAP, 0.0))
    for number, (begin, room) in enumerate(places):
        apart = min(number, 1)
        for cut in (len(parts), *range(apart + 1, len(parts))):
            wide = max(joined_width(parts[apart:cut]), joined_width(parts[cut:]))
            if room and wide > room:
                continue
            left = joined_width(parts[:1]) if apart else wide
            shift = max(0.0, side + left - first) if lines else 0.0
            end = 0.0 if room or (lines and not apart) else begin + wide + side
            cost = shift + max(0.0, end - width) + SPLIT * apart + (SECOND if cut < len(parts) else 0.0)
            yield _Way(cost, shift, end, begin, apart, cut)
