"""Random programs of torch calls, each as Python text beside what the interpreter says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from machine import Machine, Step, Value

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

    @property
    def text(self) -> str:
        """The forward as a function of `self` and the inputs."""
        return "\n    ".join(["def forward(self, x0, x1):", *self.lines])

    def __repr__(self) -> str:
        steps = "\n".join(f"    # {s.key}: {s.name} <- {', '.join(s.parents)}" for s in self.steps)
        return f"\n{self.text}\n{steps}\n    # inputs {self.inputs}, buffers {self.buffers}\n"


class Writer:
    """Draws one instruction after the other and runs it in the interpreter."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.machine = Machine()
        self.values: dict[str, Value] = {}
        self.lines: list[str] = []
        self.features: set[str] = set()

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

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
        (value,) = self.machine.compute("full", [], np.full(shape, fill))
        self.add(f"torch.full({shape}, {fill})", value)

    def scalar(self) -> None:
        name, value = self.pick()
        by = self.number(-2, 3)
        call, text, array = [
            ("add", f"{name} + {by}", value.array + by),
            ("mul", f"torch.mul({name}, {by})", value.array * by),
            ("neg", f"-{name}", -value.array),
            ("clone", f"{name}.clone()", value.array.copy()),
        ][self.number(0, 3)]
        self.add(text, *self.machine.compute(call, [value], array))

    def binary(self) -> None:
        left, a = self.pick()
        right, b = self.pick(lambda other: other.shape == a.shape)
        call, text, array = [
            ("add", f"{left} + {right}", a.array + b.array),
            ("sub", f"torch.sub({left}, {right})", a.array - b.array),
            ("maximum", f"torch.maximum({left}, {right})", np.maximum(a.array, b.array)),
        ][self.number(0, 2)]
        self.add(text, *self.machine.compute(call, [a, b], array))

    def reduction(self) -> None:
        name, value = self.pick(lambda value: len(value.shape) >= 1) or self.pick()
        if len(value.shape) == 0:
            return
        dim = self.number(0, len(value.shape) - 1)
        (total,) = self.machine.compute("sum", [value], value.array.sum(dim))
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
        self.add(f"{left} @ {right}", *self.machine.compute("matmul", [a, b], a.array @ b.array))

    def joined(self) -> None:
        first, a = self.pick()
        second, b = self.pick(lambda other: other.shape == a.shape)
        call = ["stack", "cat"][self.number(0, 1) if a.shape else 0]
        join = {"stack": np.stack, "cat": np.concatenate}[call]
        (value,) = self.machine.compute(call, [a, b], join([a.array, b.array]))
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
        call, text, array = [
            ("add_", f"{name}.add_({by})", value.array + by),
            ("mul_", f"{name} *= {by}", value.array * by),
            ("neg_", f"{name}.neg_()", -value.array),
        ][self.number(0, 2)]
        self.wrote(value)
        self.machine.write(call, value, [value], array)
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
        self.machine.write("add_", value, [value, other[1]], value.array + other[1].array)
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
            self.machine.write("fill_", value, [], np.full(value.shape, fill))
            self.add(f"{name}.fill_({fill})")
        else:
            self.machine.touch(value)
            self.machine.write("copy_", value, [other[1]], other[1].array)
            self.add(f"{name}.copy_({other[0]})")

    def masked(self) -> None:
        choice = self.target()
        if choice is None:
            return
        name, value = choice
        keep = value.array > 0
        (mask,) = self.machine.compute("gt", [value], keep)
        self.wrote(value)
        self.machine.write("masked_fill_", value, [value, mask], np.where(keep, -1, value.array))
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
            self.machine.write("setitem", value, [value], np.full(part.shape, 5), place)
            self.add(f"{name}[{index[0]}] = 5")
        else:
            self.machine.write("setitem", value, [value, other[1]], other[1].array, place)
            self.add(f"{name}[{index[0]}] = {other[0]}")

    def assigned_at(self) -> None:
        """Assign to rows that a tensor names: the call counts as the writer of everything."""
        choice = self.pick(lambda value: value.writable and len(value.shape) == 2 and value.cells.size > 0)
        if choice is None:
            return
        name, value = choice
        row = self.number(0, value.shape[0] - 1)
        (index,) = self.machine.compute("tensor", [], np.array([row]))
        array = value.array
        array[row] = 4
        self.wrote(value)
        self.machine.write("setitem", value, [value, index], array)
        self.add(f"{name}[torch.tensor([{row}])] = 4")

    def flagged(self) -> None:
        choice = self.target()
        if choice is not None:
            name, value = choice
            self.wrote(value)
            self.machine.write("relu", value, [value], np.maximum(value.array, 0))
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
        self.machine.write_all("_foreach_add_", [a, b], [a.array + by, b.array + by])
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
        self.machine.write("mul", value, [other[1]], other[1].array * by)
        self.add(f"torch.mul({other[0]}, {by}, out={name})")


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


@st.composite
def programs(draw: Draw, most: int = 14) -> Program:
    """Draw a program of two inputs and two buffers."""
    writer = Writer(draw)
    arrays = [np.arange(1, 5), np.arange(6).reshape(2, 3), np.arange(10, 14), np.ones((2, 3), dtype=np.int64)]
    for k, array in enumerate(arrays[:2]):
        writer.values[f"x{k}"] = writer.machine.source(f"input x{k}", array, lazy=False)
    for k, array in enumerate(arrays[2:]):
        writer.values[f"self.b{k}"] = writer.machine.source(f"buffer b{k}", array, lazy=True, marks=["buffer"])
    for instruction in draw(st.lists(st.sampled_from(INSTRUCTIONS), min_size=3, max_size=most)):
        getattr(writer, instruction)()
    results = [name for name in writer.values if name.startswith("t")] + ["x0"]
    writer.lines.append(f"return [{', '.join(results)}]")
    outputs = tuple(writer.machine.parents(writer.values[name]) for name in results)
    return Program(
        tuple(writer.lines),
        tuple(writer.machine.steps),
        outputs,
        tuple(writer.values[name].array.tolist() for name in results),
        frozenset(writer.features),
        tuple(array.tolist() for array in arrays[:2]),
        tuple(array.tolist() for array in arrays[2:]),
    )
