"""How many hops lie between an op and the inputs and outputs of the model."""

from __future__ import annotations

from array import array
from itertools import islice
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._edge import Edges
    from tl_core._record import OpRecord

UNREACHED = -1
"""Distance of an op that no path leads to."""


@final
class Distances:
    """Shortest and longest paths, counted in edges; `UNREACHED` where there is none."""

    __slots__ = ("max_from_input", "max_to_output", "min_from_input", "min_to_output")

    def __init__(self, ops: Sequence[OpRecord], edges: Edges) -> None:
        kinds = [op.kind for op in ops]
        parents = edges.parent_rows()  # in one piece, while the tuples of the ops are scattered over the memory
        self.min_from_input, self.max_from_input = _down(*parents, _positions(kinds, "input"))
        self.min_to_output, self.max_to_output = _up(*parents, _positions(kinds, "output"))


def _positions(kinds: Sequence[str], kind: str) -> list[int]:
    return [op for op, one in enumerate(kinds) if one == kind]


def _down(starts: Sequence[int], targets: Sequence[int], origins: Sequence[int]) -> tuple[array[int], array[int]]:
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


def _up(starts: Sequence[int], targets: Sequence[int], origins: Sequence[int]) -> tuple[array[int], array[int]]:
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
