"""Memory that the user shares with NumPy, DLPack or another process stays shared after a trace."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

ALIASES = {
    "numpy": lambda tensor: tensor.numpy(),
    "numpy of a view": lambda tensor: tensor.view(-1).numpy(),
    "array": np.asarray,
    "dlpack": torch.from_dlpack,
    "numpy dlpack": np.from_dlpack,
    "view": lambda tensor: tensor.view(tensor.shape),
    "data": lambda tensor: tensor.data,
    "storage": lambda tensor: torch.empty(0).set_(tensor.untyped_storage(), 0, tensor.shape),
}


class Views(nn.Module):
    """Every way of handing out views of its state."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))
        self.register_buffer("table", torch.ones(2, 2))
        self.held = torch.ones(2, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        parts = (self.weight.t(), self.weight[:1], self.table.view(-1), self.held[1:], x[0], x.contiguous())
        return *parts, self.weight, self.table, self.held, x


def agree(alias: object, tensor: Tensor) -> bool:
    return np.asarray(alias).reshape(-1).tolist() == tensor.reshape(-1).tolist()


@pytest.mark.parametrize("mode", ["copy", "reference", "view"])
@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_taken_before_the_trace_stay_aliases(alias: str, mode: str) -> None:
    model, x = Views(), torch.ones(2, 2)
    owners = [model.weight.detach(), model.table, model.held, x]
    aliases = [ALIASES[alias](owner) for owner in owners]
    with torch.no_grad():
        trace = tl.trace(model, x, save_mode=mode)
        for k, owner in enumerate([model.weight, model.table, model.held, x]):
            owner.add_(k + 1)
    for k, (owner, other) in enumerate(zip(owners, aliases, strict=True)):
        assert owner.reshape(-1).tolist() == [k + 2.0] * 4
        assert agree(other, owner), k
    if not isinstance(aliases[0], np.ndarray) or aliases[0].flags.writeable:  # NumPy 1 reads DLPack only
        for other in aliases:
            other[:] = 9
        for owner in owners:
            assert owner.reshape(-1).tolist() == [9.0] * 4
    if mode == "copy":
        assert all(op.out.eq(1).all() for op in trace.ops)


def test_numpy_array_behind_an_input_stays_behind_it() -> None:
    array = np.ones((2, 2), dtype=np.float32)
    x = torch.from_numpy(array)
    with torch.no_grad():
        tl.trace(Views(), x)
        x.add_(1)
    assert array.tolist() == [[2, 2], [2, 2]]


def test_memory_shared_between_processes_stays_shared() -> None:
    model = Views().share_memory()
    before = [tensor.untyped_storage().data_ptr() for tensor in (model.weight, model.table)]
    with torch.no_grad():
        tl.trace(model, torch.ones(2, 2))
        model.weight.add_(1)
        model.table.add_(1)
    assert model.weight.is_shared()
    assert [tensor.untyped_storage().data_ptr() for tensor in (model.weight, model.table)] == before


def test_addresses_of_parameters_do_not_move() -> None:
    model = Views()
    before = model.weight.data_ptr()
    with torch.no_grad():
        trace = tl.trace(model, torch.ones(2, 2))
        model.weight.add_(1)
    assert model.weight.data_ptr() == before
    assert trace.outcome == "complete"


@pytest.mark.filterwarnings("ignore::tl_torch.ScalarEscapeWarning")
def test_alias_taken_inside_stays_an_alias() -> None:
    held: list[np.ndarray] = []

    class Exposes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x * 2
            held.append(y.numpy())
            y.add_(1)
            assert held[0][0, 0] == y[0, 0].item()
            held[0][:] = 7
            return y

    with torch.no_grad():
        trace = tl.trace(Exposes(), torch.ones(2, 2))
    assert trace["mul_1_1:1"].out.tolist() == [[2, 2], [2, 2]]
    assert trace[-1].out.tolist() == [[7, 7], [7, 7]]
