"""Turns a polyline into straight pieces and rounded corners, the same for every format."""

from __future__ import annotations

from math import hypot

Point = tuple[float, float]

Step = tuple[str, tuple[Point, ...]]
"""`M` or `L` with one point, or `Q` with the control point and the end."""

ARROW_LENGTH = 7.0
ARROW_HALF = 3.4


def round_corners(points: tuple[Point, ...], radius: float, arrow: bool) -> list[Step]:
    """Return the drawing steps of one polyline; the end is pulled back where an arrowhead will stand."""
    line = _simplify(points)
    if arrow:
        line[-1] = _towards(line[-1], line[-2], ARROW_LENGTH - 1)
    steps: list[Step] = [("M", (line[0],))]
    for index in range(1, len(line) - 1):
        before, here, after = line[index - 1], line[index], line[index + 1]
        reach = min(radius, _length(before, here) / 2, _length(here, after) / 2)
        steps += [
            ("L", (_towards(here, before, reach),)),
            ("Q", (here, _towards(here, after, reach))),
        ]
    steps.append(("L", (line[-1],)))
    return steps


def arrowhead(points: tuple[Point, ...], scale: float = 1.0) -> tuple[Point, Point, Point]:
    """Return the three corners of the arrowhead at the end of a polyline, its tip first."""
    line = _simplify(points)
    (x, y), (from_x, from_y) = line[-1], line[-2]
    length = _length(line[-1], line[-2]) or 1.0
    along_x, along_y = (x - from_x) / length, (y - from_y) / length
    reach, half = ARROW_LENGTH * scale, ARROW_HALF * scale
    back_x, back_y = x - along_x * reach, y - along_y * reach
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
