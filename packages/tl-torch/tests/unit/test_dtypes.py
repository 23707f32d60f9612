"""Every dtype, no dimensions, no elements."""

from __future__ import annotations

import pytest
import torch
from graphs import edges, named, run
from leftovers import same_bits
from torch import Tensor

import tl_torch as tl

REAL = ["float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"]
COMPLEX = ["complex64", "complex128"]
ODD = ["float8_e4m3fn", "float8_e5m2", "bool"]


@pytest.mark.parametrize("name", REAL + COMPLEX)
def test_arithmetic(name: str) -> None:
    dtype = getattr(torch, name)
    x = torch.tensor([1, 2, 3]).to(dtype)

    def forward(x: Tensor) -> Tensor:
        y = x + x
        y[1:].mul_(2)
        return y

    trace = run(forward, x)
    assert {op.dtype for op in trace.ops} == {name}
    ops = named(trace)
    assert same_bits(ops["input.1"].out, x)
    assert same_bits(ops["add.1"].out, torch.tensor([2, 4, 6]).to(dtype))
    assert same_bits(ops["mul_.1"].out, torch.tensor([8, 12]).to(dtype))
    assert same_bits(trace[-1].out, torch.tensor([2, 8, 12]).to(dtype))


@pytest.mark.parametrize("name", ODD)
def test_types_that_are_only_moved_about(name: str) -> None:
    dtype = getattr(torch, name)
    x = torch.tensor([0.0, 1.0, 2.0, 0.0]).to(dtype)
    trace = run(lambda x: x.view(2, 2)[1].clone(), x)
    assert {op.dtype for op in trace.ops} == {name}
    assert same_bits(trace[-1].out, torch.tensor([2.0, 0.0]).to(dtype))


def test_changes_of_type() -> None:
    trace = run(lambda x: x.half().to(torch.int32).bool(), torch.tensor([0.0, 1.5]))
    assert [op.dtype for op in trace.ops] == ["float32", "float16", "int32", "bool", "bool"]
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["half", "to", "bool"]
    assert [op.size_bytes for op in trace.ops] == [8, 4, 8, 2, 2]


def test_no_dimensions() -> None:
    trace = run(lambda x: (x * 2).sum() + x.new_tensor(3.0), torch.tensor(1.5))
    assert {op.shape for op in trace.ops} == {()}
    assert trace[-1].out.item() == 6.0


def test_no_elements() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x[:0]
        y.add_(1)
        return torch.cat([y * 2, x])

    x = torch.arange(3.0)
    trace = run(forward, x)
    parents = edges(trace)
    assert named(trace)["mul.1"].shape == (0,)
    assert parents["mul.1"] == ["add_.1"]
    assert parents["cat.1"] == ["mul.1", "input.1"], "an empty write reaches nobody"
    assert trace[-1].out.tolist() == [0, 1, 2]


def test_empty_input() -> None:
    trace = run(lambda x: x @ x.t(), torch.zeros(0, 3))
    assert [op.shape for op in trace.ops] == [(0, 3), (3, 0), (0, 0), (0, 0)]


def test_conjugate_and_negative_views() -> None:
    x = torch.tensor([1 + 2j, 3 - 1j])
    trace = run(lambda x: torch.view_as_real(x.conj().resolve_conj()) + x.imag.unsqueeze(-1), x)
    assert same_bits(named(trace)["conj.1"].out, x.conj().resolve_conj())
    assert trace[-1].out.tolist() == [[3, 0], [2, 0]]


def test_numbers_of_extreme_size() -> None:
    x = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    trace = run(lambda x: x * 1, x)
    assert same_bits(trace[-1].out, x)


def test_int_and_device_of_an_op() -> None:
    trace = run(lambda x: x.argmax(), torch.arange(3))
    op = named(trace)["argmax.1"]
    assert (op.dtype, op.device, op.shape, op.size_bytes) == ("int64", "cpu", (), 8)


def test_channels_last_and_transposed_payloads_keep_their_values() -> None:
    x = torch.arange(16.0).reshape(1, 2, 2, 4).contiguous(memory_format=torch.channels_last)
    trace = run(lambda x: x.transpose(1, 2) + 0, x)
    assert torch.equal(named(trace)["input.1"].out, x)
    assert torch.equal(named(trace)["transpose.1"].out, x.transpose(1, 2))


def test_tensor_subclass_without_a_function_of_its_own() -> None:
    class Marked(Tensor):
        pass

    x = torch.arange(3.0).as_subclass(Marked)
    trace = run(lambda x: x * 2, x)
    assert trace[-1].out.tolist() == [0, 2, 4]


def test_deterministic_labels_of_operators() -> None:
    def forward(x: Tensor) -> Tensor:
        y = 1 + x
        y = 2 - y
        y = 3 * y / 2
        y = y**2 // 1 % 5
        y = -y
        return abs(y) > 1

    names = [op.func_name for op in run(forward, torch.ones(2)).ops if op.kind == "op"]
    assert names[0] == "add"
    assert names[2:4] == ["mul", "div"]
    assert names[4:8] == ["pow", "floor_divide", "remainder", "neg"]
    assert names[8:] == ["abs", "gt"]
    assert isinstance(tl.trace, object)
