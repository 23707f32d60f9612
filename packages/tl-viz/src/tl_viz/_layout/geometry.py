"""The result of a layout: where everything stands in the finished picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

Direction = Literal["topdown", "bottomup", "leftright", "rightleft"]
"""Which way the tensors flow."""


class Rect(NamedTuple):
    """A rectangle in pixels, y pointing down. A tuple, because a large picture has very many of them."""

    x: float
    y: float
    width: float
    height: float


class Line(NamedTuple):
    """One polyline of an edge; a tuple for the same reason."""

    edge: int
    """Number of the edge in the scene."""
    coords: tuple[float, ...]
    """x and y of its points in turn."""
    arrow: bool
    """Whether an arrowhead belongs at the last point."""

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The points, from the source to the target."""
        return tuple(zip(self.coords[::2], self.coords[1::2], strict=True))


@dataclass(frozen=True, slots=True)
class Geometry:
    """All places of one picture."""

    width: float
    height: float
    rects: dict[str, Rect]
    """Key of a node or box -> its rectangle."""
    titles: dict[str, tuple[tuple[float, float], ...]]
    """Key of a box -> left end of each part of its title, and the middle of its line."""
    lines: tuple[Line, ...]
    labels: tuple[tuple[int, float, float], ...]
    """Edge, and the left middle of the text beside it."""
    marks: tuple[tuple[Rect, str], ...] = ()
    """Room for the words at the ends of columns, and what they say."""
    gaps: tuple[tuple[str, Rect], ...] = ()
    """Key of a box that is wrapped into columns, and what lies between two of them."""


def turn(geometry: Geometry, direction: Direction) -> Geometry:
    """Return a picture that was laid out from top to bottom in another direction."""
    if direction == "topdown":
        return geometry
    width, height = geometry.width, geometry.height

    def point(x: float, y: float) -> tuple[float, float]:
        if direction == "bottomup":
            return x, height - y
        return height - y if direction == "rightleft" else y, x

    def area(rect: Rect) -> Rect:
        if direction == "bottomup":
            return rect._replace(y=height - rect.y - rect.height)
        left = height - rect.y - rect.height if direction == "rightleft" else rect.y
        return Rect(left, rect.x, rect.height, rect.width)

    return Geometry(
        *((width, height) if direction == "bottomup" else (height, width)),
        {key: area(rect) for key, rect in geometry.rects.items()},
        geometry.titles,
        tuple([_turned(line, point) for line in geometry.lines]),
        tuple([(edge, *point(x, y)) for edge, x, y in geometry.labels]),
        tuple([(area(rect), text) for rect, text in geometry.marks]),
        tuple([(key, area(rect)) for key, rect in geometry.gaps]),
    )


def _turned(line: Line, point: Callable[[float, float], tuple[float, float]]) -> Line:
    return Line(line.edge, tuple([value for x, y in line.points for value in point(x, y)]), line.arrow)
