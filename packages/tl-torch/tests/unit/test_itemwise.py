"""Calls that do the same to every item of lists: each output depends on the items at its own place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from graphs import run
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = torch.arange(1.0, 5.0)


class Runs(nn.Module):
    """A model whose forward is a function of its weight and its input."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.tensor([2.0, 3.0, 5.0, 7.0]))

    def forward(self, x: Tensor) -> object:
        return self.function(self.weight, x)


def added(_: Tensor, x: Tensor) -> object:
    return torch._foreach_add([x.sin(), x.cos()], [x.exp(), x.tanh()])


def by_one_tensor(_: Tensor, x: Tensor) -> object:
    return torch._foreach_mul([x.sin(), x.cos()], x.sum())


def by_numbers(_: Tensor, x: Tensor) -> object:
    return torch._foreach_mul([x.sin(), x.cos()], [2.0, 3.0])


def in_place(_: Tensor, x: Tensor) -> object:
    ys = [x.sin(), x.cos()]
    torch._foreach_mul_(ys, [x.exp(), x.tanh()])
    return ys[0], ys[1]


def in_views(_: Tensor, x: Tensor) -> object:
    y = x.sin()
    torch._foreach_add_([y[:2], y[2:]], [x[:2].exp(), x[2:].tanh()])
    return y[:2] * 2, y[2:] * 2


def of_written(_: Tensor, x: Tensor) -> object:
    y, z = x.sin(), x.cos()
    y[:2].zero_()
    z[2:].fill_(3)
    return torch._foreach_add([y, z], [x, x])


def copied(_: Tensor, x: Tensor) -> object:
    ys = [x.sin(), x.cos()]
    torch._foreach_copy_(ys, [x.exp(), x.tanh()])
    return ys[0], ys[1]


def with_weights(weight: Tensor, x: Tensor) -> object:
    return torch._foreach_addcmul([x.sin(), x.cos()], [weight, x], [x.exp(), x.tanh()], value=0.5)


def norms(_: Tensor, x: Tensor) -> object:
    return torch._foreach_norm([x.sin(), x.cos()])


CASES = {
    added: [("sin", "exp"), ("cos", "tanh")],
    by_one_tensor: [("sin", "sum"), ("cos", "sum")],
    by_numbers: [("sin",), ("cos",)],
    in_place: [("sin", "exp"), ("cos", "tanh")],
    in_views: [("getitem 1", "exp"), ("getitem 2", "tanh")],
    of_written: [("sin", "zero_", "input"), ("cos", "fill_", "input")],
    copied: [("exp",), ("tanh",)],
    with_weights: [("sin", "exp"), ("cos", "input", "tanh")],
    norms: [("sin",), ("cos",)],
}


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_an_output_has_the_parents_of_its_own_items(function: Callable[..., object]) -> None:
    trace = tl.trace(Runs(function), X)
    names = {op.label: op.func_name for op in trace.ops}
    names |= {op.label: f"getitem {number}" for number, op in enumerate(trace.find(tl.func("getitem")), 1)}
    made = [op for op in trace.ops if op.func_name.startswith("_foreach")]
    assert [tuple(names[parent] for parent in op.parents) for op in made] == CASES[function]
    assert len({op.func_call_id for op in made}) == 1
    assert trace.capture_verified


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_validation_replays_the_call_and_holds_each_output_against_its_own_items(
    function: Callable[..., object],
) -> None:
    assert tl.validate(Runs(function), X) is True


def test_items_that_overlap_depend_on_each_other() -> None:
    def forward(x: Tensor) -> Tensor:
        y, z = x.sin(), x.cos()
        torch._foreach_mul_([y[:3], y[1:], z], 2.0)
        return y + z

    trace = run(forward, X)
    made = [op for op in trace.ops if op.func_name.startswith("_foreach")]
    assert len(made) == 3
    assert len({op.parents for op in made}) == 1
    assert len(made[0].parents) == 3
    assert made[0].label in trace["add_1"].ops[0].parents


@pytest.mark.parametrize("function", [added, in_place])
def test_a_parent_too_many_or_too_few_is_found(function: Callable[..., object]) -> None:
    for forge in (lambda op, other: (*op.parents, *other.parents), lambda op, other: op.parents[:1]):
        model = Runs(function)
        trace = tl.trace(model, X)
        first, second = [op._record for op in trace.ops if op.func_name.startswith("_foreach")]
        first.parents = forge(first, second)
        with pytest.warns(tl.TorchLensWarning, match="argument_logging"):
            assert trace.validate_forward_pass(model(X)) is False


@pytest.mark.parametrize("function", [added, in_place, with_weights])
def test_a_loaded_trace_validates(function: Callable[..., object], tmp_path: Path) -> None:
    keep = tl.CaptureOptions(save_args=True, save_rng=True)
    model = Runs(function)
    trace = tl.trace(model, X, capture=keep)
    loaded = tl.load(trace.save(tmp_path / "run.tlspec", level="executable_with_callables"))
    assert [op.parents for op in loaded.ops] == [op.parents for op in trace.ops]
    assert loaded.validate_forward_pass(model(X)) is True


def test_a_mode_of_the_user_still_sees_the_call() -> None:
    seen: list[str] = []

    class Watches(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Watches():
        run(lambda x: torch._foreach_add([x], 1), X)
    assert seen.count("_foreach_add") == 1
