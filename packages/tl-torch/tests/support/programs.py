"""Random programs of torch calls, each as Python text beside what the interpreter says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from machine import Fault, Machine, Step, Value

Draw = Callable[[st.SearchStrategy], object]


@dataclass(frozen=True)
class Program:
    """The body of a forward, and the steps that it has to be recorded as."""

    lines: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[tuple[str, ...], ...]
    """The parents of each returned tensor."""
    results: tuple[object, ...]
    """The value of each returned tensor."""
    features: frozenset[str]
    inputs: tuple[list[object], ...]
    buffers: tuple[list[object], ...]
    fault: Fault | None
    """Why no record of it can be proved."""

    @property
    def text(self) -> str:
        """The forward as a function of `self` and the inputs."""
        return "\n    ".join(["def forward(self, x0, x1):", *self.lines])

    def __repr__(self) -> str:
        steps = "\n".join(f"    # {s.key}: {s.name} <- {', '.join(s.parents)}" for s in self.steps)
        return f"\n{self.text}\n{steps}\n    # inputs {self.inputs}, buffers {self.buffers}\n"


class Writer:
    """Draws one instruction after the other and runs it in the interpreter."""

    def __init__(self, draw: Draw, dtype: type = np.int64, *, healthy: bool = False) -> None:
        self.draw = draw
        self.machine = Machine(dtype)
        self.healthy = healthy
        """Whether no instruction ignores an operand on purpose."""
        self.values: dict[str, Value] = {}
        self.lines: list[str] = []
        self.features: set[str] = set()

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def factor(self, number: int) -> int:
        """A number to multiply by."""
        return number or 7 if self.healthy else number

    def pick(self, wanted: Callable[[Value], bool] = lambda value: True) -> tuple[str, Value] | None:
        """Choose a tensor; the newest come first when hypothesis makes an example smaller."""
        found = [item for item in reversed(self.values.items()) if wanted(item[1])]
        return found[self.number(0, len(found) - 1)] if found else None

    def add(self, line: str, *outputs: Value) -> None:
        names = [f"t{len(self.values) + k}" for k in range(len(outputs))]
        self.lines.append(f"{', '.join(names)}{',' if len(names) > 1 else ''} = {line}" if names else line)
        self.values.update(zip(names, outputs, strict=True))

    def wrote(self, target: Value, feature: str = "in place") -> None:
        self.features.add(feature)
        self.features |= {mark for mark in target.marks if mark != "view"}
        if any(other is not target and other.overlaps(target) for other in self.values.values()):
            self.features.add("overlapping views")

    # Calls with results in new memory.

    def factory(self) -> None:
        shape = tuple(self.number(1, 3) for _ in range(self.number(1, 2)))
        fill = self.number(-3, 3)
        real = "" if self.machine.dtype is np.int64 else ", dtype=torch.float64"
        value = self.machine.compute("full", [], lambda: np.full(shape, fill, self.machine.dtype))
        self.add(f"torch.full({shape}, {fill}{real})", value)

    def scalar(self) -> None:
        name, value = self.pick()
        by = self.number(-2, 3)
        call, text, function = [
            ("add", f"{name} + {by}", lambda a: a + by),
            ("mul", f"torch.mul({name}, {self.factor(by)})", lambda a: a * self.factor(by)),
            ("neg", f"-{name}", np.negative),
            ("clone", f"{name}.clone()", np.array),
        ][self.number(0, 3)]
        self.add(text, self.machine.compute(call, [value], function))

    def binary(self) -> None:
        left, a = self.pick()
        right, b = self.pick(lambda other: other.shape == a.shape)
        call, text, function = [
            ("add", f"{left} + {right}", np.add),
            ("sub", f"torch.sub({left}, {right})", np.subtract),
            ("maximum", f"torch.maximum({left}, {right})", np.maximum),
        ][self.number(0, 2)]
        if self.healthy and a is b and call == "sub":
            return
        self.add(text, self.machine.compute(call, [a, b], function))

    def reduction(self) -> None:
        name, value = self.pick(lambda value: len(value.shape) >= 1) or self.pick()
        if len(value.shape) == 0:
            return
        dim = self.number(0, len(value.shape) - 1)
        total = self.machine.compute("sum", [value], lambda a: a.sum(dim))
        self.add(f"{name}.sum({dim})", total)

    def product(self) -> None:
        choice = self.pick(lambda value: len(value.shape) == 2)
        if choice is None:
            return
        left, a = choice
        other = self.pick(lambda value: len(value.shape) == 2 and value.shape[0] == a.shape[1])
        if other is None:
            return
        right, b = other
        if self.healthy and not (a.array.any() and b.array.any()):
            return
        self.add(f"{left} @ {right}", self.machine.compute("matmul", [a, b], np.matmul))

    def joined(self) -> None:
        first, a = self.pick()
        second, b = self.pick(lambda other: other.shape == a.shape)
        call = ["stack", "cat"][self.number(0, 1) if a.shape else 0]
        join = {"stack": np.stack, "cat": np.concatenate}[call]
        value = self.machine.compute(call, [a, b], lambda *parts: join(parts))
        self.add(f"torch.{call}([{first}, {second}])", value)

    # Views.

    def slice_of(self, value: Value) -> tuple[str, tuple[slice | int, ...]] | None:
        """Draw an index that has a view as its result."""
        if not value.shape:
            return None
        dim = self.number(0, len(value.shape) - 1)
        size = value.shape[dim]
        if size and self.number(0, 3) == 0:
            at: slice | int = self.number(0, size - 1)
            text = str(at)
        else:
            start, stop, step = self.number(0, size), self.number(0, size), self.number(1, 2)
            at = slice(start, stop, step)
            text = f"{start}:{stop}:{step}"
        return ", ".join([":"] * dim + [text]), (*[slice(None)] * dim, at)

    def item(self) -> None:
        name, value = self.pick()
        index = self.slice_of(value)
        if index is not None:
            (shown,) = self.machine.view("getitem", value, np.asarray(value.cells[index[1]]))
            self.add(f"{name}[{index[0]}]", shown)

    def turned(self) -> None:
        name, value = self.pick()
        if len(value.shape) == 2:
            (shown,) = self.machine.view("transpose", value, value.cells.T)
            self.add(f"{name}.transpose(0, 1)", shown)
        elif self.number(0, 1) and len(value.shape) < 3:
            (shown,) = self.machine.view("unsqueeze", value, value.cells[None])
            self.add(f"{name}.unsqueeze(0)", shown)
        elif value.contiguous:
            (shown,) = self.machine.view("view", value, value.cells.reshape(-1))
            self.add(f"{name}.view(-1)", shown)

    def widened(self) -> None:
        choice = self.pick(lambda value: len(value.shape) <= 2)
        if choice is None:
            return
        name, value = choice
        shape = (2, *value.shape)
        (shown,) = self.machine.view("expand", value, np.broadcast_to(value.cells, shape))
        self.add(f"{name}.expand{shape}", shown)

    def parted(self) -> None:
        choice = self.pick(lambda value: len(value.shape) >= 1 and 1 < value.shape[0] <= 4)
        if choice is None:
            return
        name, value = choice
        if self.number(0, 1):
            parts = self.machine.view("unbind", value, *map(np.asarray, value.cells))
            self.add(f"{name}.unbind()", *parts)
        else:
            cells = [value.cells[k : k + 2] for k in range(0, value.shape[0], 2)]
            if len(cells) > 1:
                self.add(f"torch.split({name}, 2)", *self.machine.view("split", value, *cells))

    def data(self) -> None:
        name, value = self.pick()
        (shown,) = self.machine.view("data", value, value.cells, mark="data")
        self.add(f"{name}.data", shown)

    def diagonal(self) -> None:
        choice = self.pick(lambda value: len(value.shape) == 2)
        if choice is not None:
            name, value = choice
            self.add(f"{name}.diagonal()", *self.machine.view("diagonal", value, value.cells.diagonal()))

    def strided(self) -> None:
        """Look at the memory of a contiguous tensor in steps of two, across its rows."""
        choice = self.pick(lambda value: value.contiguous and value.cells.size >= 3)
        if choice is not None:
            name, value = choice
            cells = value.cells.reshape(-1)[::2]
            start = f"{name}.storage_offset()"
            line = f"torch.as_strided({name}, ({cells.size},), (2,), {start})"
            self.add(line, *self.machine.view("as_strided", value, cells))

    def detached(self) -> None:
        name, value = self.pick()
        self.add(f"{name}.detach()", *self.machine.view("detach", value, value.cells))

    def unchanged(self) -> None:
        choice = self.pick(lambda value: value.contiguous)
        if choice is not None:
            name, value = choice
            self.machine.same("contiguous", value)
            self.lines.append(f"{name} = {name}.contiguous()")

    # Writes.

    def target(self) -> tuple[str, Value] | None:
        return self.pick(lambda value: value.writable and value.cells.size > 0)

    def in_place(self) -> None:
        choice = self.target()
        if choice is None:
            return
        name, value = choice
        by = self.number(-2, 3)
        call, text, function = [
            ("add_", f"{name}.add_({by})", lambda a: a + by),
            ("mul_", f"{name} *= {self.factor(by)}", lambda a: a * self.factor(by)),
            ("neg_", f"{name}.neg_()", np.negative),
        ][self.number(0, 2)]
        self.wrote(value)
        self.machine.write(call, value, [value], function)
        self.add(text)

    def apart(self, value: Value) -> tuple[str, Value] | None:
        """Choose a tensor of the same shape that shares no cell with `value`."""
        return self.pick(lambda other: other.shape == value.shape and not other.overlaps(value))

    def in_place_with_another(self) -> None:
        choice = self.target()
        if choice is None:
            return
        name, value = choice
        other = self.apart(value)
        if other is None:
            return
        self.wrote(value)
        self.machine.write("add_", value, [value, other[1]], np.add)
        self.add(f"{name}.add_({other[0]})")

    def overwritten(self) -> None:
        choice = self.target()
        if choice is None:
            return
        name, value = choice
        other = self.apart(value)
        self.wrote(value)
        if other is None:
            fill = self.number(-3, 3)
            self.machine.write("fill_", value, [], lambda: np.full(value.shape, fill))
            self.add(f"{name}.fill_({fill})")
        else:
            self.machine.touch(value)
            self.machine.write("copy_", value, [other[1]], np.array)
            self.add(f"{name}.copy_({other[0]})")

    def masked(self) -> None:
        choice = self.target()
        if choice is None:
            return
        name, value = choice
        mask = self.machine.compute("gt", [value], lambda a: a > 0, whole=True)
        self.wrote(value)
        self.machine.write("masked_fill_", value, [value, mask], lambda a, keep: np.where(keep, -1, a), excused={0, 1})
        self.add(f"{name}.masked_fill_({name} > 0, -1)")

    def assigned(self) -> None:
        choice = self.target()
        index = self.slice_of(choice[1]) if choice else None
        if index is None:
            return
        name, value = choice
        place = np.asarray(value.cells[index[1]])
        part = Value(value.memory, place, value.producer)
        other = self.pick(lambda other: other.shape == part.shape and not other.overlaps(value))
        if place.size == 0:
            return
        self.wrote(value)
        if other is None:
            self.machine.write("setitem", value, [value], lambda a: np.full(part.shape, 5), place, excused={0})
            self.add(f"{name}[{index[0]}] = 5")
        else:
            self.machine.write("setitem", value, [value, other[1]], lambda a, b: b, place, excused={0})
            self.add(f"{name}[{index[0]}] = {other[0]}")

    def assigned_at(self) -> None:
        """Assign to rows that a tensor names: the call counts as the writer of everything."""
        choice = self.pick(lambda value: value.writable and len(value.shape) == 2 and value.cells.size > 0)
        if choice is None:
            return
        name, value = choice
        row = self.number(0, value.shape[0] - 1)
        index = self.machine.compute("tensor", [], lambda: np.array([row]), whole=True)

        def assigned(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
            array = array.copy()
            array[rows] = 4
            return array

        self.wrote(value)
        self.machine.write("setitem", value, [value, index], assigned, excused={0, 1})
        self.add(f"{name}[torch.tensor([{row}])] = 4")

    def flagged(self) -> None:
        choice = self.target()
        if choice is not None:
            name, value = choice
            self.wrote(value)
            self.machine.write("relu", value, [value], lambda a: np.maximum(a, 0))
            self.add(f"torch.nn.functional.relu({name}, inplace=True)")

    def together(self) -> None:
        choice = self.target()
        other = choice and self.pick(
            lambda other: other.writable and other.cells.size > 0 and not other.overlaps(choice[1])
        )
        if not other:
            return
        (left, a), (right, b) = choice, other
        by = self.number(1, 3)
        self.wrote(a)
        self.wrote(b)
        self.machine.write_all("_foreach_add_", [a, b], lambda array: array + by)
        self.add(f"torch._foreach_add_([{left}, {right}], {by})")

    def out(self) -> None:
        choice = self.target()
        if choice is None:
            return
        name, value = choice
        other = self.apart(value)
        if other is None:
            return
        self.wrote(value, "out=")
        by = self.number(-2, 3)
        self.machine.write("mul", value, [other[1]], lambda a: a * self.factor(by))
        self.add(f"torch.mul({other[0]}, {self.factor(by)}, out={name})")

    # Calls of programs that are to be judged.

    def function_of_one(self) -> None:
        name, value = self.pick(lambda value: value.cells.size > 0)
        call, text, function = [
            ("clamp", f"{name}.clamp(-2, 30)", lambda a: np.clip(a, -2, 30)),
            ("abs", f"torch.abs({name})", np.abs),
            ("relu", f"{name}.relu()", lambda a: np.maximum(a, 0)),
            ("flip", f"{name}.flip(0)", lambda a: np.flip(a, 0)),
            ("cumsum", f"{name}.cumsum(0)", lambda a: np.cumsum(a, 0)),
            ("amax", f"{name}.amax()", np.max),
        ][self.number(0, 5)]
        if value.shape or call not in {"flip", "cumsum"}:
            self.add(text, self.machine.compute(call, [value], function))

    def function_of_two(self) -> None:
        left, a = self.pick(lambda value: value.cells.size > 0)
        right, b = self.pick(lambda other: other.shape == a.shape)
        call, text, function = [
            ("minimum", f"torch.minimum({left}, {right})", np.minimum),
            ("mul", f"{left} * {right}", np.multiply),
        ][self.number(0, 1)]
        if call == "mul" and self.healthy and not (a.array.any() and b.array.any()):
            return
        self.add(text, self.machine.compute(call, [a, b], function))

    def chosen(self) -> None:
        """Elements of one tensor where a mask says so, of another elsewhere."""
        left, a = self.pick(lambda value: value.cells.size > 0)
        right, b = self.pick(lambda other: other.shape == a.shape and other is not a) or (left, a)
        if a is b or (self.healthy and ((a.array > 2).all() or not (a.array > 2).any())):
            return
        mask = self.machine.compute("gt", [a], lambda array: array > 2, whole=True)
        self.add(
            f"torch.where({left} > 2, {left}, {right})",
            self.machine.compute("where", [mask, a, b], np.where, excused={0}),
        )

    def rows(self) -> None:
        name, value = self.pick(lambda value: len(value.shape) > 0 and value.cells.size > 0)
        row = self.number(0, value.shape[0] - 1)
        index = self.machine.compute("tensor", [], lambda: np.array([row, 0]), whole=True)
        self.add(
            f"torch.index_select({name}, 0, torch.tensor([{row}, 0]))",
            self.machine.compute("index_select", [value, index], lambda a, at: a[at], excused={1}),
        )

    def like(self) -> None:
        name, value = self.pick()
        self.add(f"torch.ones_like({name})", self.machine.compute("ones_like", [value], np.ones_like, excused={0}))

    # Calls that no record can prove.

    def fault(self) -> None:
        """Ignore an operand, or give nothing finite."""
        name, value = self.pick(lambda value: value.cells.size > 0)
        compute, real = self.machine.compute, self.machine.dtype is np.float64
        kind = [4, 5, 0, 1, 2, 3][self.number(0, 5)] if real else self.number(0, 3)
        if kind == 0:
            self.add(f"torch.mul({name}, 0)", compute("mul", [value], lambda a: a * 0))
        elif kind == 1:
            self.add(f"{name} - {name}", compute("sub", [value, value], np.subtract))
        elif kind == 2:
            self.add(f"{name}.clamp(2, 2)", compute("clamp", [value], lambda a: np.clip(a, 2, 2)))
        elif kind == 3:
            other = compute("neg", [value], np.negative)
            mask = compute("ones", [], lambda: np.ones(value.shape, bool), whole=True)
            line = f"torch.where(torch.ones({value.shape}, dtype=torch.bool), {name}, t{len(self.values)})"
            self.add(f"-{name}", other)
            self.add(line, compute("where", [mask, value, other], np.where, excused={0}))
        elif kind == 4:
            self.add(f"{name} / 0", compute("div", [value], lambda a: a / np.zeros(())))
        else:
            self.spoil()

    def spoil(self) -> None:
        """Write what is not a number."""
        choice = self.target()
        index = self.slice_of(choice[1]) if choice else None
        if index is None:
            return
        name, value = choice
        place = np.asarray(value.cells[index[1]])
        if place.size:
            self.wrote(value)
            self.machine.write("setitem", value, [value], lambda a: np.full(place.shape, np.nan), place, excused={0})
            self.add(f"{name}[{index[0]}] = float('nan')")


READS = ["factory", "scalar", "binary", "reduction", "product", "joined"]
VIEWS = ["item", "item", "turned", "widened", "parted", "data", "data", "diagonal", "strided", "detached", "unchanged"]
WRITES = [
    "in_place",
    "in_place_with_another",
    "overwritten",
    "masked",
    "assigned",
    "assigned_at",
    "flagged",
    "together",
    "out",
]
INSTRUCTIONS = READS + VIEWS + WRITES
JUDGED = [*INSTRUCTIONS, "function_of_one", "function_of_two", "chosen", "rows", "like"]


def started(draw: Draw, dtype: type, *, healthy: bool) -> Writer:
    """A writer that has two inputs and two buffers."""
    writer = Writer(draw, dtype, healthy=healthy)
    for name, array in SOURCES.items():
        kind = "buffer" if name.startswith("self.") else "input"
        key = f"{kind} {name.removeprefix('self.')}"
        marks = ["buffer"] if kind == "buffer" else []
        writer.values[name] = writer.machine.source(key, array, lazy=kind == "buffer", marks=marks)
    return writer


SOURCES = {
    "x0": np.arange(1, 5), "x1": np.arange(6).reshape(2, 3), "self.b0": np.arange(10, 14), "self.b1": np.ones((2, 3)),
}  # fmt: skip


def finished(writer: Writer, results: list[str]) -> Program:
    """The program that returns `results`."""
    writer.lines.append(f"return [{', '.join(results)}]")
    outputs = tuple(writer.machine.parents(writer.values[name]) for name in results)
    arrays = [array.astype(writer.machine.dtype).tolist() for array in SOURCES.values()]
    return Program(
        tuple(writer.lines),
        tuple(writer.machine.steps),
        outputs,
        tuple(writer.values[name].array.tolist() for name in results),
        frozenset(writer.features),
        tuple(arrays[:2]),
        tuple(arrays[2:]),
        fault_of(writer, results),
    )


def fault_of(writer: Writer, results: list[str]) -> Fault | None:
    """The first thing that no record of the program can prove."""
    machine = writer.machine
    arrays = [writer.values[name].array for name in results]
    if all(array.size and not np.isfinite(array).any() for array in arrays):
        return Fault("output", "degenerate_forward")
    faults = list(machine.faults)
    if machine.born is not None and any(not np.isfinite(array).all() for array in arrays):
        faults.append(machine.born)
    return min(faults, key=lambda fault: machine.numbers[fault.key], default=None)


@st.composite
def programs(draw: Draw, most: int = 14) -> Program:
    """Draw a program of two inputs and two buffers."""
    writer = started(draw, np.int64, healthy=False)
    for instruction in draw(st.lists(st.sampled_from(INSTRUCTIONS), min_size=3, max_size=most)):
        getattr(writer, instruction)()
    return finished(writer, [*(name for name in writer.values if name.startswith("t")), "x0"])


@st.composite
def judged_programs(draw: Draw, *, faulty: bool, most: int = 14) -> Program:
    """Draw a program of whole or real numbers that ignores nothing on purpose, or one with a fault in it."""
    writer = started(draw, [np.int64, np.float64][draw(st.integers(0, 1))], healthy=True)
    instructions = draw(st.lists(st.sampled_from(JUDGED), min_size=3, max_size=most))
    if faulty:
        instructions.insert(draw(st.integers(0, len(instructions))), "fault")
    with np.errstate(all="ignore"):
        for instruction in instructions:
            getattr(writer, instruction)()
    made = [name for name in writer.values if name.startswith("t")]
    some = [made[-1:], made, [*made, "x0"]][draw(st.integers(0, 2))]
    return finished(writer, some or ["x0"])
