"""Turns a polyline into straight pieces and rounded corners, the same for every format."""

from __future__ import annotations

from math import hypot
from typing import TYPE_CHECKING

from tl_viz._display import CORNER

if TYPE_CHECKING:
    from tl_viz._display import Stroke

Point = tuple[float, float]

Step = tuple[str, tuple[Point, ...]]
"""`M` or `L` with one point, or `Q` with the control point and the end."""

ARROW_LENGTH = 7.0
ARROW_HALF = 3.4
HOP = 4.0
"""Half the width of a bridge over another line."""

RISE = 9.0
"""How high the control point of a bridge lies: twice as high as the bridge itself."""


def stroke_steps(stroke: Stroke, number: int) -> list[Step]:
    """Return the drawing steps of one line of a stroke: its corners rounded, its bridges, room for its arrowhead."""
    return round_corners(
        stroke.lines[number], CORNER, stroke.arrows[number], stroke.hops[number] if stroke.hops else ()
    )


def round_corners(points: tuple[Point, ...], radius: float, arrow: bool, hops: tuple[Point, ...] = ()) -> list[Step]:
    """Return the drawing steps of one polyline.

    Args:
        points: its corners.
        radius: how round they become.
        arrow: whether the end is pulled back, because an arrowhead will stand there.
        hops: where its level pieces bend up to pass over another line.
    """
    line = _simplify(points)
    if arrow:
        line[-1] = _towards(line[-1], line[-2], ARROW_LENGTH - 1)
    over = [_on_piece(line[index], line[index + 1], hops) if hops else [] for index in range(len(line) - 1)]
    steps: list[Step] = [("M", (line[0],))]
    for index in range(1, len(line) - 1):
        before, here, after = line[index - 1], line[index], line[index + 1]
        reach = min(radius, _length(before, here) / 2, _length(here, after) / 2)
        if over[index - 1]:
            reach = min(reach, _length(before, here) - over[index - 1][-1][1])
        if over[index]:
            reach = min(reach, over[index][0][0])
        steps += _bends(before, here, over[index - 1])
        steps += [
            ("L", (_towards(here, before, reach),)),
            ("Q", (here, _towards(here, after, reach))),
        ]
    steps += _bends(line[-2], line[-1], over[-1])
    steps.append(("L", (line[-1],)))
    return steps


def _on_piece(start: Point, end: Point, hops: tuple[Point, ...]) -> list[tuple[float, float]]:
    """Return where the bridges of a piece begin and end, counted from its start; those that would touch are one."""
    if abs(start[1] - end[1]) > 0.05:
        return []
    length = _length(start, end)
    found: list[tuple[float, float]] = []
    for far in sorted(abs(x - start[0]) for x, y in hops if abs(y - start[1]) < 0.05):
        first, last = far - HOP, far + HOP
        if first < 0 or last > length or not _within(start, end, far, hops):
            continue
        if found and found[-1][1] > first:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def _within(start: Point, end: Point, far: float, hops: tuple[Point, ...]) -> bool:
    """Whether the place at this distance from the start, towards the end, is one of the bridges."""
    x = _towards(start, end, far)[0]
    return any(abs(x - hop[0]) < 0.05 for hop in hops)


def _bends(start: Point, end: Point, over: list[tuple[float, float]]) -> list[Step]:
    """Return the steps that lead over other lines."""
    steps: list[Step] = []
    for first, last in over:
        (x0, y), (x1, _) = _towards(start, end, first), _towards(start, end, last)
        steps += [("L", ((x0, y),)), ("Q", (((x0 + x1) / 2, y - RISE), (x1, y)))]
    return steps


def arrowhead(points: tuple[Point, ...]) -> tuple[Point, Point, Point]:
    """Return the three corners of the arrowhead at the end of a polyline, its tip first."""
    line = _simplify(points)
    (x, y), (from_x, from_y) = line[-1], line[-2]
    length = _length(line[-1], line[-2]) or 1.0
    along_x, along_y = (x - from_x) / length, (y - from_y) / length
    half = ARROW_HALF
    back_x, back_y = x - along_x * ARROW_LENGTH, y - along_y * ARROW_LENGTH
    return (
        (x, y),
        (back_x - along_y * half, back_y + along_x * half),
        (back_x + along_y * half, back_y - along_x * half),
    )


def _length(one: Point, other: Point) -> float:
    return hypot(one[0] - other[0], one[1] - other[1])


def _towards(start: Point, end: Point, distance: float) -> Point:
    length = _length(start, end) or 1.0
    share = min(1.0, distance / length)
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def _simplify(points: tuple[Point, ...]) -> list[Point]:
    """Drop points that repeat or that lie on a straight line between their neighbours."""
    line: list[Point] = []
    for point in points:
        if line and abs(line[-1][0] - point[0]) < 0.05 and abs(line[-1][1] - point[1]) < 0.05:
            continue
        if len(line) > 1:
            (x0, y0), (x1, y1) = line[-2], line[-1]
            upright = abs(x0 - x1) < 0.05 and abs(x1 - point[0]) < 0.05
            level = abs(y0 - y1) < 0.05 and abs(y1 - point[1]) < 0.05
            if upright or level:
                line.pop()
        line.append(point)
    if len(line) == 1:
        line.append(line[0])
    return line
