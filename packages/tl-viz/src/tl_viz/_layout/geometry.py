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


def _turned(lines: tuple[Line, ...], place: Callable[[float, float], tuple[float, float]]) -> tuple[Line, ...]:
    return tuple(
        Line(line.edge, tuple([value for x, y in line.points for value in place(x, y)]), line.arrow) for line in lines
    )


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
            _turned(geometry.lines, lambda x, y: (x, height - y)),
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
        _turned(geometry.lines, lambda x, y: (height - y if flip else y, x)),
        tuple((edge, height - y if flip else y, x) for edge, x, y in geometry.labels),
    )
