"""The result of a layout: where everything stands in the finished picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Direction = Literal["topdown", "bottomup", "leftright", "rightleft"]
"""Which way the tensors flow."""


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle in pixels, y pointing down."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """One polyline of an edge."""

    edge: int
    """Number of the edge in the scene."""
    points: tuple[tuple[float, float], ...]
    arrow: bool
    """Whether an arrowhead belongs at the last point."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """All places of one picture."""

    width: float
    height: float
    rects: dict[str, Rect]
    """Key of a node or box -> its rectangle."""
    titles: dict[str, tuple[float, float]]
    """Key of a box -> left end and middle of its title line."""
    lines: tuple[Line, ...]
    labels: tuple[tuple[int, float, float], ...]
    """Edge, and the left middle of the text beside it."""


def turn(geometry: Geometry, direction: Direction) -> Geometry:
    """Return a picture that was laid out from top to bottom in another direction."""
    if direction == "topdown":
        return geometry
    width, height = geometry.width, geometry.height
    if direction == "bottomup":
        return Geometry(
            width,
            height,
            {key: Rect(r.x, height - r.y - r.height, r.width, r.height) for key, r in geometry.rects.items()},
            geometry.titles,
            tuple(
                Line(line.edge, tuple((x, height - y) for x, y in line.points), line.arrow) for line in geometry.lines
            ),
            tuple((edge, x, height - y) for edge, x, y in geometry.labels),
        )
    flip = direction == "rightleft"
    return Geometry(
        height,
        width,
        {
            key: Rect(height - r.y - r.height if flip else r.y, r.x, r.height, r.width)
            for key, r in geometry.rects.items()
        },
        geometry.titles,
        tuple(
            Line(
                line.edge,
                tuple((height - y if flip else y, x) for x, y in line.points),
                line.arrow,
            )
            for line in geometry.lines
        ),
        tuple((edge, height - y if flip else y, x) for edge, x, y in geometry.labels),
    )
