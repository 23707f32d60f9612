"""Hooks of the user: what a module hands out is what its caller receives."""

from __future__ import annotations

import pytest
import torch
from graphs import edges, named
from leftovers import ModelState
from torch import Tensor, nn

import tl_torch as tl

X = torch.ones(2)


class Tripled(nn.Module):
    """Multiplies by three."""

    def forward(self, x: Tensor) -> Tensor:
        return x * 3


class Outer(nn.Module):
    """Adds one to what its part hands out."""

    def __init__(self) -> None:
        super().__init__()
        self.part = Tripled()

    def forward(self, x: Tensor) -> Tensor:
        return self.part(x) + 1


def test_hook_that_replaces_the_output() -> None:
    model = Outer()
    model.part.register_forward_hook(lambda module, args, output: output * 10)
    trace = tl.trace(model, X)
    assert edges(trace) == {
        "input.1": [],
        "mul.1": ["input.1"],
        "mul.2": ["mul.1"],
        "add.1": ["mul.2"],
        "output.1": ["add.1"],
    }
    ops = named(trace)
    (call,) = trace.modules["part"].calls
    assert call.outputs == (ops["mul.2"],)
    assert ops["mul.2"].out.tolist() == [30, 30]
    assert ops["mul.2"].module == "part"
    assert ops["add.1"].module == ""


def test_pre_hook_that_replaces_the_input() -> None:
    model = Outer()
    model.part.register_forward_pre_hook(lambda module, args: (args[0] - 5,))
    trace = tl.trace(model, X)
    assert edges(trace)["mul.1"] == ["sub.1"]
    assert trace[-1].out.tolist() == [-11, -11]


@pytest.mark.filterwarnings("ignore::tl_torch.ScalarEscapeWarning")
def test_hooks_with_keywords_and_several_in_a_row() -> None:
    order: list[str] = []
    model = Outer()

    def first(module: nn.Module, args: object, kwargs: object, output: Tensor) -> Tensor:
        order.append("first")
        return output + 100

    def second(module: nn.Module, args: object, output: Tensor) -> None:
        order.append(f"second saw {output[0].item()}")

    model.part.register_forward_hook(first, with_kwargs=True)
    model.part.register_forward_hook(second)
    trace = tl.trace(model, X)
    assert order == ["first", "second saw 103.0"]
    (call,) = trace.modules["part"].calls
    assert [op.func_name for op in call.outputs] == ["add"]
    assert trace[-1].out.tolist() == [104, 104]


def test_order_of_hooks_is_that_of_a_plain_forward() -> None:
    def log_into(log: list[str]) -> nn.Module:
        model = Outer()
        for name, module in (("outer", model), ("part", model.part)):
            module.register_forward_pre_hook(lambda m, a, name=name: log.append(f"{name} pre"))
            module.register_forward_hook(lambda m, a, o, name=name: log.append(f"{name} post"))
            module.register_forward_hook(lambda m, a, o, name=name: log.append(f"{name} always"), always_call=True)
        return model

    plain: list[str] = []
    log_into(plain)(X)
    traced: list[str] = []
    tl.trace(log_into(traced), X)
    assert (
        traced
        == plain
        == [
            "outer pre",
            "part pre",
            "part post",
            "part always",
            "outer post",
            "outer always",
        ]
    )


def test_hooks_stay_and_nothing_is_added() -> None:
    model = Outer()
    handle = model.part.register_forward_hook(lambda module, args, output: output * 10)
    before = ModelState.of(model)
    order = list(model.part._forward_hooks)
    tl.trace(model, X)
    assert ModelState.of(model).differences(before) == []
    assert list(model.part._forward_hooks) == order
    handle.remove()
    assert model(X).tolist() == [4, 4]


def test_hook_on_the_model_itself_changes_its_output() -> None:
    model = Outer()
    model.register_forward_hook(lambda module, args, output: {"value": output * 2})
    trace = tl.trace(model, X)
    assert trace[-1].io_role == "output.value"
    assert trace[-1].out.tolist() == [8, 8]
    assert edges(trace)["output.1"] == ["mul.2"]


def test_hook_that_writes_the_output_in_place() -> None:
    model = Outer()
    model.part.register_forward_hook(lambda module, args, output: output.mul_(10) and None)
    with pytest.raises(RuntimeError, match="ambiguous"):
        model(X)
    model = Outer()

    def double(module: nn.Module, args: object, output: Tensor) -> None:
        output.mul_(10)

    model.part.register_forward_hook(double)
    trace = tl.trace(model, X)
    assert edges(trace)["add.1"] == ["mul_.1"]
    assert named(trace)["mul.1"].out.tolist() == [3, 3]
    assert trace[-1].out.tolist() == [31, 31]


def test_hook_that_raises() -> None:
    model = Outer()

    def refuse(module: nn.Module, args: object, output: Tensor) -> None:
        raise KeyError("hook")

    model.part.register_forward_hook(refuse)
    before = ModelState.of(model)
    with pytest.raises(KeyError, match="hook") as caught:
        tl.trace(model, X)
    assert ModelState.of(model).differences(before) == []
    assert named(caught.value.partial_trace)["mul.1"].out.tolist() == [3, 3]


def test_hook_that_is_always_called_runs_when_the_module_raises() -> None:
    calls: list[str] = []

    class Raises(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise ValueError("inside")

    model = nn.Sequential(Tripled(), Raises())
    model[1].register_forward_hook(lambda *arguments: calls.append("called"), always_call=True)
    with pytest.raises(ValueError, match="inside"):
        tl.trace(model, X)
    assert calls == ["called"]


def test_hook_added_during_the_run_survives() -> None:
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = Tripled()

        def forward(self, x: Tensor) -> Tensor:
            self.handle = self.part.register_forward_hook(lambda m, a, o: o + 1)
            return self.part(x)

    model = Adds()
    trace = tl.trace(model, X)
    assert trace[-1].out.tolist() == [4, 4]
    assert len(model.part._forward_hooks) == 1
    model.handle.remove()
    assert len(model.part._forward_hooks) == 0


def test_backward_hooks_still_fire() -> None:
    seen: list[str] = []
    model = nn.Sequential(nn.Linear(2, 2))
    model[0].register_full_backward_hook(lambda *arguments: seen.append("module"))
    trace = tl.trace(model, torch.ones(1, 2, requires_grad=True))
    assert trace[-1].shape == (1, 2)
    model(torch.ones(1, 2, requires_grad=True)).sum().backward()
    assert seen == ["module"]
