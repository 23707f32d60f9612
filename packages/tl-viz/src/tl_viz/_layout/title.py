"""Finds room for the title of a frame, so that no line meets it."""

from __future__ import annotations

from itertools import combinations_with_replacement, pairwise
from typing import TYPE_CHECKING

from tl_viz._measure import joined_width, part_places

if TYPE_CHECKING:
    from tl_viz._layout.problem import Margins

TITLE_GAP = 8.0
SPLIT = 30.0
"""How many pixels a frame must get narrower for a title that stands in one more place."""
MOST_GAPS = 3
"""So many places between two lines are tried, the widest."""


def place_title(
    margins: Margins, ports: list[float], move: float, width: float
) -> tuple[float, float, tuple[float, ...]]:
    """Return the move of the content, the width of the frame, and where the parts of the title begin.

    Args:
        margins: what is known of the frame.
        ports: x of the lines that pass the title, without `move`.
        move: how far the content is moved to the right so far.
        width: of the frame so far.
    """
    side, parts = margins.side, margins.title
    if not ports or not parts:
        return move, max(width, joined_width(parts) + 2 * side) if parts else width, part_places(parts, side)
    lines = sorted(x + move for x in ports)
    starts, rooms = _gaps(lines, side)
    options: list[tuple[float, tuple[int, ...], float, float]] = []
    """What it costs, in which gap each part stands, how far the content moves, and where the title ends."""
    for gaps in combinations_with_replacement(range(len(starts)), len(parts)):
        wide = {gap: joined_width(tuple(_parts_in(gap, gaps, parts))) for gap in gaps}
        if any(wide[gap] > room for gap, room in enumerate(rooms, 1) if gap in wide):
            continue
        shift = max(0.0, side + wide[0] + TITLE_GAP - lines[0]) if 0 in wide else 0.0
        at_end = wide.get(len(starts) - 1)
        end = 0.0 if at_end is None else starts[-1] + at_end + side
        options.append((shift + max(0.0, end - width) + SPLIT * (len(wide) - 1), gaps, shift, end))
    _, gaps, shift, end = min(options, key=lambda option: (round(option[0], 3), option[1].count(0) % len(parts)))
    places: list[float] = []
    for gap in dict.fromkeys(gaps):
        places += part_places(tuple(_parts_in(gap, gaps, parts)), starts[gap] + (shift if gap else 0.0))
    return move + shift, max(width, end) + shift, tuple(places)


def _gaps(lines: list[float], side: float) -> tuple[list[float], list[float]]:
    """Return where the places for parts of a title begin: to the left of all lines, between two, and to the right of all.

    And the room in those between.
    """
    between = [(one + TITLE_GAP, other - one - 2 * TITLE_GAP) for one, other in pairwise(lines)]
    if len(between) > MOST_GAPS:
        between = sorted(sorted(between, key=lambda gap: -gap[1])[:MOST_GAPS])
    return [side, *[start for start, _ in between], lines[-1] + TITLE_GAP], [room for _, room in between]


def _parts_in(gap: int, gaps: tuple[int, ...], parts: tuple[float, ...]) -> list[float]:
    return [part for one, part in zip(gaps, parts, strict=True) if one == gap]
