"""Quantized tensors and modules, and modules that prepare for them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn
from torch.ao.nn import quantized

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor, torch.quantize_per_channel")
X = torch.arange(8.0).reshape(2, 4) / 8


class Runs(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def per_tensor(x: Tensor) -> Tensor:
    return torch.quantize_per_tensor(x, 0.125, 3, torch.quint8)


def per_channel(x: Tensor) -> Tensor:
    return torch.quantize_per_channel(x, torch.tensor([0.125, 0.25]), torch.tensor([0, 1]), 0, torch.qint8)


@pytest.mark.parametrize("quantize", [per_tensor, per_channel])
def test_a_quantized_value_keeps_its_scale(quantize: Callable[[Tensor], Tensor]) -> None:
    trace = tl.trace(Runs(lambda x: quantize(x).dequantize()), X)
    kept = next(op.out for op in trace.ops if op.func_name.startswith("quantize"))
    expected = quantize(X)
    assert kept.qscheme() == expected.qscheme()
    assert torch.equal(kept.int_repr(), expected.int_repr())
    assert torch.equal(kept.dequantize(), expected.dequantize())


def test_a_forward_on_quantized_tensors_validates() -> None:
    assert tl.validate(Runs(lambda x: torch.relu(per_tensor(x)).dequantize()), X) is True


def watched(x: Tensor, low: Tensor, high: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    on = torch.ones(1, dtype=torch.long)
    return torch.fused_moving_avg_obs_fake_quant(x, on, on, low, high, scale, zero, 0.5, -128, 127, 0, True, True)


class Observes(nn.Module):
    """As training for quantization does: what it has seen lies in buffers that begin empty."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("low", torch.empty(0))
        self.register_buffer("high", torch.empty(0))
        self.register_buffer("scale", torch.ones(2))
        self.register_buffer("zero", torch.zeros(2, dtype=torch.int))

    def forward(self, x: Tensor) -> Tensor:
        return watched(x, self.low, self.high, self.scale, self.zero) * self.scale[:, None]


def test_observed_ranges_are_writes() -> None:
    model = Observes()
    trace = tl.trace(model, X)
    assert torch.equal(model.low, torch.tensor([0.0, 4.0]) / 8)
    assert torch.equal(model.high, torch.tensor([3.0, 7.0]) / 8)
    read = trace["getitem_1"].ops[0]
    assert any("fusedmovingavgobsfakequant_1" in label for label in read.ancestors())
    assert trace.capture_verified is True


def test_validate_puts_buffers_back_that_the_forward_gave_another_size() -> None:
    model = Observes()
    held = {name: (value, value.clone()) for name, value in model.named_buffers()}
    assert tl.validate(model, X) is True
    for name, (value, before) in held.items():
        assert getattr(model, name) is value
        assert value.shape == before.shape
        assert torch.equal(value, before)


def test_validate_puts_parameters_back_that_the_forward_gave_another_type() -> None:
    class Casts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            self.double()
            self.linear.weight.data = self.linear.weight.data[:2]
            self.linear.bias.data = self.linear.bias.data[:2]
            return self.linear(x.double())

    model = Casts()
    weight, before = model.linear.weight, model.linear.weight.detach().clone()
    address = weight.data_ptr()
    assert tl.validate(model, X) is True
    assert model.linear.weight is weight
    assert (weight.dtype, weight.data_ptr()) == (torch.float32, address)
    assert torch.equal(weight, before)


def test_modules_that_hold_the_place_of_quantized_ones_are_none() -> None:
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.add = quantized.FloatFunctional()

        def forward(self, x: Tensor) -> Tensor:
            return self.add.add(x, x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = tl.trace(Adds(), X)
    assert torch.equal(trace.outputs[0].out, X + X)


def test_a_quantized_value_that_torch_cannot_copy_is_not_kept() -> None:
    def with_real_zero_points(x: Tensor) -> Tensor:
        return torch.quantize_per_channel(x, scales, zeros, 0, torch.quint8).dequantize()

    scales, zeros = torch.full((2,), 0.125), torch.zeros(2)
    trace = tl.trace(Runs(with_real_zero_points), X)
    assert torch.equal(trace.outputs[0].out, X)
    kept = next(op for op in trace.ops if op.func_name == "quantize_per_channel")
    assert (kept.out, str(kept.payload)) == (None, "<payload: not saved, the framework cannot copy it>")
    with pytest.warns(tl.TorchLensWarning, match="value_missing x2"):
        assert not tl.validate(Runs(with_real_zero_points), X)
