"""The test of a `while` loop is compiled twice by some versions of Python, and is one layer."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import tl_torch as tl


class Doubling(nn.Module):
    def forward(self, x):
        while x.sum() < 50:
            x = x * 2
        return x


class Nested(nn.Module):
    def forward(self, x):
        while x.sum() < 40:
            y = torch.ones(2)
            while y.sum() < x.sum():
                y = y + 1
            x = x + y
        return x


def measure(x):
    return x.abs().max()


class Called(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.lin.weight.copy_(torch.eye(2) * 2)

    def forward(self, x):
        while measure(self.lin(x)) < 50 and measure(x) < 100:
            x = self.lin(x)
        return x


def passes(trace):
    return {layer.label: layer.num_passes for layer in trace.layers if not layer.label.startswith(("input", "output"))}


@pytest.mark.parametrize(("start", "rounds"), [(1.0, 5), (20.0, 1), (30.0, 0)])  # the sum of two: 2, 4, 8, 16, 32, 64
def test_every_test_of_a_while_is_a_pass_of_one_layer(start, rounds):
    trace = tl.trace(Doubling(), torch.full((2,), start))
    expected = {"sum_1_1": rounds + 1, "lt_1_2": rounds + 1}
    assert passes(trace) == (expected | {"mul_1_3": rounds} if rounds else expected)
    assert [op.label for op in trace.ops][1:3] == ["sum_1_1:1", "lt_1_2:1"]


def test_a_while_in_a_while():
    trace = tl.trace(Nested(), torch.ones(2))
    # x sums to 2: y is 1, 1 and not below; x sums to 4: y grows to 2, 2; then to 8: to 4, 4; then to 16, 32 likewise
    rounds, inner = 5, 0 + 1 + 3 + 7 + 15
    assert passes(trace) == {
        "sum_1_1": rounds + 1,
        "lt_1_2": rounds + 1,
        "ones_1_3": rounds,
        "sum_2_4": inner + rounds,
        "sum_3_5": inner + rounds,
        "lt_2_6": inner + rounds,
        "add_1_7": rounds,
        "add_2_8": inner,
    }


def test_functions_and_modules_called_in_the_test_of_a_while():
    trace = tl.trace(Called(), torch.ones(2))
    names = {}
    for layer in trace.layers:
        names.setdefault(layer.label.split("_")[0], []).append(layer.num_passes)
    # 2 and 1, 4 and 2, 8 and 4, 16 and 8, 32 and 16, then 64: five rounds and a half
    assert names["linear"] == [11]
    assert sorted(names["abs"]) == sorted(names["max"]) == [5, 6]
    assert sorted(names["lt"]) == [5, 6]


def test_one_record_a_call_is_kept_apart():
    options = tl.CaptureOptions(recurrence_detection=False)
    trace = tl.trace(Doubling(), torch.ones(2), capture=options)
    assert set(passes(trace).values()) == {1}
