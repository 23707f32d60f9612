"""Full garbage collections during a recording: they wait, and the thresholds are as they were afterwards."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

X = torch.ones(2)


class Calling(nn.Module):
    """Calls something in the middle of its forward."""

    def __init__(self, middle: Callable[[], object]) -> None:
        super().__init__()
        self.middle = middle

    def forward(self, x: Tensor) -> Tensor:
        y = x + 1
        self.middle()
        return y * 2


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_full_collections_wait_until_the_run_is_over() -> None:
    seen: list[tuple[int, int, int]] = []
    tl.trace(Calling(lambda: seen.append(gc.get_threshold())), X)
    assert seen[0][:2] == (700, 10)
    assert seen[0][2] >= 1_000_000
    assert gc.get_threshold() == (700, 10, 10)


def test_nothing_runs_inside_a_collection() -> None:
    """What is raised there is dropped, and an interruption by the user may be raised anywhere."""
    callbacks: list[list[object]] = []
    tl.trace(Calling(lambda: callbacks.append(list(gc.callbacks))), X)
    assert callbacks == [gc.callbacks]


def test_a_failed_run_restores_them_too() -> None:
    def middle() -> None:
        raise ValueError("half-way")

    with pytest.raises(ValueError, match="half-way"):
        tl.trace(Calling(middle), X)
    assert gc.get_threshold() == (700, 10, 10)


def test_what_the_model_sets_stays() -> None:
    def middle() -> None:
        gc.set_threshold(500, 5, 5)

    tl.trace(Calling(middle), X)
    assert gc.get_threshold() == (500, 5, 5)
