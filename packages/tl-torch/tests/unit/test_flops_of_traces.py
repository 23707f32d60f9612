"""Work of whole traces against `torch.utils.flop_counter`."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, flop_registry

import tl_torch as tl

r = torch.randn


@pytest.fixture(autouse=True)
def counter_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter imports torch's compiler, which puts a function of its own in the place of this one."""
    monkeypatch.setattr(torch, "manual_seed", torch.manual_seed)


class Mixed(nn.Module):
    """Convolution, normalisation, attention, recurrence and an einsum in one forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, groups=1), nn.BatchNorm2d(8), nn.ReLU6())
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.cell = nn.GRUCell(8, 8)
        self.weight = nn.Parameter(r(8, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.convolution(x).flatten(2).transpose(1, 2)
        x, _ = self.attention(x, x, x, need_weights=False)
        h = torch.zeros(x.shape[0], 8)
        for step in range(x.shape[1]):
            h = self.cell(x[:, step], h)
        return torch.softmax(torch.einsum("bi,ij->bj", h, self.weight), -1)


MODELS = {
    "mixed": (Mixed(), (r(2, 3, 8, 8),)),
    "attention": (nn.MultiheadAttention(8, 2), (r(4, 2, 8), r(6, 2, 8), r(6, 2, 8))),
    "encoder layer": (nn.TransformerEncoderLayer(8, 2, 16), (r(4, 2, 8),)),
    "decoder layer": (nn.TransformerDecoderLayer(8, 2, 16), (r(4, 2, 8), r(6, 2, 8))),
    "recurrent layers": (nn.GRU(3, 5, num_layers=2, bidirectional=True), (r(7, 2, 3),)),
    "autoencoder": (
        nn.Sequential(nn.Conv1d(2, 4, 3, stride=2), nn.GELU(), nn.ConvTranspose1d(4, 2, 3, stride=2)),
        (r(2, 2, 11),),
    ),
}


KNOWS_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu in flop_registry


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", MODELS)
def test_multiply_adds_of_a_run(name: str, training: bool) -> None:
    if name in {"mixed", "encoder layer", "decoder layer"} and not KNOWS_ATTENTION:
        pytest.skip("this torch's counter does not know the attention kernel of CPUs")
    model, inputs = MODELS[name]
    model.train(training)
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # fused encoder kernels, for which the counter has no answer
    try:
        with FlopCounterMode(display=False) as counter:
            model(*inputs)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
    trace = tl.trace(model, inputs)
    assert dict(trace.cost.unknown_operators) == {}
    assert 2 * trace.cost.macs == counter.get_total_flops() > 0
    assert trace.cost.flops >= 2 * trace.cost.macs


def test_a_batch_norm_in_training_costs_more_than_in_evaluation() -> None:
    model = nn.BatchNorm1d(4)
    x = r(2, 4, 5)
    # 40 elements at 8, 4 channels at 2, 8 running statistics at 3; the counter of batches leads nowhere
    assert tl.trace(model.train(), x).cost.flops == 320 + 8 + 24
    assert tl.trace(model.eval(), x).cost.flops == 80 + 20


class Median(nn.Module):
    """A linear layer and two calls of a function that has no formula."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        return torch.median(x) + torch.median(x * 2)


def test_unknown_operators_are_listed_and_add_nothing() -> None:
    cost = tl.trace(Median(), r(2, 3)).cost
    assert dict(cost.unknown_operators) == {"median": 2}
    # linear 2 * 30, product 10, sum 1
    assert cost.flops == 71
