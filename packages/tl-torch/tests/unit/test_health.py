"""find_nan, compare, dead units and input shapes on torch models."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

import tl_torch as tl
from tl_core import ArgumentTypeError


class Diverges(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.log = nn.Linear(2, 2, bias=False), Logarithm()
        nn.init.eye_(self.first.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.log(self.first(x)))


class Logarithm(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.log()


def test_the_first_nan_with_its_module_and_line() -> None:
    found = tl.find_nan(Diverges(), torch.tensor([[1.0, -1.0]]))
    assert (found.found, found.kind, found.label, found.module_address) == (True, "nan", "log_1_2:1", "log")
    line = Logarithm.forward.__code__.co_firstlineno + 1
    assert found.source_line == f"test_health.py:{line}"
    assert found.message == f"The first NaN appears in log_1_2:1: log in log (test_health.py:{line}); 5 values checked."
    assert not tl.trace(Diverges(), torch.ones(1, 2)).find_nan()


def test_runs_in_two_dtypes_and_of_two_weights() -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 2)), torch.randn(3, 4)
    run = tl.trace(model, x)
    assert tl.compare(run, tl.trace(copy.deepcopy(model).to(torch.bfloat16), x.to(torch.bfloat16)))
    model[2].bias.data[1] += 1.0
    found = tl.compare(run, tl.trace(model, x))
    assert found.first is not None
    assert found.first.func_name == "linear"
    assert found.first.label_a == found.first.label_b == "linear_2_3:1"
    assert torch.equal(found.first.value_a, run["linear_2_3"].ops[0].out)


def test_dead_channels() -> None:
    model = nn.Sequential(nn.Conv2d(1, 3, 1), nn.ReLU())
    nn.init.constant_(model[0].weight, 1.0)
    model[0].bias.data = torch.tensor([0.0, -9.0, 1.0])
    rows = tl.dead_neurons(tl.trace(model, torch.rand(2, 1, 4, 4)), dim=1)
    assert [(row.op_label, row.module, row.dead_count, row.sample_dead_idx) for row in rows] == [
        ("conv2d_1_1:1", "0", 0, ()), ("relu_1_2:1", "1", 1, (1,)),
    ]  # fmt: skip
    frame = rows.to_pandas()
    assert list(frame["dead_count"]) == [0, 1]
    assert list(frame.columns) == [
        "op_label", "func_name", "module", "total_units", "dead_count", "dead_frac", "sample_dead_idx", "reason",
    ]  # fmt: skip


SHAPES: dict[str, tuple[nn.Module, tuple[int, ...], str, tuple[int, ...]]] = {
    "convolution": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), (1, 3, 224, 224), "convolution", (0, 2, 3)),
    "convolution and flatten": (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 30 * 30, 2)), (1, 3, 32, 32), "convolution", (0,)
    ),
    "recurrent": (nn.LSTM(5, 3, batch_first=True), (1, 16, 5), "recurrent", (0, 1)),
    "linear": (nn.Sequential(nn.Linear(7, 2), nn.ReLU()), (1, 7), "linear", (0,)),
    "embedding": (nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 2)), (1, 16), "embedding", (0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_input_shapes(name: str) -> None:
    model, shape, strategy, flexible = SHAPES[name]
    state = {key: value.clone() for key, value in model.state_dict().items()}
    found = tl.infer_input_shape(model)
    assert (found.found, found.shape, found.strategy, found.flexible_dims) == (True, shape, strategy, flexible)
    assert model(found.example_input) is not None
    assert model.training
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    assert (found.value_range == (0.0, 8.0)) is (name == "embedding")


def test_no_input_shape() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.layer(x + y)

    found = tl.infer_input_shape(Two(), max_attempts=20)
    assert (found.found, found.shape, found.example_input) == (False, None, None)
    assert 0 < found.attempts <= 20
    other: Any = 3
    with pytest.raises(ArgumentTypeError, match=r"infer_input_shape takes an nn\.Module, and was given an int"):
        tl.infer_input_shape(other)
