"""How many hops lie between an op and the inputs and outputs of the model."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._record import OpRecord

UNREACHED = -1
"""Distance of an op that no path leads to."""


@final
class Distances:
    """Shortest and longest paths, counted in edges; `UNREACHED` where there is none."""

    __slots__ = ("max_from_input", "max_to_output", "min_from_input", "min_to_output")

    def __init__(self, ops: Sequence[OpRecord]) -> None:
        parents = [op.parents for op in ops]
        inputs = [op.index for op in ops if op.kind == "input"]
        outputs = [op.index for op in ops if op.kind == "output"]
        self.min_from_input, self.max_from_input = _down(parents, inputs)
        self.min_to_output, self.max_to_output = _up(parents, outputs)


def _down(parents: Sequence[Sequence[int]], origins: Sequence[int]) -> tuple[array[int], array[int]]:
    """Hops from the origins; parents come before their children."""
    shortest, longest = [UNREACHED] * len(parents), [UNREACHED] * len(parents)
    for origin in origins:
        shortest[origin] = longest[origin] = 0
    for op, sources in enumerate(parents):
        near, far = shortest[op], longest[op]
        for source in sources:
            hops = shortest[source]
            if hops >= 0:
                if near < 0 or hops < near - 1:
                    near = hops + 1
                if longest[source] >= far:
                    far = longest[source] + 1
        shortest[op], longest[op] = near, far
    return array("i", shortest), array("i", longest)


def _up(parents: Sequence[Sequence[int]], origins: Sequence[int]) -> tuple[array[int], array[int]]:
    """Hops to the origins; when an op comes up, everything that reads it has handed its own on."""
    shortest, longest = [UNREACHED] * len(parents), [UNREACHED] * len(parents)
    for origin in origins:
        shortest[origin] = longest[origin] = 0
    for op in range(len(parents) - 1, -1, -1):
        near = shortest[op] + 1
        if near > 0:
            far = longest[op] + 1
            for source in parents[op]:
                known = shortest[source]
                if known < 0 or near < known:
                    shortest[source] = near
                if far > longest[source]:
                    longest[source] = far
    return array("i", shortest), array("i", longest)
