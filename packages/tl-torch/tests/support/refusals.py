"""Asking for something that has to be refused before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from leftovers import ModelState, TorchState

import tl_core

if TYPE_CHECKING:
    from collections.abc import Callable


class Guarded(torch.nn.Module):
    """A model that counts how often its forward runs."""

    def __init__(self, part: torch.nn.Module | None = None) -> None:
        super().__init__()
        self.part = part or torch.nn.Linear(4, 2)
        self.runs = 0

    def forward(self, x: torch.Tensor, *others: object, **more: object) -> torch.Tensor:
        self.runs += 1
        return self.part(x)


def refused(call: Callable[[], object], model: torch.nn.Module | None = None) -> Any:
    """Run `call`, which has to refuse, and return the error after checking what every refusal keeps to."""
    before = ModelState.of(model) if isinstance(model, Guarded) else None
    torch_before = TorchState.now()
    generator = torch.get_rng_state()
    with pytest.raises(tl_core.TorchLensError) as caught:
        call()
    error = caught.value
    assert error.code, "a refusal has a code"
    assert error.code == error.code.lower()
    assert error.remedy, "a refusal says what to do"
    assert error.remedy in str(error)
    assert isinstance(error.fields, dict)
    assert torch.equal(torch.get_rng_state(), generator)
    assert TorchState.now().differences(torch_before) == []
    if before is not None:
        assert model.runs == 0, "a refusal comes before the model runs"
        assert ModelState.of(model).differences(before) == []
    return error
