"""Multiply-adds against `torch.utils.flop_counter`, which counts below the dispatcher, on real modules."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import torch
import torch.nn.functional as F
from recorded_call import CostMode
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from tl_torch._contraction import einsum_work

if TYPE_CHECKING:
    from collections.abc import Callable

r = torch.randn


@pytest.fixture(autouse=True)
def counter_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter imports torch's compiler, which puts a function of its own in the place of this one."""
    monkeypatch.setattr(torch, "manual_seed", torch.manual_seed)


def counted(run: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


def modelled(run: Callable[[], object]) -> tuple[int, list[str]]:
    with CostMode() as mode:
        run()
    return 2 * mode.macs, mode.unknown


MODULES: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "linear": (nn.Linear(3, 5), (r(4, 3),)),
    "linear, no bias": (nn.Linear(3, 5, bias=False), (r(2, 4, 3),)),
    "conv1d": (nn.Conv1d(4, 6, 3, stride=2, padding=1), (r(2, 4, 11),)),
    "conv1d without batch": (nn.Conv1d(4, 6, 3), (r(4, 11),)),
    "conv2d": (nn.Conv2d(4, 6, (3, 2), dilation=2), (r(2, 4, 9, 9),)),
    "conv2d, groups": (nn.Conv2d(4, 6, 3, groups=2, padding="same"), (r(2, 4, 9, 9),)),
    "conv2d, depthwise": (nn.Conv2d(4, 8, 3, groups=4), (r(2, 4, 9, 9),)),
    "conv2d, circular padding": (nn.Conv2d(4, 8, 3, padding=1, padding_mode="circular"), (r(2, 4, 9, 9),)),
    "conv3d": (nn.Conv3d(2, 3, 2, stride=2), (r(1, 2, 4, 6, 8),)),
    "conv3d, groups": (nn.Conv3d(2, 4, 2, groups=2, dilation=2), (r(1, 2, 4, 6, 8),)),
    "conv_transpose1d": (nn.ConvTranspose1d(4, 6, 3, stride=2), (r(2, 4, 7),)),
    "conv_transpose2d": (nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), (r(2, 4, 5, 5),)),
    "conv_transpose2d, groups": (nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2), (r(2, 4, 5, 5),)),
    "conv_transpose3d": (nn.ConvTranspose3d(2, 3, 2), (r(1, 2, 3, 4, 5),)),
    "gru cell": (nn.GRUCell(3, 5), (r(2, 3),)),
    "lstm cell": (nn.LSTMCell(3, 5), (r(2, 3),)),
    "rnn cell": (nn.RNNCell(3, 5, nonlinearity="relu"), (r(2, 3),)),
    "rnn": (nn.RNN(3, 5, num_layers=2, batch_first=True), (r(2, 7, 3),)),
    "gru": (nn.GRU(3, 5, num_layers=2, bidirectional=True), (r(7, 2, 3),)),
    "gru without batch": (nn.GRU(3, 5), (r(7, 3),)),
    "lstm": (nn.LSTM(3, 5, num_layers=2, bidirectional=True, batch_first=True), (r(2, 7, 3),)),
    "lstm, no bias": (nn.LSTM(3, 5, bias=False), (r(7, 2, 3),)),
    "lstm with projection": (nn.LSTM(3, 5, num_layers=2, proj_size=2), (r(7, 2, 3),)),
    "elementwise": (nn.Sequential(nn.BatchNorm1d(4), nn.ReLU(), nn.AvgPool1d(2), nn.Softmax(1)), (r(2, 4, 6),)),
}


@pytest.mark.filterwarnings("ignore:TF32 acceleration:UserWarning", "ignore:LSTM with projections:UserWarning")
@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    module, inputs = MODULES[name]
    # oneDNN runs an LSTM as one kernel, for which the counter has no answer.
    with torch.backends.mkldnn.flags(enabled=False):
        expected = counted(lambda: module(*inputs))
        assert modelled(lambda: module(*inputs)) == (expected, [])
    assert (expected > 0) == (name != "elementwise")


FUNCTIONS: dict[str, Callable[[], object]] = {
    "mm": lambda: torch.mm(r(2, 3), r(3, 5)),
    "bmm": lambda: torch.bmm(r(7, 2, 3), r(7, 3, 5)),
    "matmul of matrices": lambda: r(7, 2, 3) @ r(3, 5),
    "matmul, broadcast": lambda: r(7, 1, 2, 3) @ r(4, 3, 5),
    "vector by matrix": lambda: r(3) @ r(3, 5),
    "vector by matrices": lambda: r(3) @ r(7, 3, 5),
    "addmm": lambda: torch.addmm(r(5), r(2, 3), r(3, 5), beta=2),
    "baddbmm": lambda: torch.baddbmm(r(7, 2, 5), r(7, 2, 3), r(7, 3, 5)),
    "inner": lambda: torch.inner(r(2, 3), r(5, 3)),
    "multi_dot": lambda: torch.linalg.multi_dot([r(2, 3), r(3, 5), r(5, 7), r(7, 1)]),
    "matrix_power": lambda: torch.matrix_power(r(3, 3), 7),
    "cov": lambda: torch.cov(r(3, 7)),
    "attention": lambda: F.scaled_dot_product_attention(r(2, 3, 4, 8), r(2, 3, 6, 8), r(2, 3, 6, 8)),
    "causal attention": lambda: F.scaled_dot_product_attention(*r(3, 2, 3, 4, 8), is_causal=True),
    "attention with a mask": lambda: F.scaled_dot_product_attention(*r(3, 2, 3, 4, 8), attn_mask=r(4, 4)),
    "attention with gradients": lambda: F.scaled_dot_product_attention(*r(3, 2, 3, 4, 8, requires_grad=True)),
    "attention by products": lambda: F.scaled_dot_product_attention(r(2, 3, 4, 8), r(2, 3, 6, 8), r(2, 3, 6, 10)),
    "into a buffer": lambda: torch.mm(r(2, 3), r(3, 5), out=torch.empty(2, 5)),
}


KNOWS_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu in flop_registry


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    if "attention" in name and not KNOWS_ATTENTION:
        pytest.skip("this torch's counter does not know the attention kernel of CPUs")
    expected = counted(FUNCTIONS[name])
    assert expected > 0
    assert modelled(FUNCTIONS[name]) == (expected, [])


@pytest.mark.parametrize("seed", range(4))
def test_einsum_of_random_equations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.opt_einsum, "enabled", False)
    chance = random.Random(seed)
    nonzero = 0
    for _ in range(50):
        size = {letter: chance.choice([1, 2, 3, 4]) for letter in "abcde"}
        terms = ["".join(chance.sample("abcde", chance.randint(1, 4))) for _ in range(chance.randint(1, 4))]
        used = sorted(set("".join(terms)))
        equation = ",".join(terms) + "->" + "".join(chance.sample(used, chance.randint(0, len(used))))
        shapes = [tuple(size[letter] for letter in term) for term in terms]
        expected = counted(lambda equation=equation, shapes=shapes: torch.einsum(equation, *map(torch.ones, shapes)))
        assert 2 * einsum_work(equation, shapes).macs == expected, (equation, shapes)
        nonzero += expected > 0
    assert nonzero >= 15
