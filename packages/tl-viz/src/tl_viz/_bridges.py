"""Where a line passes over a line of another tensor, so that nobody takes the crossing for a join."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import NamedTuple

Point = tuple[float, float]
Polyline = tuple[Point, ...]

BAND = 256.0
"""Upright lines are looked up by bands of this height."""

END = 1.0
"""Lines that touch within this distance of an end do not cross."""


class _Way(NamedTuple):
    """An upright piece of a line."""

    x: float
    top: float
    bottom: float
    net: int


Ways = dict[int, list[_Way]]
"""Band -> the upright pieces in it, from left to right."""


def upright_ways(nets: list[list[Polyline]]) -> Ways:
    """Return the upright pieces of all lines; `nets` holds the lines of each tensor."""
    ways: Ways = {}
    for net, lines in enumerate(nets):
        for start, end in {piece for line in lines for piece in pairwise(line)}:
            if abs(start[0] - end[0]) < 0.01 and abs(start[1] - end[1]) > 2 * END:
                way = _Way(start[0], min(start[1], end[1]), max(start[1], end[1]), net)
                for band in range(int(way.top // BAND), int(way.bottom // BAND) + 1):
                    ways.setdefault(band, []).append(way)
    for found in ways.values():
        found.sort()
    return ways


def bridges(line: Polyline, net: int, ways: Ways) -> tuple[Point, ...]:
    """Return the points at which the level pieces of a line pass over upright pieces of other tensors."""
    found: dict[Point, None] = {}
    for (x0, y), (x1, y1) in pairwise(line):
        if abs(y - y1) > 0.01 or abs(x0 - x1) < 2 * END:
            continue
        across = ways.get(int(y // BAND), [])
        first = bisect_left(across, min(x0, x1) + END, key=_left)
        for way in across[first : bisect_right(across, max(x0, x1) - END, key=_left)]:
            if way.net != net and way.top + END < y < way.bottom - END:
                found[way.x, y] = None
    return tuple(found)


def _left(way: _Way) -> float:
    return way.x
