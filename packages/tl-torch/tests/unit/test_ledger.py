"""Memory is known by the identity of its storage; a tensor that was given other memory is found out."""

from __future__ import annotations

import pytest
import torch
from graphs import edges, named, run
from torch import Tensor, nn

import tl_torch as tl


class Redirected(nn.Module):
    """Gives its parameter other memory, so that the old one is free for the tensors that come after."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(16))
        self.how = how

    def forward(self, x: Tensor) -> Tensor:
        h = x * self.weight
        with torch.no_grad():
            other = torch.full((16,), 2.0)
            if self.how == "data":
                self.weight.data = other
            else:
                self.weight.set_(other)
        for _ in range(50):
            h = h + 1
            h.neg_()
        return h * self.weight


@pytest.mark.parametrize(("how", "maker"), [("data", "set_data.1"), ("set_", "full.1")])
def test_a_parameter_with_other_memory(how: str, maker: str) -> None:
    with torch.no_grad():
        trace = tl.trace(Redirected(how), torch.ones(16))
    parents, ops = edges(trace), named(trace)
    assert parents["mul.2"] == ["neg_.50", maker]
    for number in range(1, 51):
        before = f"neg_.{number - 1}" if number > 1 else "mul.1"
        assert parents[f"add.{number}"] == [before]
        assert parents[f"neg_.{number}"] == [f"add.{number}"]
        assert ops[f"add.{number}"].params == ()
    assert torch.equal(ops["mul.2"].out, torch.full((16,), 2.0))  # an even number of sign changes of 1 + 1, ... + 1
    assert [gap.reason for gap in trace.gaps] == ([] if how == "data" else ["unseen_write"])


def test_a_tensor_with_the_memory_of_an_op() -> None:
    def forward(x: Tensor) -> Tensor:
        a = torch.zeros(4)
        a.set_(x * 2)
        a.add_(1)
        return a + 0

    trace = run(forward, torch.ones(4))
    assert edges(trace)["add_.1"] == ["mul.1"]
    assert edges(trace)["add.1"] == ["add_.1"]
    assert [gap.reason for gap in trace.gaps] == ["unseen_write"]
    assert trace.capture_verified is False


def test_a_tensor_with_memory_of_unknown_origin() -> None:
    unknown = torch.full((4,), 3.0)

    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a.set_(unknown.untyped_storage(), 0, (4,), (1,))
        return a + 0

    trace = run(forward, torch.ones(4))
    (source,) = edges(trace)["add.1"]
    assert named(trace)[source].kind == "constant"
    assert torch.equal(named(trace)[source].out, torch.full((4,), 3.0))
    assert [gap.reason for gap in trace.gaps] == ["unseen_write"]
