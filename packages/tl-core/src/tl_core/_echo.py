"""One line of code reached on several ways, doing the same again: a step written as a method, a recursion.

`h = self.step(x0, h)` and `h = self.step(x1, h)` stand on two lines, so what `step` calls has two call sites. Its weights
are one layer with two passes already. A call next to them is a pass of one layer too if it stands on the same line of
the same function, and all that it reads, or all that reads it, are other passes of the same layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from tl_core._chain import Chains
    from tl_core._edge import Edges
    from tl_core._loop import Loops
    from tl_core._record import OpRecord


ROUNDS = 16
"""Each round follows a chain of echoes to its end in one direction; few models need a third one."""


def candidates(ops: Sequence[OpRecord], chains: Chains, link: Sequence[int]) -> dict[int, Hashable]:
    """Ops that stand on one innermost line with another layer of the same module call; by op, what they share."""
    heads: dict[Hashable, int] = {}
    for index, earlier in enumerate(link):
        key = _line(ops[index], chains) if earlier < 0 else None
        if key is not None:
            heads[key] = heads.get(key, 0) + 1
    shared = {key for key, count in heads.items() if count > 1}
    if not shared:
        return {}
    lines = ((index, _line(op, chains)) for index, op in enumerate(ops))
    return {index: key for index, key in lines if key in shared}


def _line(op: OpRecord, chains: Chains) -> Hashable:
    """What calls on one innermost line of one module call share; None for ops that echo nothing."""
    call = op.call
    if call is None or call.params or not call.frames:
        return None
    code, offset = call.frames[0][:2]
    line = code if isinstance(code, str) else id(code)
    return (*chains.place_of(op), call.name, op.position, line, offset, chains.order[op.index])


def link_echoes(
    ops: Sequence[OpRecord],
    chains: Chains,
    loops: Loops | None,
    link: list[int],
    keys: dict[int, Hashable],
    edges: Edges,
) -> None:
    """Link the first pass of a layer to another layer that it repeats."""
    layers = _Layers(link)

    def may_join(earlier: int, later: int) -> bool:
        """Only a first pass is joined, and nothing that the rounds of a loop have parted."""
        if link[later] >= 0:
            return False
        if chains.site_of(ops[earlier]) != chains.site_of(ops[later]):
            return True
        return loops is not None and not loops.contradict(earlier, later)

    starts, targets = edges.child_rows()
    for _ in range(ROUNDS):
        changed = False
        last: dict[Hashable, int] = {}
        for op, key in keys.items():
            parents = ops[op].parents
            read = (key, tuple([layers.find(parent) for parent in parents]))
            before = last.get(read)
            if before is not None and ops[before].parents != parents and may_join(before, op):
                changed |= layers.join(before, op)
            last[read] = op
        last.clear()
        for op in reversed(keys):
            children = targets[starts[op] : starts[op + 1]]
            fed = (keys[op], tuple([(layers.find(child), ops[child].parents.index(op)) for child in children]))
            after = last.get(fed)
            if after is not None and targets[starts[after] : starts[after + 1]] != children and may_join(op, after):
                changed |= layers.join(op, after)
            last[fed] = op
        if not changed:
            break
    for op in keys:
        if link[op] < 0 and layers.find(op) != op:
            link[op] = layers.find(op)


class _Layers:
    """Sets of ops, each known by its first."""

    __slots__ = ("_above",)

    def __init__(self, link: Sequence[int]) -> None:
        self._above = [op if earlier < 0 else earlier for op, earlier in enumerate(link)]

    def find(self, op: int) -> int:
        """First op of the layer of `op`."""
        above = self._above
        top = op
        while above[top] != top:
            top = above[top]
        while above[op] != top:
            above[op], op = top, above[op]
        return top

    def join(self, one: int, other: int) -> bool:
        """Make one layer of two; False if they are one already."""
        first, second = self.find(one), self.find(other)
        if first == second:
            return False
        self._above[max(first, second)] = min(first, second)
        return True
