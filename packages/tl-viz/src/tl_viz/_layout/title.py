"""Finds room for the title of a frame, so that no line meets it."""

from __future__ import annotations

from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

from tl_viz._measure import joined_width, part_places

if TYPE_CHECKING:
    from tl_viz._layout.problem import Margins

TITLE_GAP = 8.0
SPLIT = 30.0
"""How many pixels a frame must get narrower for a title that stands on both sides of a line."""


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
    last = lines[-1] + TITLE_GAP
    options: list[tuple[float, int, float, float]] = []
    """What it costs, how many parts stand to the left of the last line, where they begin, and how far the content moves."""
    for left in (len(parts), *range(len(parts))):
        wide = joined_width(parts[:left])
        more = max(0.0, last + joined_width(parts[left:]) + side - width) if left < len(parts) else 0.0
        more += SPLIT if 0 < left < len(parts) else 0.0
        shift = max(0.0, side + wide + TITLE_GAP - lines[0]) if left else 0.0
        options.append((shift + more, left, side, shift))
        options += [
            (more, left, one + TITLE_GAP, 0.0)
            for one, other in pairwise(lines)
            if left and one + wide + 2 * TITLE_GAP <= other
        ]
    _, left, start, shift = min(options, key=itemgetter(0))
    end = last + shift + joined_width(parts[left:]) + side if left < len(parts) else 0.0
    places = (*part_places(parts[:left], start), *part_places(parts[left:], last + shift))
    return move + shift, max(width + shift, end), places
