"""Memory that changes its size while the model runs, or after: a kept value must not stand in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.arange(6.0).reshape(2, 3)


class Runs(nn.Module):
    def __init__(self, function: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> object:
        return self.function(x)


def filled_by_out(x: Tensor) -> Tensor:
    return torch.add(x, 1, out=torch.empty(0))


def filled_by_several(x: Tensor) -> Tensor:
    values, places = torch.empty(0), torch.empty(0, dtype=torch.long)
    torch.max(x, 1, out=(values, places))
    return values + places


def filled_by_an_operator(x: Tensor) -> Tensor:
    return torch.ops.aten.add.out(x, torch.ones(()), out=torch.empty(0))


def grown(x: Tensor) -> Tensor:
    y = x * 2
    y.resize_(4, 3)
    return y.fill_(5)


def grown_by_an_operator(x: Tensor) -> Tensor:
    y = x * 2
    torch.ops.aten.resize_(y, [4, 3])
    return y.fill_(5)


def grown_like_another(x: Tensor) -> Tensor:
    y = x * 2
    y.resize_as_(torch.ones(4, 3))
    return y.fill_(5)


def grown_by_a_product(x: Tensor) -> Tensor:
    y = x.mean().reshape(1) * 2  # 2.5 * 2
    return y.addbmm_(torch.ones(2, 4, 1), torch.ones(2, 1, 3))


FIVES = torch.full((4, 3), 5.0)
CASES = {
    filled_by_out: X + 1,
    filled_by_several: torch.tensor([2.0, 5.0]) + 2,
    filled_by_an_operator: X + 1,
    grown: FIVES,
    grown_by_an_operator: FIVES,
    grown_like_another: FIVES,
    grown_by_a_product: FIVES + 2,
}


@pytest.mark.parametrize("function", CASES, ids=lambda function: function.__name__)
def test_memory_that_a_call_gives_another_size(function: Callable[[Tensor], Tensor]) -> None:
    with torch.no_grad():
        trace = tl.trace(Runs(function), X)
    assert torch.equal(trace.outputs[0].out, CASES[function])
    if "mul_1_1" in [layer.label for layer in trace.layers]:
        assert torch.equal(trace["mul_1_1"].out, X * 2)


@pytest.mark.parametrize("function", [grown, grown_by_an_operator, grown_like_another])
def test_memory_of_the_only_value_that_is_kept(function: Callable[[Tensor], Tensor]) -> None:
    with torch.no_grad():
        trace = tl.trace(Runs(function), X, save=tl.func("mul"))
    assert torch.equal(trace["mul_1_1"].out, X * 2)
    assert trace.outputs[0].shape == (4, 3)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_an_output_of_another_size_is_resized_as_torch_does() -> None:
    def forward(x: Tensor) -> Tensor:
        y = torch.ones(2)
        torch.mul(x, 2, out=y)
        return y

    with torch.no_grad():
        trace = tl.trace(Runs(forward), X, capture=tl.CaptureOptions(keep_orphans=True))
    assert torch.equal(trace["ones_1"].out, torch.ones(2))
    assert torch.equal(trace.outputs[0].out, X * 2)


def test_memory_that_the_model_made_and_fills_again_later() -> None:
    """A plain run after the trace gives the same tensor another size."""

    class Collects(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows: Tensor | None = None

        def forward(self, x: Tensor) -> Tensor:
            if self.rows is None:
                self.rows = torch.empty(0)
            return torch.cat([x, x], out=self.rows.resize_(0))

    model = Collects()
    with torch.no_grad():
        trace = tl.trace(model, X)
        model(torch.cat([X, X]))
        assert model.rows is not None
        assert model.rows.shape == (8, 3)
        assert torch.equal(trace.outputs[0].out, torch.cat([X, X]))
        del trace
        model(torch.cat([X, X, X]))
        assert model.rows.shape == (12, 3)
