"""Functions of torch that were taken before the trace, wherever they are held: one forward, no warning, nothing moved."""

from __future__ import annotations

import warnings
from collections import namedtuple
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn, relu

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])
GLOBAL = torch.tanh
Pair = namedtuple("Pair", ["first", "second"])


class Holder:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


class Listing(list):  # type: ignore[type-arg]
    """A builtin's subclass."""


class Calls(nn.Module):
    """Holds something, and calls the function that is in it."""

    def __init__(self, held: Any, take: Callable[[Any], Callable[..., Tensor]]) -> None:
        super().__init__()
        self.held = held
        self.take = take
        self.runs = 0

    def forward(self, x: Tensor) -> Tensor:
        self.runs += 1
        return self.take(self.held)(x) + 1


def closes_over(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x: function(x)


def defaults_to(x: Tensor, function: Callable[..., Tensor] = torch.tanh) -> Tensor:
    return function(x)


PLACES: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "attribute": (torch.tanh, lambda held: held),
    "partial": (partial(torch.tanh), lambda held: held),
    "closure": (closes_over(torch.tanh), lambda held: held),
    "default argument": (defaults_to, lambda held: held),
    "list": ([torch.tanh], lambda held: held[0]),
    "dict value": ({"a": torch.tanh}, lambda held: held["a"]),
    "tuple": ((0, torch.tanh), lambda held: held[1]),
    "namedtuple": (Pair(0, torch.tanh), lambda held: held.second),
    "nested": ([{"a": (torch.tanh,)}], lambda held: held[0]["a"][0]),
    "module global": (None, lambda _: GLOBAL),
    "object": (Holder(torch.tanh), lambda held: held.function),
    "dict key": ({torch.tanh: 1}, lambda held: next(iter(held))),
    "subclass of a builtin": (Listing([torch.tanh]), lambda held: held[0]),
    "method of tensors": (torch.Tensor.tanh, lambda held: held),
    "operator": (torch.ops.aten.tanh, lambda held: held),
}


@pytest.mark.parametrize("place", PLACES)
def test_function_is_seen_wherever_it_is_held(place: str) -> None:
    held, take = PLACES[place]
    model = Calls(held, take)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = tl.trace(model, X)
    assert [op.func_name for op in trace.ops] == ["input", "tanh", "add", "output"]
    assert (trace.capture_verified, trace.capture_verification_reason) == (True, "provenance_complete")
    assert model.runs == 1
    assert model.held is held
    assert take(model.held) is take(held)
    assert torch.equal(trace.outputs[0].out, torch.tanh(X) + 1)


def test_forward_assigned_on_the_instance() -> None:
    model = nn.Identity()
    model.forward = relu
    trace = tl.trace(model, X)
    assert [op.func_name for op in trace.ops] == ["input", "relu", "output"]
    assert trace.capture_verified
    assert vars(model)["forward"] is relu


def test_python_function_of_torch_is_one_op_under_its_own_name() -> None:
    activation = F.gelu
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, activation=activation).eval()
    trace = tl.trace(layer, torch.randn(1, 3, 4))
    assert [op.func_name for op in trace.ops].count("gelu") == 1
    assert layer.activation is activation


def test_shadow_detector_is_content_with_partials_and_recursion() -> None:
    doubled = partial(torch.mul, other=2)

    def deep(x: Tensor, count: int) -> Tensor:
        return relu(x) if count == 0 else deep(doubled(x), count - 1)

    class Deep(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return deep(x, 3)

    options = tl.CaptureOptions(escape_detector="shadow", completeness_witness=True)
    trace = tl.trace(Deep(), X, capture=options)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["mul", "mul", "mul", "relu"]
    assert trace.escape_diagnostics == ()
    assert trace.capture_verification_reason == "dispatch_witness_verified"
