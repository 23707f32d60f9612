"""How hard a picture is to follow: how far lines lead, and how often they cross."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tl_viz._bridges import bridges, upright_ways

if TYPE_CHECKING:
    from tl_viz._layout.geometry import Geometry

CROSSING = 400.0
"""So many pixels of line are as hard to follow as one crossing."""

WIDE = 1.0
"""So many pixels of line are as bad as a picture that is a pixel wider."""


def effort(geometry: Geometry) -> float:
    """Return how hard the lines of a picture are to follow, in pixels."""
    nets: dict[int, list[tuple[tuple[float, float], ...]]] = {}
    for line in geometry.lines:
        nets.setdefault(line.edge, []).append(line.points)
    ways = upright_ways(list(nets.values()))
    crossings = {
        point for number, lines in enumerate(nets.values()) for line in lines for point in bridges(line, number, ways)
    }
    length = sum(
        abs(x - u) + abs(y - v) for lines in nets.values() for line in lines for (x, y), (u, v) in pairwise(line)
    )
    return length + WIDE * geometry.width + CROSSING * len(crossings)
