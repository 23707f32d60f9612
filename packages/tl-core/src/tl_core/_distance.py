"""How many hops lie between an op and the inputs and outputs of the model."""

from __future__ import annotations

from array import array
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._edge import Edges
    from tl_core._record import OpRecord

UNREACHED = -1
"""Distance of an op that no path leads to."""


Hops: TypeAlias = "tuple[array[int], array[int]]"
"""Of every op, the shortest and the longest path."""


@final
class Distances:
    """Shortest and longest paths, counted in edges; `UNREACHED` where there is none. Each side is computed when asked for."""

    __slots__ = ("_edges", "_from_input", "_ops", "_to_output")

    def __init__(self, ops: Sequence[OpRecord], edges: Edges) -> None:
        self._ops = ops
        self._edges = edges
        self._from_input: Hops | None = None
        self._to_output: Hops | None = None

    @property
    def from_input(self) -> Hops:
        """Hops from the nearest and from the farthest input."""
        if self._from_input is None:  # in one piece, while the tuples of the ops are scattered over the memory
            self._from_input = _down(*self._edges.parent_rows(), self._positions("input"))
        return self._from_input

    @property
    def to_output(self) -> Hops:
        """Hops to the nearest and to the farthest output."""
        if self._to_output is None:
            self._to_output = _up(*self._edges.parent_rows(), self._positions("output"))
        return self._to_output

    def _positions(self, kind: str) -> list[int]:
        return [index for index, op in enumerate(self._ops) if op.kind == kind]


def _down(starts: Sequence[int], targets: Sequence[int], origins: Sequence[int]) -> Hops:
    """Hops from the origins; parents come before their children."""
    shortest, longest = _unreached(len(starts) - 1, origins)
    left = 0
    for op, right in enumerate(islice(starts, 1, None)):
        near, far = shortest[op], longest[op]
        while left < right:
            source = targets[left]
            left += 1
            hops = shortest[source]
            if hops >= 0:
                if near < 0 or hops < near - 1:
                    near = hops + 1
                if longest[source] >= far:
                    far = longest[source] + 1
        shortest[op], longest[op] = near, far
    return array("i", shortest), array("i", longest)


def _up(starts: Sequence[int], targets: Sequence[int], origins: Sequence[int]) -> Hops:
    """Hops to the origins; when an op comes up, everything that reads it has handed its own on."""
    shortest, longest = _unreached(len(starts) - 1, origins)
    for op in range(len(shortest) - 1, -1, -1):
        near = shortest[op] + 1
        if near > 0:
            far = longest[op] + 1
            for source in targets[starts[op] : starts[op + 1]]:
                known = shortest[source]
                if known < 0 or near < known:
                    shortest[source] = near
                if far > longest[source]:
                    longest[source] = far
    return array("i", shortest), array("i", longest)


def _unreached(count: int, origins: Sequence[int]) -> tuple[list[int], list[int]]:
    shortest, longest = [UNREACHED] * count, [UNREACHED] * count
    for origin in origins:
        shortest[origin] = longest[origin] = 0
    return shortest, longest
