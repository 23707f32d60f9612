"""Call sites: which frames of the user stand over an op, with and without code of the user inside torch's own layers."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

X = torch.linspace(-1, 1, 8).reshape(2, 4)


def functions(trace: tl.Trace, func_name: str) -> list[str]:
    """Names of the functions over the first op of a name, innermost first."""
    op = next(op for op in trace.ops if op.func_name == func_name)
    return [frame.function for frame in op.source.stack]


def line_here() -> int:
    """Line of the call."""
    return sys._getframe(1).f_lineno


class Outer(nn.Module):
    """A layer of torch's own inside two functions of the user."""

    line = 0

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.between(x)

    def between(self, x: Tensor) -> Tensor:
        Outer.line = line_here() + 1
        return self.layer(x)


@pytest.mark.parametrize("layer", [nn.Linear(4, 4), nn.ReLU(), nn.Softmax(dim=1), nn.Dropout(0.5), nn.LayerNorm(4)])
def test_a_layer_of_torch_stands_where_it_is_called(layer: nn.Module) -> None:
    trace = tl.trace(Outer(layer).eval(), X)
    op = trace.ops[1]
    assert [frame.function for frame in op.source.stack] == ["between", "forward"]
    assert op.source.line == Outer.line


def test_the_sites_of_two_calls_differ() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            x = self.act(x)
            self.lines = [line_here() - 1, line_here() + 1]
            return self.act(x)

    model = Twice()
    trace = tl.trace(model, X)
    assert [op.source.line for op in trace.ops if op.func_name == "relu"] == model.lines


def hook(_module: nn.Module, _given: Any, output: Tensor) -> Tensor:
    """A forward hook of the user."""
    return output.sigmoid()


def pre_hook(_module: nn.Module, given: tuple[Tensor]) -> Tensor:
    """A forward pre-hook of the user."""
    return given[0].sigmoid()


@pytest.mark.parametrize(
    ("register", "name"),
    [
        (lambda layer: layer.register_forward_hook(hook), "hook"),
        (lambda layer: layer.register_forward_pre_hook(pre_hook), "pre_hook"),
        (lambda _layer: nn.modules.module.register_module_forward_hook(hook), "hook"),
        (lambda _layer: nn.modules.module.register_module_forward_pre_hook(pre_hook), "pre_hook"),
    ],
)
def test_a_hook_on_a_layer_of_torch_stands_in_the_site(register: Callable[[nn.Module], Any], name: str) -> None:
    layer = nn.Linear(4, 4)
    handle = register(layer)
    try:
        trace = tl.trace(Outer(layer), X)
    finally:
        handle.remove()
    stacks = [[frame.function for frame in op.source.stack] for op in trace.ops if op.func_name == "sigmoid"]
    assert [name, "between", "forward"] in stacks


def test_a_forward_of_the_user_on_a_layer_of_torch_stands_in_the_site() -> None:
    layer = nn.Linear(4, 4)
    plain = layer.forward

    def instead(x: Tensor) -> Tensor:
        return plain(x).sigmoid()

    layer.forward = instead
    trace = tl.trace(Outer(layer), X)
    assert functions(trace, "sigmoid") == ["instead", "between", "forward"]
    assert functions(trace, "linear") == ["instead", "between", "forward"]


def test_a_function_that_a_layer_of_torch_holds_stands_in_the_site() -> None:
    def distance(a: Tensor, b: Tensor) -> Tensor:
        return (a - b).abs().sum(1)

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.loss = nn.TripletMarginWithDistanceLoss(distance_function=distance)

        def forward(self, x: Tensor) -> Tensor:
            return self.loss(x, x + 1, x + 2)

    assert functions(tl.trace(Loss(), X), "abs") == ["distance", "forward"]


def test_a_forward_that_calls_itself_stands_twice_in_the_site() -> None:
    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.Tanh()

        def forward(self, x: Tensor, depth: int = 2) -> Tensor:
            return self.forward(x, depth - 1) if depth else self.act(x)

    assert functions(tl.trace(Nested(), X), "tanh") == ["forward", "forward", "forward"]
