"""Full garbage collections during a recording: the first comes through, the thresholds are as they were afterwards."""

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


def test_a_run_without_a_full_collection_changes_nothing() -> None:
    seen: list[tuple[int, int, int]] = []
    tl.trace(Calling(lambda: seen.append(gc.get_threshold())), X)
    assert seen == [(700, 10, 10)]
    assert gc.get_threshold() == (700, 10, 10)


def test_after_a_full_collection_the_next_ones_wait() -> None:
    seen: list[tuple[int, int, int]] = []

    def middle() -> None:
        gc.collect()
        seen.append(gc.get_threshold())

    tl.trace(Calling(middle), X)
    assert seen[0][:2] == (700, 10)
    assert seen[0][2] >= 1_000_000
    assert gc.get_threshold() == (700, 10, 10)


def test_a_failed_run_restores_them_too() -> None:
    def middle() -> None:
        gc.collect()
        raise ValueError("half-way")

    with pytest.raises(ValueError, match="half-way"):
        tl.trace(Calling(middle), X)
    assert gc.get_threshold() == (700, 10, 10)


def test_what_the_model_sets_stays() -> None:
    def middle() -> None:
        gc.collect()
        gc.set_threshold(500, 5, 5)

    tl.trace(Calling(middle), X)
    assert gc.get_threshold() == (500, 5, 5)


def test_callbacks_are_as_before() -> None:
    before = list(gc.callbacks)
    tl.trace(Calling(gc.collect), X)
    assert gc.callbacks == before
