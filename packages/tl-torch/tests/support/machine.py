"""A tiny interpreter that knows, for every element of every tensor, which op wrote it last.

Memory is a row of cells. A tensor is a numpy array of cell numbers, so a view is the same memory under other
numbers. Nothing of torch or of the code under test is used here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

Array = np.ndarray
Nature = Literal["weight", "constant", "mixed"]
"""Where a value comes from: buffers alone, neither inputs nor buffers, or anything else."""
TRIES = 24
"""Other values that an operand is given before it counts as ignored."""


@dataclass(frozen=True, slots=True)
class Step:
    """One op: what it is called, what it was computed from, what it produced."""

    key: str
    """`input x`, `buffer b0`, or `op 3` in order of execution."""
    name: str
    parents: tuple[str, ...]
    value: list[object] | int


@dataclass(frozen=True, slots=True)
class Fault:
    """An op that no record can prove, and the check that has to say so."""

    key: str
    check: Literal["perturbation", "degenerate_forward"]


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

    dtype: type = np.int64
    steps: list[Step] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    """Calls that ignore an operand or give nothing finite, in order."""
    born: Fault | None = None
    """The first op some of whose elements are not finite: a fault where they reach an output."""
    natures: list[Nature] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    """Position of each step by its key."""
    computed: int = 0
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    sources: dict[int, str] = field(default_factory=dict)
    """Values that are not recorded before they are first read, with their keys."""

    def source(self, key: str, array: Array, *, lazy: bool, marks: Sequence[str] = ()) -> Value:
        """Bring in a tensor from outside; a lazy one is recorded when it is first read."""
        memory = Memory(array.reshape(-1).astype(self.dtype), np.full(array.size, -1))
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

    def compute(
        self, name: str, reads: Sequence[Value], function: Callable[..., Array], *, whole: bool = False,
        excused: Collection[int] = (),
    ) -> Value:  # fmt: skip
        """Record a call whose output lies in new memory; `whole` says that it holds no real numbers.

        Operands at the positions `excused` give a shape or say where, and need not matter.
        """
        parents = self.parents(*reads)
        row_major = all(value.contiguous for value in reads)
        array = function(*[value.array for value in reads])
        step = self._op(name, parents, array)
        memory = Memory(array.reshape(-1).astype(array.dtype if whole else self.dtype), np.full(array.size, step))
        cells = np.arange(array.size).reshape(array.shape)
        self._judge(step, reads, function, array, excused=excused)
        return Value(memory, cells, step, row_major=row_major)

    def view(self, name: str, base: Value, *cells: Array, mark: str = "view") -> list[Value]:
        """Record a call whose outputs are views; each comes from the writers of what it shows."""
        self.parents(base)
        outputs = []
        for shown in cells:
            part = Value(base.memory, shown, base.producer)
            step = self._op(name, self.parents(part), part.array)
            self._judge(step, [part], np.array, part.array)
            outputs.append(Value(base.memory, shown, step, base.marks | {mark}, base.row_major))
        return outputs

    def same(self, name: str, value: Value) -> Value:
        """Record a call that returned its own argument."""
        value.producer = self._op(name, self.parents(value), value.array)
        self._judge(value.producer, [value], np.array, value.array)
        return value

    def write(
        self, name: str, target: Value, reads: Sequence[Value], function: Callable[..., Array],
        place: Array | None = None, excused: Collection[int] = (),
    ) -> None:  # fmt: skip
        """Record a call that writes what `function` makes of `reads` into `target`, or into the cells `place` of it.

        Operands at the positions `excused` are written over or say where, and need not matter.
        """
        place = target.cells if place is None else place
        parents = self.parents(*reads)
        self.touch(target)
        given = [value.array for value in reads]
        target.memory.values[place] = function(*given)
        step = self._op(name, parents, target.array)
        target.memory.written[place] = step
        target.producer = step
        self._judge(step, reads, function, target.array, given, excused)

    def write_all(self, name: str, targets: Sequence[Value], function: Callable[..., Array]) -> None:
        """Record one call that writes several tensors that do not overlap, each of which depends on itself alone."""
        parents = [self.parents(target) for target in targets]
        for target, own in zip(targets, parents, strict=True):
            target.memory.values[target.cells] = function(target.array)
            target.producer = self._op(name, own, target.array)
            target.memory.written[target.cells] = target.producer
            self._judge(target.producer, [], function, target.array)

    # ---------------------------------------------------------------- can a record of it be proved?

    def _judge(
        self, step: int, reads: Sequence[Value], function: Callable[..., Array], result: Array,
        given: Sequence[Array] | None = None, excused: Collection[int] = (),
    ) -> None:  # fmt: skip
        """Note a fault where the whole result is not finite, or an operand does not matter."""
        key = self.steps[step].key
        if (
            self.steps[step].parents
            and result.size
            and not np.isfinite(result).any()
            and self.natures[step] != "constant"
        ):
            self.faults.append(Fault(key, "degenerate_forward"))
            return
        if result.size and not np.isfinite(result).all() and self.born is None:
            whole = bool(self.steps[step].parents) and not np.isfinite(result).any()
            self.born = Fault(key, "degenerate_forward" if whole else "perturbation")
        arrays = [value.array for value in reads] if given is None else list(given)
        if not result.size or not all(array.size for array in arrays):
            return
        for position, operand in enumerate(reads):
            if position not in excused and not self._matters(operand, reads, arrays, function):
                self.faults.append(Fault(key, "perturbation"))
                return

    def _matters(
        self, operand: Value, reads: Sequence[Value], arrays: Sequence[Array], function: Callable[..., Array]
    ) -> bool:
        """Whether the result changes with an operand, its other constants and weights being what they may be."""
        constant = self._nature(operand) == "constant"
        for attempt in range(TRIES):
            free = attempt >= TRIES // 2
            before = [
                self._other(array) if free and other is not operand and self._may_differ(other, constant) else array
                for other, array in zip(reads, arrays, strict=True)
            ]
            given = next(array for other, array in zip(reads, before, strict=True) if other is operand)
            changed = self._other(given)
            after = [changed if other is operand else array for other, array in zip(reads, before, strict=True)]
            if not np.array_equal(function(*before), function(*after), equal_nan=True):
                return True
        return False

    def _may_differ(self, value: Value, constant: bool) -> bool:
        nature = self._nature(value)
        return nature == "weight" or (constant and nature == "constant")

    def _other(self, array: Array) -> Array:
        if array.dtype == bool:
            return self.random.integers(0, 2, array.shape).astype(bool)
        return self.random.integers(-1000, 1000, array.shape).astype(array.dtype)

    def _nature(self, value: Value) -> Nature:
        """Whether all that a tensor holds comes from buffers, or all of it from neither inputs nor buffers."""
        return _common([self.natures[self.numbers[key]] for key in self._writers(value)])

    def _op(self, name: str, parents: tuple[str, ...], array: Array) -> int:
        key = f"op {self.computed}"
        self.computed += 1
        return self._record(key, name, parents, array)

    def _record(self, key: str, name: str, parents: tuple[str, ...], array: Array) -> int:
        natures: dict[str, Nature] = {"input": "mixed", "buffer": "weight", "ones_like": "constant"}
        self.natures.append(natures.get(name) or _common([self.natures[self.numbers[parent]] for parent in parents]))
        self.numbers[key] = len(self.steps)
        self.steps.append(Step(key, name, parents, array.tolist()))
        return len(self.steps) - 1


def _common(natures: Sequence[Nature]) -> Nature:
    """The nature of what is made of values of these natures; what is made of nothing is constant."""
    found = set(natures)
    if found <= {"constant"}:
        return "constant"
    return "weight" if found == {"weight"} else "mixed"
