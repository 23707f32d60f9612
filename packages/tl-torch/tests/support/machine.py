"""A tiny interpreter that knows, for every element of every tensor, which op wrote it last.

Memory is a row of cells. A tensor is a numpy array of cell numbers, so a view is the same memory under other
numbers. Nothing of torch or of the code under test is used here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Step:
    """One op: what it is called, what it was computed from, what it produced."""

    key: str
    """`input x`, `buffer b0`, or `op 3` in order of execution."""
    name: str
    parents: tuple[str, ...]
    value: list[object] | int


@dataclass(slots=True)
class Memory:
    """Cells with their values and the step that wrote each last."""

    values: Array
    written: Array


@dataclass(slots=True, eq=False)
class Value:
    """A tensor object: cells of a memory, and the step that returned the object."""

    memory: Memory
    cells: Array
    producer: int
    marks: frozenset[str] = frozenset()
    """How it came to be: `data`, `buffer`, `view`."""
    row_major: bool = True
    """Whether its memory was surely laid out in rows; torch keeps the layout of operands that are turned."""

    @property
    def array(self) -> Array:
        return self.memory.values[self.cells]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.cells.shape

    @property
    def contiguous(self) -> bool:
        flat = self.cells.reshape(-1)
        return self.row_major and (flat.size < 2 or bool((np.diff(flat) == 1).all()))

    @property
    def writable(self) -> bool:
        return np.unique(self.cells).size == self.cells.size

    def overlaps(self, other: Value) -> bool:
        return self.memory is other.memory and bool(np.isin(self.cells, other.cells).any())


@dataclass(slots=True)
class Machine:
    """Runs ops one by one and keeps their records."""

    steps: list[Step] = field(default_factory=list)
    computed: int = 0
    sources: dict[int, str] = field(default_factory=dict)
    """Values that are not recorded before they are first read, with their keys."""

    def source(self, key: str, array: Array, *, lazy: bool, marks: Sequence[str] = ()) -> Value:
        """Bring in a tensor from outside; a lazy one is recorded when it is first read."""
        memory = Memory(array.reshape(-1).copy(), np.full(array.size, -1))
        value = Value(memory, np.arange(array.size).reshape(array.shape), -1, frozenset(marks))
        if lazy:
            self.sources[id(value)] = key
        else:
            value.producer = self._record(key, key.split()[0], (), array)
        return value

    def parents(self, *values: Value) -> tuple[str, ...]:
        """Return the steps that the elements of `values` come from, in order of the arguments."""
        found: dict[str, None] = {}
        for value in values:
            self.touch(value)
            found.update(dict.fromkeys(self._writers(value)))
        return tuple(found)

    def touch(self, value: Value) -> None:
        """Record a buffer when it is first touched."""
        key = self.sources.pop(id(value), None)
        if key is not None:
            value.producer = self._record(key, key.split()[0], (), value.array)

    def _writers(self, value: Value) -> list[str]:
        """Return the producer of `value` where an element is still its own, then the later writers."""
        stamps = value.memory.written[value.cells]
        newer = stamps > value.producer
        own = [] if newer.size and newer.all() else [value.producer]
        return [self.steps[step].key for step in [*own, *np.unique(stamps[newer])]]

    def compute(self, name: str, reads: Sequence[Value], *arrays: Array) -> list[Value]:
        """Record a call whose outputs lie in new memory."""
        parents = self.parents(*reads)
        row_major = all(value.contiguous for value in reads)
        outputs = []
        for array in arrays:
            step = self._op(name, parents, array)
            memory = Memory(array.reshape(-1).astype(np.int64), np.full(array.size, step))
            cells = np.arange(array.size).reshape(array.shape)
            outputs.append(Value(memory, cells, step, row_major=row_major))
        return outputs

    def view(self, name: str, base: Value, *cells: Array, mark: str = "view") -> list[Value]:
        """Record a call whose outputs are views; each comes from the writers of what it shows."""
        self.parents(base)
        outputs = []
        for shown in cells:
            part = Value(base.memory, shown, base.producer)
            step = self._op(name, self.parents(part), part.array)
            outputs.append(Value(base.memory, shown, step, base.marks | {mark}, base.row_major))
        return outputs

    def same(self, name: str, value: Value) -> Value:
        """Record a call that returned its own argument."""
        value.producer = self._op(name, self.parents(value), value.array)
        return value

    def write(self, name: str, target: Value, reads: Sequence[Value], array: Array, place: Array | None = None) -> None:
        """Record a call that writes `array` into `target`, or into the cells `place` of it."""
        place = target.cells if place is None else place
        parents = self.parents(*reads)
        self.touch(target)
        target.memory.values[place] = array
        step = self._op(name, parents, target.array)
        target.memory.written[place] = step
        target.producer = step

    def write_all(self, name: str, targets: Sequence[Value], arrays: Sequence[Array]) -> None:
        """Record one call that writes several tensors, each of which may depend on all of them."""
        parents = self.parents(*targets)
        for target, array in zip(targets, arrays, strict=True):
            target.memory.values[target.cells] = array
            target.producer = self._op(name, parents, target.array)
            target.memory.written[target.cells] = target.producer

    def _op(self, name: str, parents: tuple[str, ...], array: Array) -> int:
        key = f"op {self.computed}"
        self.computed += 1
        return self._record(key, name, parents, array)

    def _record(self, key: str, name: str, parents: tuple[str, ...], array: Array) -> int:
        self.steps.append(Step(key, name, parents, array.tolist()))
        return len(self.steps) - 1
