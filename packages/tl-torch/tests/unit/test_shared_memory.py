"""Tensors of the model that show the same memory: a write into one reaches the readers of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.tensor([1.0, 1.0])


class Shared(nn.Module):
    """`part` and `rest` show the halves of `whole`, which holds 0, 1, 2, 3."""

    whole: Tensor
    part: Tensor
    rest: Tensor

    def __init__(self, registered: bool, run: Callable[[Shared, Tensor], Tensor]) -> None:
        super().__init__()
        whole = torch.arange(4.0)
        self.register_buffer("whole", whole)
        if registered:
            self.register_buffer("part", whole[:2])
            self.register_buffer("rest", whole[2:])
        else:
            self.part, self.rest = whole[:2], whole[2:]
        self.weight = nn.Parameter(torch.ones(2))
        self.data = self.weight.data
        self.run = run

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self, x)


def first_half(model: Shared, x: Tensor) -> Tensor:
    model.whole[:2] += x
    return model.part * 2 + model.rest


def named(trace: tl.Trace, address: str) -> tl.Op:
    return next(op for op in trace.ops if op.address == address)


@pytest.mark.parametrize("registered", [True, False])
def test_a_tensor_first_read_after_a_write_through_another_one_depends_on_the_write(registered: bool) -> None:
    trace = tl.trace(Shared(registered, first_half), X)
    assert list(named(trace, "part").parents) == ["setitem_1_3:1"]
    assert list(named(trace, "rest").parents) == []  # the other half, which nobody wrote
    assert named(trace, "part").out.tolist() == [1.0, 2.0]
    assert trace.ops[-1].out.tolist() == [4.0, 7.0]
    assert trace.capture_verified
    assert tl.validate(Shared(registered, first_half), X)


def write_whole_only(model: Shared, x: Tensor) -> Tensor:
    model.whole.add_(x.sum())
    return x + 1


def write_both(model: Shared, x: Tensor) -> Tensor:
    model.part.add_(x)
    model.whole.mul_(2.0)
    return model.part + x


def read_write_read(model: Shared, x: Tensor) -> Tensor:
    before = model.part * 1
    model.whole[1] = 5.0
    return before + model.part


def write_parameter(model: Shared, x: Tensor) -> Tensor:
    with torch.no_grad():
        model.weight.add_(x)
    return model.data * 2


def write_data(model: Shared, x: Tensor) -> Tensor:
    model.data.mul_(3.0)
    return model.weight * x


@pytest.mark.parametrize("registered", [True, False])
@pytest.mark.parametrize(
    ("run", "parents", "value"),
    [
        (write_whole_only, ["input_1:1"], [2.0, 2.0]),
        (write_both, ["mul_1_2:1", "input_1:1"], [3.0, 5.0]),
        (read_write_read, ["mul_1_1:1", "{part}", "setitem_1_2:1"], [0.0, 6.0]),
        (write_parameter, ["{data}"], [4.0, 4.0]),
        (write_data, ["mul_1_1:1", "input_1:1"], [3.0, 3.0]),
    ],
)
def test_every_order_of_writes_and_reads_is_followed_and_explained(
    registered: bool, run: Callable[[Shared, Tensor], Tensor], parents: list[str], value: list[float]
) -> None:
    trace = tl.trace(Shared(registered, run), X)
    (made,) = trace.ops[-1].parents
    labels = {op.address: op.label for op in trace.ops if op.kind in {"buffer", "constant"}}
    assert list(trace[made].parents) == [label.format_map(labels) for label in parents]
    assert trace.ops[-1].out.tolist() == value
    assert trace.capture_verified
    assert tl.validate(Shared(registered, run), X)


def test_a_buffer_that_shares_memory_and_differs_from_the_plain_forward_is_still_found() -> None:
    """The recorded run adds 2 where the plain one added 1: no write explains that."""
    runs: list[int] = []

    def drift(model: Shared, x: Tensor) -> Tensor:
        runs.append(1)
        model.whole.add_(float(len(runs)))
        return x + 1

    with pytest.warns(tl.TorchLensWarning, match="the plain forward gave another value: 2 of 2 elements differ"):
        assert not tl.validate(Shared(True, drift), X)
