"""Who feeds whom, as compressed rows of integers."""

from __future__ import annotations

from array import array
from itertools import accumulate, chain
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._record import OpRecord


@final
class Edges:
    """Parents and children of every op; row `i` of a side is `targets[starts[i]:starts[i + 1]]`."""

    __slots__ = ("child_starts", "child_targets", "count", "parent_starts", "parent_targets")

    def __init__(self, ops: Sequence[OpRecord]) -> None:
        parents = [op.parents for op in ops]
        self.count = len(parents)
        """Number of ops."""
        targets = [*chain.from_iterable(parents)]
        self.parent_starts = array("i", accumulate(map(len, parents), initial=0))
        self.parent_targets = array("i", targets)
        widths = [0] * (self.count + 1)
        for parent in targets:
            widths[parent + 1] += 1
        free = [*accumulate(widths)]
        self.child_starts = array("i", free)
        children = [0] * len(targets)
        for child, row in enumerate(parents):
            for parent in row:
                at = free[parent]
                children[at] = child
                free[parent] = at + 1
        self.child_targets = array("i", children)

    def parents(self, op: int) -> list[int]:
        """Ops that `op` was computed from, in argument order."""
        starts = self.parent_starts
        return self.parent_targets[starts[op] : starts[op + 1]].tolist()

    def children(self, op: int) -> list[int]:
        """Ops that were computed from `op`, in execution order."""
        starts = self.child_starts
        return self.child_targets[starts[op] : starts[op + 1]].tolist()

    def parent_rows(self) -> tuple[list[int], list[int]]:
        """`starts` and `targets` of the parents as plain lists."""
        return self.parent_starts.tolist(), self.parent_targets.tolist()

    def child_rows(self) -> tuple[list[int], list[int]]:
        """`starts` and `targets` of the children as plain lists, which a loop over all ops reads faster."""
        return self.child_starts.tolist(), self.child_targets.tolist()

    def upstream(self, op: int) -> list[int]:
        """All ops that `op` depends on, ascending."""
        return _reach([op], self.parent_starts, self.parent_targets)

    def downstream(self, op: int) -> list[int]:
        """All ops that depend on `op`, ascending."""
        return _reach([op], self.child_starts, self.child_targets)


def _reach(origins: list[int], starts: array[int], targets: array[int]) -> list[int]:
    seen: set[int] = set()
    stack = list(origins)
    while stack:
        op = stack.pop()
        for target in targets[starts[op] : starts[op + 1]].tolist():
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return sorted(seen)
