"""Who feeds whom, as compressed rows of integers."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tl_core._record import OpRecord

Index = np.int32


@final
class Edges:
    """Parents and children of every op; row `i` of a side is `targets[starts[i]:starts[i + 1]]`."""

    __slots__ = ("child_starts", "child_targets", "count", "parent_starts", "parent_targets")

    def __init__(self, ops: Sequence[OpRecord]) -> None:
        count = len(ops)
        self.count = count
        """Number of ops."""
        parents = [op.parents for op in ops]
        widths = np.fromiter(map(len, parents), Index, count)
        self.parent_starts: NDArray[np.int32] = _starts(widths)
        self.parent_targets: NDArray[np.int32] = np.fromiter(
            chain.from_iterable(parents), Index, int(self.parent_starts[-1])
        )
        readers = np.repeat(np.arange(count, dtype=Index), widths)
        order = np.argsort(self.parent_targets, kind="stable")
        self.child_targets: NDArray[np.int32] = readers[order]
        self.child_starts: NDArray[np.int32] = _starts(np.bincount(self.parent_targets, minlength=count).astype(Index))

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


def _reach(origins: list[int], starts: NDArray[np.int32], targets: NDArray[np.int32]) -> list[int]:
    seen: set[int] = set()
    stack = list(origins)
    while stack:
        op = stack.pop()
        for target in targets[starts[op] : starts[op + 1]].tolist():
            if target not in seen:
                seen.add(target)
                stack.append(target)
    return sorted(seen)


def _starts(widths: NDArray[np.int32]) -> NDArray[np.int32]:
    starts = np.zeros(len(widths) + 1, Index)
    np.cumsum(widths, out=starts[1:])
    return starts
