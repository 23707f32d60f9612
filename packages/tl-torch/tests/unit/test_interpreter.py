"""Settings of the interpreter: other ones while a run is recorded, and as they were afterwards."""

from __future__ import annotations

import gc
import sys
import threading
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
def settings() -> Iterator[None]:
    before, depth = gc.get_threshold(), sys.getrecursionlimit()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)
    sys.setrecursionlimit(depth)


def test_full_collections_wait_until_the_run_is_over() -> None:
    seen: list[tuple[int, int, int]] = []
    tl.trace(Calling(lambda: seen.append(gc.get_threshold())), X)
    assert seen[0][:2] == (2000, 10)
    assert seen[0][2] >= 1_000_000
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize(("young", "during"), [(0, 0), (700, 2000), (5000, 5000)])
def test_young_objects_are_collected_as_often_as_by_later_pythons(young: int, during: int) -> None:
    gc.set_threshold(young, 10, 10)
    seen: list[int] = []
    tl.trace(Calling(lambda: seen.append(gc.get_threshold()[0])), X)
    assert seen == [during]
    assert gc.get_threshold() == (young, 10, 10)


def test_nothing_runs_inside_a_collection() -> None:
    """What is raised there is dropped, and an interruption by the user may be raised anywhere."""
    callbacks: list[list[object]] = []
    tl.trace(Calling(lambda: callbacks.append(list(gc.callbacks))), X)
    assert callbacks == [gc.callbacks]


def full_collection_due() -> None:
    """Make the next collection a full one, and no collection start by itself."""
    gc.set_threshold(100_000, 10, 10)
    gc.collect()
    for _ in range(11):
        gc.collect(1)


def is_due() -> bool:
    return gc.get_count()[2] > gc.get_threshold()[2]


def test_a_full_collection_that_is_due_does_not_follow_at_once() -> None:
    full_collection_due()
    before = gc.get_stats()[2]["collections"]
    trace = tl.trace(Calling(lambda: None), X)
    assert not is_due()
    assert gc.get_stats()[2]["collections"] == before
    assert any(seen is trace for seen in gc.get_objects(generation=2))


def test_it_is_put_off_ten_times_in_a_row() -> None:
    due: list[bool] = []
    full_collection_due()
    for _ in range(11):
        for _ in range(11):
            gc.collect(1)
        tl.trace(Calling(lambda: None), X)
        due.append(is_due())
    assert due == [False] * 10 + [True]
    gc.collect()
    full_collection_due()
    tl.trace(Calling(lambda: None), X)
    assert not is_due()


def test_what_the_user_froze_stays_frozen() -> None:
    kept: list[int] = []
    gc.freeze()
    try:
        full_collection_due()
        tl.trace(Calling(lambda: None), X)
        assert not any(seen is kept for seen in gc.get_objects())
        assert is_due()
    finally:
        gc.unfreeze()


def test_where_the_collector_is_off_nothing_is_counted_anew() -> None:
    gc.disable()
    try:
        full_collection_due()
        tl.trace(Calling(lambda: None), X)
        assert is_due()
    finally:
        gc.enable()


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


class Nest(nn.Module):
    """A module that holds one other."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def nest(depth: int) -> nn.Module:
    model: nn.Module = nn.ReLU()
    for _ in range(depth):
        model = Nest(model)
    return model


def runs(function: Callable[[nn.Module], object], depth: int) -> bool:
    try:
        function(nest(depth))
    except RecursionError:
        return False
    return True


def deepest(function: Callable[[nn.Module], object]) -> int:
    """The deepest nest that a function can run; it runs one of 10, and none of 400."""
    low, high = 10, 400
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if runs(function, middle) else (low, middle)
    return low


def test_a_model_nests_under_a_trace_as_deeply_as_without() -> None:
    depth = deepest(lambda model: model(X)) - 12  # Python 3.12 counts calls from C apart, and recording ends in some
    model = nest(depth)
    limit = sys.getrecursionlimit()
    trace = tl.trace(model, X)
    assert len(trace.modules) == depth + 1
    assert trace.modules["inner." * (depth - 1) + "inner"].num_calls == 1
    assert torch.equal(trace.outputs[0].out, X)
    assert sys.getrecursionlimit() == limit
    assert tl.validate(model, X) is True
    assert sys.getrecursionlimit() == limit


def test_a_failed_run_restores_the_limit() -> None:
    limit, seen = sys.getrecursionlimit(), []

    def middle() -> None:
        seen.append(sys.getrecursionlimit())
        raise ValueError("half-way")

    with pytest.raises(ValueError, match="half-way"):
        tl.trace(Calling(middle), X)
    assert seen[0] > 2 * limit
    assert sys.getrecursionlimit() == limit


def test_the_limit_that_the_model_sets_stays() -> None:
    tl.trace(Calling(lambda: sys.setrecursionlimit(5000)), X)
    assert sys.getrecursionlimit() == 5000


def test_the_largest_limit_is_large_enough() -> None:
    sys.setrecursionlimit(2**31 - 1)
    assert tl.trace(Calling(lambda: None), X).capture_verified
    assert sys.getrecursionlimit() == 2**31 - 1


def test_of_two_runs_on_two_threads_the_last_one_restores_the_settings() -> None:
    limit = sys.getrecursionlimit()
    inside, ended = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        assert ended.wait(60)

    other = threading.Thread(target=lambda: tl.trace(Calling(wait), X))
    other.start()
    assert inside.wait(60)
    tl.trace(Calling(lambda: None), X)
    assert sys.getrecursionlimit() > 2 * limit
    assert gc.get_threshold()[2] >= 1_000_000
    ended.set()
    other.join()
    assert sys.getrecursionlimit() == limit
    assert gc.get_threshold() == (700, 10, 10)
