"""Where a trace must not start: inside another trace, and in a worker process."""

from __future__ import annotations

import pytest
import torch
from graphs import edges
from refusals import Guarded
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import tl_core
import tl_torch as tl

X = torch.ones(2, 4)


class Nests(nn.Module):
    """Traces a part of itself in its forward, and goes on when that is refused."""

    def __init__(self) -> None:
        super().__init__()
        self.part = Guarded()
        self.error: BaseException | None = None

    def forward(self, x: Tensor) -> Tensor:
        y = x * 2
        try:
            tl.trace(self.part, y)
        except tl_core.ReentrantTraceError as error:
            self.error = error
        return y + 1


def test_trace_inside_a_forward_is_refused_and_the_outer_one_stays_whole() -> None:
    model = Nests()
    trace = tl.trace(model, X)
    assert isinstance(model.error, RuntimeError)
    assert model.error.code == "reentrant_trace"
    assert model.error.remedy
    assert model.part.runs == 0
    assert edges(trace) == {
        "input.1": [],
        "mul.1": ["input.1"],
        "add.1": ["mul.1"],
        "output.1": ["add.1"],
    }
    assert trace.outcome == "complete"


def test_trace_inside_a_hook_is_refused() -> None:
    model = Guarded()
    other = Guarded()
    model.part.register_forward_hook(lambda module, args, output: tl.trace(other, X) and None)
    with pytest.raises(tl_core.ReentrantTraceError):
        tl.trace(model, X)
    assert other.runs == 0
    assert tl.trace(other, X).outcome == "complete"


def test_trace_inside_a_predicate_is_refused() -> None:
    other = Guarded()
    with pytest.raises(tl_core.ReentrantTraceError):
        tl.trace(Guarded(), X, save=lambda op: tl.trace(other, X) is not None)
    assert other.runs == 0


def test_two_traces_one_after_the_other_do_not_meet() -> None:
    model = nn.Linear(4, 2)
    first = tl.trace(model, X)
    second = tl.trace(model, X * 2)
    assert edges(first) == edges(second)
    assert first["linear_1_1:1"].out.data_ptr() != second["linear_1_1:1"].out.data_ptr()


def test_traces_on_two_threads_do_not_meet() -> None:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    barrier = Barrier(2)

    class Meets(nn.Module):
        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

        def forward(self, x: Tensor) -> Tensor:
            barrier.wait(20)
            for _ in range(self.count):
                x = x + 1
            barrier.wait(20)
            return x

    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(tl.trace, Meets(count), X) for count in (3, 5)]
        outcomes = [job.exception(60) or job.result() for job in jobs]
    for count, outcome in zip((3, 5), outcomes, strict=True):
        if isinstance(outcome, tl_core.ReentrantTraceError):
            continue  # a process may hold one capture at a time, if it says so
        names = [op.func_name for op in outcome.ops]
        assert names.count("add") == count


class Tracing(Dataset):
    """Traces in `__getitem__`, which a worker process runs."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> tuple[str, str, int]:
        model = Guarded()
        try:
            tl.trace(model, X)
        except tl_core.TorchLensError as error:
            return type(error).__name__, error.code, model.runs
        return "none", "none", model.runs


def test_worker_process_of_a_loader_is_refused() -> None:
    loader = DataLoader(Tracing(), num_workers=1, multiprocessing_context="fork", collate_fn=list)
    ((name, code, runs),) = next(iter(loader))
    assert (name, runs) == ("ReentrantTraceError", 0)
    assert code == "worker_process"


def test_the_same_dataset_in_the_main_process_works() -> None:
    assert Tracing()[0] == ("none", "none", 1)
