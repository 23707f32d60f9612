"""Who feeds whom, as compressed rows of integers."""

from __future__ import annotations

from array import array
from itertools import accumulate, chain
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tl_core._record import OpRecord

Rows: TypeAlias = "tuple[array[int], array[int], array[int], array[int]]"
"""Starts and targets of the parents, starts and targets of the children."""
FEW = 1000
"""Number of ops from which on NumPy is quicker."""


@final
class Edges:
    """Parents and children of every op; row `i` of a side is `targets[starts[i]:starts[i + 1]]`."""

    __slots__ = ("child_starts", "child_targets", "count", "parent_starts", "parent_targets")

    def __init__(self, ops: Sequence[OpRecord]) -> None:
        parents = [op.parents for op in ops]
        self.count = len(parents)
        """Number of ops."""
        rows = _few(parents) if len(parents) < FEW else _many(parents)
        self.parent_starts, self.parent_targets, self.child_starts, self.child_targets = rows

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


def _few(parents: Sequence[tuple[int, ...]]) -> Rows:
    """Both sides of a small graph, for which NumPy takes longer to begin than the whole takes here."""
    targets = [*chain.from_iterable(parents)]
    widths = [0] * (len(parents) + 1)
    for parent in targets:
        widths[parent + 1] += 1
    starts = [*accumulate(widths)]
    free, children = starts.copy(), [0] * len(targets)
    for child, row in enumerate(parents):
        for parent in row:
            at = free[parent]
            children[at] = child
            free[parent] = at + 1
    own = [*accumulate(map(len, parents), initial=0)]
    return array("i", own), array("i", targets), array("i", starts), array("i", children)


def _many(parents: Sequence[tuple[int, ...]]) -> Rows:
    """Both sides of a large graph."""
    count = len(parents)
    widths = np.fromiter(map(len, parents), np.intc, count)
    starts = _starts(widths)
    targets = np.fromiter(chain.from_iterable(parents), np.intc, int(starts[-1]))
    readers = np.repeat(np.arange(count, dtype=np.intc), widths)
    order = np.argsort(targets, kind="stable")
    child_starts = _starts(np.bincount(targets, minlength=count))
    return _packed(starts), _packed(targets), _packed(child_starts), _packed(readers[order])


def _starts(widths: NDArray[np.signedinteger]) -> NDArray[np.intc]:
    starts = np.zeros(len(widths) + 1, np.intc)
    np.cumsum(widths, out=starts[1:])
    return starts


def _packed(values: NDArray[np.intc]) -> array[int]:
    packed = array("i")
    packed.frombytes(values.tobytes())
    return packed
