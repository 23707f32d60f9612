"""Values that became Python: conditionals, numbers; and the line of the user's source."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import pytest
import torch
from graphs import named, run
from torch import Tensor, nn

import tl_core
import tl_torch as tl

X = torch.ones(2)


def line_of(function: object, text: str) -> int:
    """Return the line number of the first line of `function` that holds `text`."""
    lines, start = inspect.getsourcelines(function)
    return start + next(k for k, line in enumerate(lines) if text in line)


def reading(forward: object, *inputs: Tensor) -> object:
    """Trace without minding the warning about values that became Python numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl_core.TorchLensWarning)
        return run(forward, *inputs)


def branches(x: Tensor) -> Tensor:
    if x.sum() > 1:
        x = x * 2
        return x + 1
    return (x - 2) + 1


@pytest.mark.parametrize(("scale", "taken", "value"), [(1, "mul", True), (0, "sub", False)])
def test_if_on_a_tensor(scale: int, taken: str, value: bool) -> None:
    trace = reading(branches, X * scale)
    names = [op.func_name for op in trace.ops if op.kind == "op"]
    assert names == ["sum", "gt", taken, "add"]
    (conditional,) = trace.conditionals
    assert conditional.op == named(trace)["gt.1"].label
    assert conditional.value is value
    assert conditional.kind == "if"
    assert conditional.source.line == line_of(branches, "if x.sum()")
    assert conditional.source.file == Path(__file__).name


def loops(x: Tensor) -> Tensor:
    while x.sum() < 10:
        x = x * 2
    return x


def test_while_on_a_tensor() -> None:
    trace = reading(loops, X)
    assert [conditional.value for conditional in trace.conditionals] == [True, True, True, False]
    assert {conditional.kind for conditional in trace.conditionals} == {"while"}
    assert {conditional.source.line for conditional in trace.conditionals} == {line_of(loops, "while")}


def asserts(x: Tensor) -> Tensor:
    assert (x > 0).all(), "all are positive"
    return x * 2


def test_assert_on_a_tensor() -> None:
    trace = reading(asserts, X)
    (conditional,) = trace.conditionals
    assert (conditional.kind, conditional.value) == ("assert", True)
    assert conditional.op == named(trace)["all.1"].label


def chooses(x: Tensor) -> Tensor:
    return x * 2 if x.sum() > 5 else x - 1


def test_conditional_expression() -> None:
    trace = reading(chooses, X)
    (conditional,) = trace.conditionals
    assert conditional.value is False
    assert [op.func_name for op in trace.ops if op.kind == "op"][-1] == "sub"


def numbers(x: Tensor) -> Tensor:
    scale = x.sum().item()
    power = int(x[0])
    return x * scale**power + float(x[1]) + x.max().tolist()


def test_numbers_read_from_tensors_are_reads() -> None:
    trace = reading(numbers, X)
    kinds = [read.kind for read in trace.reads]
    assert kinds == ["item", "int", "float", "list"]
    assert [read.value for read in trace.reads][:3] == [2.0, 1, 1.0]
    assert len(trace.conditionals) == 0


def test_shape_reads_are_neither_ops_nor_reads() -> None:
    def forward(x: Tensor) -> Tensor:
        if x.shape[0] == 2 and x.dim() == 1 and x.numel() > 1 and x.is_floating_point():
            return x.view(x.size(0), -1)
        return x

    trace = run(forward, X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["view"]
    assert len(trace.reads) == 0
    assert len(trace.conditionals) == 0


class Located(nn.Module):
    """Ops at known lines, in two functions."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.linear(x)
        return self.tail(hidden)

    def tail(self, x: Tensor) -> Tensor:
        return torch.tanh(x) * 2


def test_source_line_of_an_op() -> None:
    trace = tl.trace(Located(), X)
    ops = named(trace)
    file = Path(__file__).name
    source = ops["tanh.1"].source
    assert (source.file, source.line, source.function) == (
        file,
        line_of(Located.tail, "torch.tanh"),
        "tail",
    )
    source = ops["linear.1"].source
    assert (source.file, source.line, source.function) == (
        file,
        line_of(Located.forward, "self.linear(x)"),
        "forward",
    )
    assert ops["input.1"].source is None


def test_stack_of_an_op_goes_up_to_the_forward() -> None:
    trace = tl.trace(Located(), X)
    stack = [(frame.function, frame.line) for frame in named(trace)["mul.1"].source.stack]
    assert stack[0] == ("tail", line_of(Located.tail, "torch.tanh"))
    assert stack[1] == ("forward", line_of(Located.forward, "self.tail"))
    assert all(not function.startswith("test_") for function, _ in stack), "it ends at the model"


def test_read_of_a_parameter() -> None:
    class Gate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gate = nn.Parameter(torch.ones(()))

        def forward(self, x: Tensor) -> Tensor:
            return x * 2 if self.gate > 0 else x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl_core.TorchLensWarning)
        trace = tl.trace(Gate(), X)
    (conditional,) = trace.conditionals
    assert conditional.value is True


def test_warning_tells_how_many_numbers_were_read_and_where_first() -> None:
    with pytest.warns(tl_core.ScalarEscapeWarning) as caught:
        run(numbers, X)
    (warning,) = caught
    assert warning.message.code == "scalar_escape"
    text = str(warning.message)
    assert "4" in text or "3" in text
    assert f"{Path(__file__).name}:{line_of(numbers, '.item()')}" in text
