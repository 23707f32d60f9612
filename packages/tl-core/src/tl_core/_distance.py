"""How many hops lie between an op and the inputs and outputs of the model."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tl_core._edge import Edges
    from tl_core._record import OpRecord

UNREACHED = -1
"""Distance of an op that no path leads to."""


@final
class Distances:
    """Shortest and longest paths, counted in edges; `UNREACHED` where there is none."""

    __slots__ = ("max_from_input", "max_to_output", "min_from_input", "min_to_output")

    def __init__(self, ops: Sequence[OpRecord], edges: Edges) -> None:
        inputs = [op.index for op in ops if op.kind == "input"]
        outputs = [op.index for op in ops if op.kind == "output"]
        count = len(ops)
        self.min_from_input, self.max_from_input = _walk(range(count), edges.parent_lists(), inputs)
        self.min_to_output, self.max_to_output = _walk(range(count - 1, -1, -1), edges.child_lists(), outputs)


def _walk(order: Iterable[int], sources: list[list[int]], origins: Sequence[int]) -> tuple[array[int], array[int]]:
    """Relax every op after all ops that lead to it."""
    shortest, longest = [UNREACHED] * len(sources), [UNREACHED] * len(sources)
    for origin in origins:
        shortest[origin] = longest[origin] = 0
    for op in order:
        near, far = shortest[op], longest[op]
        for source in sources[op]:
            hops = shortest[source]
            if hops >= 0:
                if near < 0 or hops < near - 1:
                    near = hops + 1
                if longest[source] >= far:
                    far = longest[source] + 1
        shortest[op], longest[op] = near, far
    return array("i", shortest), array("i", longest)
