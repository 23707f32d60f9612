"""Gradients on and off, inference mode, autocast, checkpointing, training."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from graphs import edges, named, run
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import tl_torch as tl

X = torch.randn(2, 4)


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))


def test_gradients_on() -> None:
    model = perceptron()
    trace = tl.trace(model, X)
    op = named(trace)["linear.1"]
    assert op.autograd.requires_grad
    assert op.autograd.grad_fn == "AddmmBackward0"
    assert op.out.requires_grad
    assert all(parameter.grad is None for parameter in model.parameters())


def test_payloads_can_be_differentiated() -> None:
    model = perceptron()
    trace = tl.trace(model, X)
    (gradient,) = torch.autograd.grad(trace[-1].out.sum(), model[2].bias)
    assert gradient.item() == 2


def test_detached_payloads_keep_no_graph() -> None:
    options = tl.CaptureOptions(detach_saved_activations=True)
    trace = tl.trace(perceptron(), X, capture=options)
    assert not any(op.out.requires_grad for op in trace.ops)
    assert named(trace)["linear.1"].autograd.requires_grad


def test_gradients_off() -> None:
    with torch.no_grad():
        trace = tl.trace(perceptron(), X)
    op = named(trace)["linear.1"]
    assert not op.autograd.requires_grad
    assert op.autograd.grad_fn is None


class Mixed(nn.Module):
    """Nodes of several kinds: of a leaf made on the way, a view, a write into it, and a write without gradients."""

    def forward(self, x: Tensor) -> Tensor:
        leaf = torch.ones(4, requires_grad=True)
        h = (x * leaf).view(-1)
        h.add_(1)
        with torch.no_grad():
            h.mul_(2)
        return h.relu()


@pytest.mark.parametrize("save_mode", ["copy", "reference"])
def test_names_of_autograd_nodes(save_mode: Literal["copy", "reference"]) -> None:
    trace = tl.trace(Mixed(), X, save_mode=save_mode)
    names = [(op.func_name, op.autograd.grad_fn) for op in trace.ops if op.kind == "op"]
    assert names == [
        ("ones", None),
        ("mul", "MulBackward0"),
        ("view", "ViewBackward0"),
        ("add_", "AsStridedBackward0"),  # torch makes a view anew from its base that was written
        ("mul_", "AsStridedBackward0"),
        ("relu", "ReluBackward0"),
    ]


def test_inference_only() -> None:
    trace = tl.trace(perceptron(), X, capture=tl.CaptureOptions(inference_only=True))
    assert not any(op.out.requires_grad for op in trace.ops)
    assert torch.is_grad_enabled()


def test_inference_mode() -> None:
    model = perceptron()
    with torch.inference_mode():
        trace = tl.trace(model, X)
        expected = model(X)
    assert torch.equal(trace[-1].out, expected)
    assert trace.capture_verified is True


def test_switching_gradients_inside_the_forward() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        with torch.no_grad():
            b = a * 3
        with torch.enable_grad():
            return a + b.detach()

    trace = run(forward, X.clone().requires_grad_())
    requires = {name: op.autograd.requires_grad for name, op in named(trace).items()}
    assert requires["mul.1"]
    assert not requires["mul.2"]
    assert requires["add.1"]
    assert edges(trace)["detach.1"] == ["mul.2"]


def test_autocast() -> None:
    model = perceptron()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        trace = tl.trace(model, X)
        expected = model(X)
    ops = named(trace)
    assert ops["linear.1"].dtype == "bfloat16"
    assert ops["input.1"].dtype == "float32"
    assert torch.equal(trace[-1].out, expected)
    assert edges(trace)["relu.1"] == ["linear.1"]


@pytest.mark.filterwarnings("ignore:`torch.cpu.amp.autocast:FutureWarning")  # torch 2.4 about itself
def test_checkpointed_block() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = perceptron()

        def forward(self, x: Tensor) -> Tensor:
            return checkpoint(self.block, x * 2, use_reentrant=False) + 1

    model = Model()
    trace = tl.trace(model, X)
    assert edges(trace) == {
        "input.1": [],
        "mul.1": ["input.1"],
        "linear.1": ["mul.1"],
        "relu.1": ["linear.1"],
        "linear.2": ["relu.1"],
        "add.1": ["linear.2"],
        "output.1": ["add.1"],
    }
    assert named(trace)["relu.1"].module == "block.1"
    trace[-1].out.sum().backward()
    assert model.block[2].bias.grad.item() == 2
    assert len(named(trace)) == 7, "the second run of the block belongs to the backward pass"


def test_reentrant_checkpoint() -> None:
    block = perceptron()
    trace = run(lambda x: checkpoint(block, x, use_reentrant=True), X.clone().requires_grad_())
    names = [op.func_name for op in trace.ops if op.kind == "op"]
    assert names[:3] == ["linear", "relu", "linear"]
    assert torch.equal(trace[-1].out, block(X))


def test_backward_inside_the_forward() -> None:
    def forward(x: Tensor) -> Tensor:
        with torch.enable_grad():
            energy = (x * x).sum()
            (gradient,) = torch.autograd.grad(energy, x)
        return x - gradient

    trace = run(forward, X.clone().requires_grad_())
    parents = edges(trace)
    ops = named(trace)
    (boundary,) = (name for name in ops if ops[name].transform_kind == "autograd.grad")
    assert set(parents[boundary]) == {"sum.1", "input.1"}
    assert parents["sub.1"] == ["input.1", boundary]
    assert torch.allclose(trace[-1].out, -X)


def test_autograd_function_shows_what_it_calls() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(context: object, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(context: object, gradient: Tensor) -> Tensor:
            return gradient * 2

    trace = run(lambda x: Double.apply(x) + 1, X.clone().requires_grad_())
    assert "mul.1" in edges(trace)
    assert torch.allclose(trace[-1].out, X * 2 + 1)
    (parent,) = edges(trace)["add.1"]
    assert torch.allclose(named(trace)[parent].out, X * 2)


def test_training_mode_dropout_draws_the_same_numbers() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 4), nn.Dropout(0.3)).train()
    torch.manual_seed(3)
    expected = model(X)
    after = torch.get_rng_state()
    torch.manual_seed(3)
    trace = tl.trace(model, X)
    assert torch.equal(trace[-1].out, expected)
    assert torch.equal(torch.get_rng_state(), after)


def test_user_function_mode_stays_in_force() -> None:
    from torch.overrides import TorchFunctionMode

    class Count(TorchFunctionMode):
        calls = 0

        def __torch_function__(
            self, function: object, types: object, args: tuple = (), kwargs: dict | None = None
        ) -> object:
            if function is torch.tanh:
                Count.calls += 1
            return function(*args, **(kwargs or {}))

    with Count():
        trace = run(lambda x: torch.tanh(x), X)
    assert Count.calls == 1
    assert "tanh.1" in named(trace)


def test_default_device_context() -> None:
    with torch.device("cpu"):
        trace = run(lambda x: x + torch.ones(4), X)
    assert edges(trace)["add.1"] == ["input.1", "ones.1"]


@pytest.mark.filterwarnings("ignore::tl_torch.TorchLensWarning")
def test_compiled_model_is_traced_as_its_source() -> None:
    model = perceptron()
    trace = tl.trace(torch.compile(model, backend="eager"), X)
    assert edges(trace) == edges(tl.trace(model, X))
    assert trace.model_class_name == "Sequential"
