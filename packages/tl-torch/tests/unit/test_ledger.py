"""Memory is known by the identity of its storage; a tensor that was given other memory is found out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from graphs import edges, named, run
from torch import Tensor, nn
from torch.utils.dlpack import from_dlpack

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


class LetsGo(nn.Module):
    """Lets go of each of its buffers, so that what those held is free for a tensor that no call of torch is seen to make."""

    def __init__(self) -> None:
        super().__init__()
        for at in range(20):
            self.register_buffer(f"b{at}", torch.full((16,), float(at)))

    def forward(self, x: Tensor) -> Tensor:
        for at in range(20):
            x = x + getattr(self, f"b{at}")
            setattr(self, f"b{at}", None)
            x = x * from_dlpack(np.full(16, 2.0, np.float32))
        return x


def test_memory_of_buffers_that_are_gone() -> None:
    trace = tl.trace(LetsGo(), torch.ones(16), save="none")
    parents = edges(trace)
    for number in range(1, 21):
        before = f"mul.{number - 1}" if number > 1 else "input.1"
        assert parents[f"add.{number}"] == [before, f"buffer.{number}"]
        assert parents[f"mul.{number}"] == [f"add.{number}", f"constant.{number}"]
    assert [gap.reason for gap in trace.gaps] == ["unseen_source"] * 20


def test_a_view_outlives_the_tensor_of_the_model_that_it_was_made_of() -> None:
    """What holds the memory of a buffer may be a view of it alone; it is the buffer's memory all the same."""

    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("state", torch.arange(16.0))

        def forward(self, x: Tensor) -> Tensor:
            view = self.state[4:8]
            self.state = x
            for _ in range(20):
                x = x + 1
            view.add_(x[:4])
            return view[2:] * 2

    trace = tl.trace(Keeps(), torch.zeros(16))
    parents, ops = edges(trace), named(trace)
    assert parents["getitem.1"] == ["buffer.1"]
    assert parents["add_.1"] == ["getitem.1", "getitem.2"]
    assert parents["getitem.3"] == ["add_.1"]
    assert ops["mul.1"].out.tolist() == [2 * (6.0 + 20), 2 * (7.0 + 20)]
    assert trace.capture_verified
