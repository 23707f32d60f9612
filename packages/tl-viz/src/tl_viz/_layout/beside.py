"""Finds room for a short text beside the end of a line: near its arrow, and on nothing else."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_viz._layout.geometry import Geometry, Rect

Point = tuple[float, float]
Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""

Corner = tuple[Point, Area | None]
"""Left upper corner of a text, and what lies between it and its line where it is farther away than usual."""

BESIDE, OVER = 4.5, 3.0
"""Usual distance from an upright line, beyond its arrowhead, and from a level one."""

TEXT, LINE, AWAY = 50, 1, 1000
"""How bad it is to lie on a text, on a line, or outside of the picture."""

LEAP = 10
"""How bad it is to stand behind another line, which seems to be meant."""

NEAR, DETOUR = 10.0, 60.0
"""A text closer to another line seems to belong to that one; how many pixels along its own line are as bad."""

TIP = 6.0
"""An arrowhead counts as another line, this far around its point."""

BAND = 200.0
"""What stands in a picture is looked up by bands of this height."""

REACH = 600.0
"""How far from its arrow a text may stand, along the line."""

STEP = 6.0
CLEAR = 1.5
"""Distance that a text keeps from everything but its own line."""
ASIDES = (0.0, 6.0, 12.0, 18.0, 24.0, 32.0, 40.0)
"""How much farther from its own line than beside the arrowhead a text may stand."""

FARTHER = 3.0
"""How many pixels along the line are as bad as one aside of it."""


class Wish(NamedTuple):
    """A text that belongs to an arrow."""

    lines: tuple[tuple[Point, ...], ...]
    """The lines that lead to the arrow, the one that ends there first."""
    width: float
    height: float


class Room:
    """Everything in a picture that a text must not lie on."""

    def __init__(self, geometry: Geometry, solid: list[Rect], frames: list[Rect]) -> None:
        self.width, self.height = geometry.width, geometry.height
        self.bands: dict[int, list[tuple[Area, int]]] = {}
        self.lines: dict[int, list[Area]] = {}
        for rect in solid:
            self.take((rect.x, rect.y, rect.x + rect.width, rect.y + rect.height), TEXT)
        for x, y, width, height in frames:
            for start, end in pairwise([(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)]):
                self.take(_area(start, end), LINE)
        for line in geometry.lines:
            for start, end in pairwise(line.points):
                area = _area(start, end)
                self.take(area, LINE)
                self._draw(area)
            if line.arrow:
                self._draw(_tip(line.points[-1]))

    def _draw(self, area: Area) -> None:
        for band in _bands(area):
            self.lines.setdefault(band, []).append(area)

    def take(self, area: Area, weight: int) -> None:
        """Note that something stands there, and how bad it is to lie on it."""
        for band in _bands(area):
            self.bands.setdefault(band, []).append((area, weight))

    def place(self, wish: Wish) -> Point:
        """Return the left upper corner of a text and take its room: the nearest free one, or else the least bad."""
        best: tuple[int, float, Point] | None = None
        own = {_area(start, end) for points in wish.lines for start, end in pairwise(points)}
        own.add(_tip(wish.lines[0][-1]))
        for far, (corner, between) in _corners(wish):
            if best and not best[0] and far >= best[1]:
                break
            area = _around(corner, wish, CLEAR)
            meets = self._meets(area) + (LEAP * self._meets(between) if between else 0)
            if best and meets > best[0]:
                continue
            score = meets, far + DETOUR * self._others(_around(corner, wish, NEAR), own)
            if best is None or score < best[:2]:
                best = (*score, corner)
        corner = best[2] if best else wish.lines[0][-1]
        self.take(_around(corner, wish, 0), TEXT)
        return corner

    def _others(self, area: Area, own: set[Area]) -> int:
        """Return how many pieces of other lines there are in an area."""
        found = {line for band in _bands(area) for line in self.lines.get(band, ()) if _meet(line, area)}
        return len(found - own)

    def _meets(self, area: Area) -> int:
        left, top, right, bottom = area
        outside = left < 0 or right > self.width or top < 0 or bottom > self.height
        met = {entry for band in _bands(area) for entry in self.bands.get(band, ()) if _meet(entry[0], area)}
        return sum(weight for _, weight in met) + (AWAY if outside else 0)


def _area(start: Point, end: Point) -> Area:
    return min(start[0], end[0]), min(start[1], end[1]), max(start[0], end[0]), max(start[1], end[1])


def _around(corner: Point, wish: Wish, clear: float) -> Area:
    x, y = corner
    return x - clear, y - clear, x + wish.width + clear, y + wish.height + clear


def _tip(point: Point) -> Area:
    return point[0] - TIP, point[1] - TIP, point[0] + TIP, point[1] + TIP


def _bands(area: Area) -> range:
    return range(int(area[1] // BAND), int(area[3] // BAND) + 1)


def _meet(one: Area, other: Area) -> bool:
    return one[0] < other[2] and one[2] > other[0] and one[1] < other[3] and one[3] > other[1]


def _corners(wish: Wish) -> list[tuple[float, Corner]]:
    """Return how far from the arrow and the line a text may stand, the nearest first, and its left upper corner there."""
    found: list[tuple[float, int, Corner]] = []
    gone = 0.0
    for points in wish.lines:
        for end, start in pairwise(reversed(points)):
            length = abs(end[0] - start[0]) + abs(end[1] - start[1])
            if length >= 1 and gone <= REACH:
                for far, corner in _along(wish, end, start, length):
                    found.append((gone + far, len(found), corner))
            gone += length
    return [(far, corner) for far, _, corner in sorted(found, key=lambda one: one[:2])]


def _along(wish: Wish, end: Point, start: Point, length: float) -> Iterator[tuple[float, Corner]]:
    """Yield the corners beside one straight piece, each with its distance from the end."""
    width, height = wish.width, wish.height
    unit = (start[0] - end[0]) / length, (start[1] - end[1]) / length
    upright = abs(unit[1]) > 0.5
    at = (height if upright else width) / 2 + 1
    last = max(length, at)
    while at <= last and at <= REACH:
        here = at if at <= length else length / 2
        x, y = end[0] + unit[0] * here, end[1] + unit[1] * here
        for aside in ASIDES:
            far = at + FARTHER * aside
            if upright:
                right, left = x + BESIDE + aside, x - BESIDE - aside
                yield far, ((right, y - height / 2), (x + 2, y - 1, right, y + 1) if aside else None)
                yield far, ((left - width, y - height / 2), (left, y - 1, x - 2, y + 1) if aside else None)
            else:
                above, below = y - OVER - aside, y + OVER + aside
                yield far, ((x - width / 2, above - height), (x - 1, above, x + 1, y - 2) if aside else None)
                yield far, ((x - width / 2, below), (x - 1, y + 2, x + 1, below) if aside else None)
        at += STEP
