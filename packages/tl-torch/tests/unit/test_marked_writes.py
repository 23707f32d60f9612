"""Functions of the user's own that write into their arguments and say so: a write that was seen needs no excuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.arange(6.0).reshape(2, 3)


class Runs(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Marks(torch.autograd.Function):
    """Marks its argument, and then writes."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        context.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        return gradient


class Writes(Marks):
    """Writes twice, and then marks, outside its forward."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        x.mul_(2)
        return doubled(x)

    @staticmethod
    def setup_context(context: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        context.mark_dirty(*inputs)


def doubled(x: Tensor) -> Tensor:
    return x.mul_(2)


class WritesUnseen(Marks):
    """Writes through NumPy."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        array = x.numpy()
        array += 1
        context.mark_dirty(x)
        return x


class WritesNothing(Marks):
    """Says that it writes, and does not."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        context.mark_dirty(x)
        return x


def by(function: Any) -> Callable[[Tensor], Tensor]:
    def forward(x: Tensor) -> Tensor:
        y = x * 1
        function.apply(y)
        return y + y

    return forward


def several(x: Tensor) -> Tensor:
    y = x * 1
    for _ in range(2):
        Marks.apply(Writes.apply(y))
    return y + 0


def of_a_view(x: Tensor) -> Tensor:
    y = x * 1
    Writes.apply(y[0])
    return y + 0


CASES = {
    "marks": (by(Marks), (X + 1) * 2),
    "writes": (by(Writes), X * 8),
    "several": (several, (X * 4 + 1) * 4 + 1),
    "of_a_view": (of_a_view, X * torch.tensor([[4.0], [1.0]])),
}


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_a_marked_write_that_was_seen(case: str, gradients: bool) -> None:
    forward, expected = CASES[case]
    with torch.set_grad_enabled(gradients):
        trace = tl.trace(Runs(forward), X.clone().requires_grad_(gradients))
        assert torch.equal(trace.outputs[0].out, expected)
        assert (trace.capture_verified, trace.gaps) == (True, ())
        assert tl.validate(Runs(forward), X) is True


@pytest.mark.parametrize("function", [WritesUnseen, WritesNothing])
def test_a_marked_write_that_was_not_seen(function: Any) -> None:
    with torch.no_grad():
        trace = tl.trace(Runs(by(function)), X)
    assert trace.capture_verified is False
    assert "unseen_write" in {gap.reason for gap in trace.gaps}


def test_an_earlier_write_explains_no_later_mark() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 1
        Marks.apply(y)
        z = y + 0
        WritesNothing.apply(y)
        return z + y

    trace = tl.trace(Runs(forward), X)
    assert [gap.reason for gap in trace.gaps] == ["unseen_write"]
