"""Backward passes inside the forward: what they leave in `.grad` has a producer.

With `y = x * w`, the gradient of `sum(y * y)` is `2 * x * x * w` for `w` and `2 * x * w * w` for `x`.
"""

from __future__ import annotations

import pytest
import torch
from graphs import edges, named, run
from torch import Tensor, nn

import tl_torch as tl
from tl_core import TorchLensWarning

X = torch.tensor([1.0, 2.0, 3.0])
W = [2.0, 1.0, -1.0]


class Scale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor(W))


class Reads(Scale):
    """Reads the gradient that a pass has left in its parameter."""

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.w
        (y * y).sum().backward()
        return self.w.grad + x


def test_gradient_comes_from_the_pass() -> None:
    trace = tl.trace(Reads(), X)
    assert edges(trace) == {
        "input.1": [], "mul.1": ["input.1"], "mul.2": ["mul.1"], "sum.1": ["mul.2"], "backward.1": ["sum.1"],
        "add.1": ["backward.1", "input.1"], "output.1": ["add.1"],
    }  # fmt: skip
    backward = named(trace)["backward.1"]
    assert backward.out.tolist() == [2 * 1 * 1 * 2, 2 * 2 * 2 * 1, 2 * 3 * 3 * -1]
    assert (backward.params, backward.transform_kind) == (("w",), "autograd.backward")
    assert trace.capture_verified


def test_validation_takes_the_gradient_again_and_leaves_none_behind() -> None:
    model = Reads()
    assert tl.validate(model, X)
    assert model.w.grad is None
    before = model.w.grad = torch.ones(3)
    with pytest.warns(TorchLensWarning, match="accumulated_gradient x1"):
        assert not tl.validate(model, X)
    assert model.w.grad is before
    assert before.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "backward",
    [
        lambda total: total.backward(),
        torch.autograd.backward,
        lambda total: torch.autograd.backward([total], [torch.tensor(1.0)]),
    ],
)
def test_every_way_to_ask_for_a_pass(backward: object) -> None:
    def forward(x: Tensor) -> Tensor:
        w = torch.tensor(W, requires_grad=True)
        backward((x * w).square().sum())
        return w.grad * 1

    trace = run(forward, X)
    assert "sum.1" in edges(trace)["backward.1"]
    assert "tensor.1" in edges(trace)["backward.1"]
    assert edges(trace)["mul.2"] == ["backward.1"]
    assert named(trace)["mul.2"].out.tolist() == [4, 8, -18]
    assert trace.capture_verified


def test_second_pass_adds_to_the_first() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        w = torch.tensor(W, requires_grad=True)
        (x * w).sum().backward()
        first = w.grad + 0
        (x * w * 2).sum().backward()
        return first, w.grad * 1

    trace = run(forward, X)
    parents = edges(trace)
    assert parents["add.1"] == ["backward.1"]
    assert parents["backward.2"] == ["sum.2", "tensor.1", "backward.1"]
    assert parents["mul.4"] == ["backward.2"]
    assert [op.out.tolist() for op in trace.outputs] == [[1, 2, 3], [3, 6, 9]]
    assert trace.capture_verified


def test_gradient_from_before_the_run_is_read_by_the_pass() -> None:
    model = Reads()
    model.w.grad = torch.ones(3)
    trace = tl.trace(model, X)
    assert edges(trace)["backward.1"] == ["sum.1", "grad.1"]
    assert named(trace)["grad.1"].out.tolist() == [1, 1, 1]
    assert named(trace)["backward.1"].out.tolist() == [5, 9, -17]


def test_retained_and_asked_for_gradients() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.detach().requires_grad_()
        y = x * 3
        y.retain_grad()
        y.square().sum().backward()
        z = x * 5
        torch.autograd.backward([z.sum()], inputs=[x])
        return y.grad * 1, x.grad * 1

    trace = run(forward, X)
    parents = edges(trace)
    assert parents["backward.1"] == parents["backward.2"] == ["sum.1", "detach.1", "mul.1"]
    weight = ["ones_like.1"] if "ones_like.1" in parents else []  # which older releases make in sight
    assert parents["backward.3"] == ["sum.2", "detach.1", *weight, "backward.1"]
    assert [op.out.tolist() for op in trace.outputs] == [[6, 12, 18], [18 + 5, 36 + 5, 54 + 5]]


def test_training_step_inside_the_forward() -> None:
    def forward(x: Tensor) -> Tensor:
        w = torch.tensor(W, requires_grad=True)
        for _ in range(2):
            (x * w).sum().backward()
            with torch.no_grad():
                w -= 0.5 * w.grad
            w.grad = None
        return x * w

    trace = run(forward, X)
    parents = edges(trace)
    assert parents["mul.2"] == ["backward.1"]
    assert parents["sub_.1"] == ["tensor.1", "mul.2"]
    assert parents["mul.3"] == ["input.1", "sub_.1"]
    assert trace.outputs[0].out.tolist() == [1 * (2 - 1), 2 * (1 - 2), 3 * (-1 - 3)]
    assert trace.capture_verified


def test_gradient_that_was_assigned_is_the_value_assigned() -> None:
    def forward(x: Tensor) -> Tensor:
        w = torch.tensor(W, requires_grad=True)
        w.grad = x * 2
        return w.grad + 1

    assert edges(run(forward, X))["add.1"] == ["mul.1"]


def test_engine_is_put_back() -> None:
    before = vars(torch.autograd)["_engine_run_backward"]
    during: list[object] = []

    def forward(x: Tensor) -> Tensor:
        during.append(vars(torch.autograd)["_engine_run_backward"])
        return x + 1

    run(forward, X)
    assert during[0] is not before
    assert vars(torch.autograd)["_engine_run_backward"] is before


def test_pass_that_raises_is_the_models_own_exception() -> None:
    def forward(x: Tensor) -> Tensor:
        w = torch.tensor(W, requires_grad=True)
        y = (x * w).sum()
        y.backward()
        y.backward()
        return x

    with pytest.raises(RuntimeError, match="a second time") as caught:
        run(forward, X)
    assert [op.func_name for op in caught.value.partial_trace.ops][-1] == "backward"
