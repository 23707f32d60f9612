"""The many ways of writing: `out=`, assignment, `.data`, buffers, scattered writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F
from graphs import Network, edges, graph, named, run
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

X = torch.arange(4.0)
M = torch.arange(12.0).reshape(3, 4)


def test_setitem_is_an_op_with_the_tensor_before_and_the_value() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[1] = x[0]
        return a + 0

    trace = run(forward, X)
    assert edges(trace) == {
        "input.1": [],
        "mul.1": ["input.1"],
        "getitem.1": ["input.1"],
        "setitem.1": ["mul.1", "getitem.1"],
        "add.1": ["setitem.1"],
        "output.1": ["add.1"],
    }
    op = named(trace)["setitem.1"]
    assert op.is_inplace
    assert op.shape == (4,)
    assert op.out.tolist() == [0, 0, 4, 6]
    assert named(trace)["mul.1"].out.tolist() == [0, 2, 4, 6]


def test_setitem_with_a_number() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[1:3] = 7.0
        return a

    parents = graph(forward, X)
    assert parents["setitem.1"] == ["mul.1"]
    assert parents["output.1"] == ["setitem.1"]


def test_setitem_with_tensors_as_index() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        where = x > 1
        a[where] = -1.0
        return a + 0

    parents = graph(forward, X)
    assert parents["setitem.1"] == ["mul.1", "gt.1"]
    assert parents["add.1"] == ["setitem.1"]


def test_setitem_on_a_view_reaches_the_base() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        row = a[1]
        row[0] = 5.0
        return a[1, :2] + 0, a[2] + 0

    parents = graph(forward, M)
    assert parents["setitem.1"] == ["getitem.1"]
    assert parents["getitem.2"] == ["mul.1", "setitem.1"], "only one of the two elements was written"
    assert parents["getitem.3"] == ["mul.1"]


def test_augmented_assignment_to_an_item() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[:2] += 1
        return a + 0

    parents = graph(forward, X)
    # Python reads the item, adds in place, and assigns the item.
    assert parents["getitem.1"] == ["mul.1"]
    assert parents["add_.1"] == ["getitem.1"]
    assert parents["setitem.1"] == ["mul.1", "add_.1"]
    assert parents["add.1"] == ["setitem.1"]


def test_out_into_a_whole_tensor() -> None:
    def forward(x: Tensor) -> Tensor:
        target = torch.empty(4)
        torch.add(x, 1, out=target)
        return target * 2

    with torch.no_grad():
        parents = graph(forward, X)
    assert parents["add.1"] == ["input.1"]
    assert parents["mul.1"] == ["add.1"]


def test_out_into_a_part() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        target = torch.zeros(8)
        torch.mul(x, 3, out=target[2:6])
        return target * 2, target[6:] + 0

    with torch.no_grad():
        parents = graph(forward, X)
    assert parents["mul.1"] == ["input.1"]
    assert parents["mul.2"] == ["zeros.1", "mul.1"]
    # The view that was only written to leads nowhere and is left out.
    assert parents["getitem.1"] == ["zeros.1"]


def test_out_with_several_tensors() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        values, places = torch.empty(3), torch.empty(3, dtype=torch.long)
        torch.max(x, 1, out=(values, places))
        return values + 0, places + 0

    with torch.no_grad():
        trace = run(forward, M)
    parents = edges(trace)
    assert parents["max.1"] == parents["max.2"] == ["input.1"]
    assert parents["add.1"] == ["max.1"]
    assert parents["add.2"] == ["max.2"]
    assert named(trace)["max.2"].output_index == 1


def test_write_through_data() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        a.data[:2].add_(1)
        return a[2:] + 0, a[:2] + 0

    parents = graph(forward, X)
    written = next(name for name in parents if name.startswith("add_."))
    readers = [name for name in parents if name.startswith("getitem.")]
    assert parents[readers[-2]] == ["mul.1"]
    assert parents[readers[-1]] == [written]


def test_copy_does_not_depend_on_what_was_there() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = torch.zeros(8)
        a[2:6].copy_(x)
        return a + 0, a[2:4] + 0

    parents = graph(forward, X)
    assert parents["copy_.1"] == ["input.1"]
    assert parents["add.1"] == ["zeros.1", "copy_.1"]
    assert parents["getitem.1"] == ["copy_.1"]


def test_scattered_writes() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a.index_put_((torch.tensor([0]),), torch.tensor(9.0))
        a.masked_fill_(a > 5, 1.0)
        a.scatter_(0, torch.tensor([3]), x)
        a.index_add_(0, torch.tensor([1]), x[:1])
        a.index_fill_(0, torch.tensor([2]), 4.0)
        return a + 0

    parents = graph(forward, X)
    assert parents["index_put_.1"] == ["mul.1", "tensor.1", "tensor.2"]
    assert parents["gt.1"] == ["index_put_.1"]
    assert parents["masked_fill_.1"] == ["index_put_.1", "gt.1"]
    assert parents["scatter_.1"] == ["masked_fill_.1", "tensor.3", "input.1"]
    assert parents["index_add_.1"] == ["scatter_.1", "tensor.4", "getitem.1"]
    assert parents["index_fill_.1"] == ["index_add_.1", "tensor.5"]
    assert parents["add.1"] == ["index_fill_.1"]


def test_scattered_write_through_a_view() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        a[0].masked_fill_(torch.tensor([True, False, False, True]), 0.0)
        return a[0] + 0, a[1:] + 0

    parents = graph(forward, M)
    assert parents["getitem.2"] == ["masked_fill_.1"]
    assert parents["getitem.3"] == ["mul.1"]


def test_foreach_writes_each_tensor() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x * 2, x * 3
        torch._foreach_add_([a, b], 1.0)
        return a + 0, b + 0

    with torch.no_grad():
        trace = run(forward, X)
    parents = edges(trace)
    assert parents["add.1"] == ["_foreach_add_.1"]
    assert parents["add.2"] == ["_foreach_add_.2"]
    assert parents["_foreach_add_.1"] == ["mul.1"]
    assert parents["_foreach_add_.2"] == ["mul.2"]
    assert named(trace)["add.2"].out.tolist() == [1, 4, 7, 10]


def test_foreach_copy_does_not_read_what_it_overwrites() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x * 2, x * 3
        torch._foreach_copy_([a], [b])
        torch._foreach_zero_([b])
        return a + 0, b + 0

    with torch.no_grad():
        parents = graph(forward, X)
        assert tl.validate(Network(forward), X)
    assert parents["_foreach_copy_.1"] == ["mul.2"]
    assert parents["_foreach_zero_.1"] == []
    assert parents["add.1"] == ["_foreach_copy_.1"]
    assert parents["add.2"] == ["_foreach_zero_.1"]


class Counter(nn.Module):
    """Reads and writes its buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        self.seen.copy_(x)
        return self.seen * 2


def test_copy_into_a_buffer() -> None:
    model = Counter()
    trace = run(model, X)
    parents = edges(trace)
    assert parents["copy_.1"] == ["input.1"]
    assert parents["mul.1"] == ["copy_.1"]
    assert model.seen.tolist() == [0, 1, 2, 3]


class Memory(nn.Module):
    """Writes half of a buffer through a view."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("slots", torch.zeros(4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.slots[:2].add_(x[:2])
        return self.slots * 1, self.slots[2:] + 0


def test_write_through_a_view_of_a_buffer() -> None:
    trace = run(Memory(), X)
    parents = edges(trace)
    assert parents["getitem.1"] == ["buffer.1"]
    assert parents["add_.1"] == ["getitem.1", "getitem.2"]
    assert parents["mul.1"] == ["buffer.1", "add_.1"]
    assert parents["getitem.3"] == ["buffer.1"]
    assert named(trace)["buffer.1"].address == "function.slots"
    assert named(trace)["buffer.1"].out.tolist() == [0, 0, 0, 0]


def test_statistics_read_after_the_norm_come_from_the_norm() -> None:
    norm = nn.BatchNorm1d(4)

    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = norm

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.norm(x), self.norm.running_mean * 2

    parents = edges(run(Reads().train(), M))
    buffer = parents["mul.1"]
    assert len(buffer) == 1
    assert buffer[0].startswith("buffer.")
    assert parents[buffer[0]] == ["batch_norm.1"]


def test_norm_in_evaluation_writes_nothing() -> None:
    trace = run(nn.BatchNorm1d(4).eval(), M)
    kinds = [op.kind for op in trace.ops]
    assert kinds == ["input", "buffer", "buffer", "op", "output"]


IN_PLACE_BY_FLAG = {
    "relu": lambda x: F.relu(x, inplace=True),
    "relu6": lambda x: F.relu6(x, inplace=True),
    "dropout": lambda x: F.dropout(x, 0.5, True, True),
    "hardtanh": lambda x: F.hardtanh(x, inplace=True),
    "elu": lambda x: F.elu(x, inplace=True),
    "selu": lambda x: F.selu(x, inplace=True),
    "celu": lambda x: F.celu(x, inplace=True),
    "silu": lambda x: F.silu(x, inplace=True),
    "mish": lambda x: F.mish(x, inplace=True),
    "hardswish": lambda x: F.hardswish(x, inplace=True),
    "hardsigmoid": lambda x: F.hardsigmoid(x, inplace=True),
    "leaky_relu": lambda x: F.leaky_relu(x, inplace=True),
    "rrelu": lambda x: F.rrelu(x, inplace=True),
    "threshold": lambda x: F.threshold(x, 0.1, 0.2, inplace=True),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5, True, True),
}


@pytest.mark.parametrize("name", IN_PLACE_BY_FLAG)
def test_functions_that_write_when_asked_to(name: str) -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        IN_PLACE_BY_FLAG[name](a[:1])
        return a * 3, a[1:] + 0

    with torch.no_grad():
        trace = run(forward, M)
    parents = edges(trace)
    (written,) = (key for key, op in named(trace).items() if op.is_inplace)
    assert name.replace("_", "") == named(trace)[written].type
    assert parents[written] == ["getitem.1"]
    assert parents["mul.2"] == ["mul.1", written]
    assert parents["getitem.2"] == ["mul.1"]
    assert trace.capture_verified is True


def test_set_of_data_is_a_write() -> None:
    def forward(x: Tensor) -> Tensor:
        a = torch.zeros(4)
        a.data = x * 2
        return a + 0

    parents = graph(forward, X)
    producer = parents["add.1"]
    assert len(producer) == 1
    assert "mul.1" in (producer[0], *parents[producer[0]])


def test_resize_and_swapped_layouts_keep_their_values() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a.t_()
        a.unsqueeze_(0)
        a.squeeze_(0)
        return a + 0

    with torch.no_grad():
        trace = run(forward, M)
    assert named(trace)["mul.1"].out.shape == (3, 4)
    assert named(trace)["t_.1"].out.shape == (4, 3)
    assert edges(trace)["add.1"] == ["squeeze_.1"]


def test_initialisers_write_the_tensor_that_they_are_given_by_name() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        whole = a.view(-1)
        torch.nn.init.constant_(a, 3.0)
        return whole + 0

    trace = run(forward, X)
    parents = edges(trace)
    assert parents["add.1"] == ["constant_.1"]
    assert parents["constant_.1"] == [], "what was there before has no part in it"
    assert trace.capture_verified


A = torch.ops.aten
STATISTICS = {
    "torch.batch_norm_update_stats": lambda x, mean, var: torch.batch_norm_update_stats(x, mean, var, 0.5),
    "torch._batch_norm_impl_index": lambda x, mean, var: torch._batch_norm_impl_index(
        x, None, None, mean, var, True, 0.5, 0.0, False
    ),
    "aten.batch_norm": lambda x, mean, var: A.batch_norm(x, None, None, mean, var, True, 0.5, 0.0, False),
    "aten.batch_norm.default": lambda x, mean, var: A.batch_norm.default(
        x, None, None, mean, var, True, 0.5, 0.0, False
    ),
    "aten.native_batch_norm": lambda x, mean, var: A.native_batch_norm(x, None, None, mean, var, True, 0.5, 0.0),
    "aten.batch_norm_update_stats": lambda x, mean, var: A.batch_norm_update_stats(x, mean, var, 0.5),
}
"""Operators that write running statistics although their schema does not say so."""


@pytest.mark.parametrize("call", STATISTICS.values(), ids=STATISTICS)
def test_operators_that_update_statistics_unsaid(call: Callable[..., object]) -> None:
    def forward(x: Tensor) -> Tensor:
        mean, var = torch.zeros(2), torch.ones(2)
        call(x, mean, var)
        return mean + 0

    trace = run(forward, torch.tensor([[2.0, 4.0], [4.0, 8.0]]))
    (writer,) = trace.ops["add_1:1"].parents
    assert "batch_norm" in trace.ops[writer].func_name
    assert trace.outputs[0].out.tolist() == [0.5 * 3, 0.5 * 6]


def test_statistics_of_an_exported_network() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]])
    program = torch.export.export(nn.BatchNorm1d(2).train(), (x,)).module()
    model = nn.Sequential(program, program)
    parents = edges(tl.trace(model, x))
    if "batch_norm.2" in parents:
        assert parents["buffer.3"] == ["batch_norm.1"]
        assert parents["batch_norm.2"] == ["batch_norm.1", "buffer.3", "buffer.4"]
    else:  # older releases export a norm that gives new statistics, and a copy
        norm = "_native_batch_norm_legit_functional"
        assert parents["copy_.1"] == [f"{norm}.4"]
        assert parents[f"{norm}.6"] == [f"{norm}.1", "copy_.1", "copy_.2"]
    assert tl.validate(model, x)
