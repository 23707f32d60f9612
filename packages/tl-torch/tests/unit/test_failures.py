"""Models that raise half-way: the exception is the model's own and nothing is left behind."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from graphs import edges, named
from leftovers import ModelState
from torch import Tensor, nn

import tl_torch as tl

X = torch.ones(2, 4)


class ModelError(Exception):
    """An exception of the model's own, with a constructor of its own."""

    def __init__(self, code: int, *, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code_number = code


class Breaks(nn.Module):
    """Raises in a nested module, after two operations."""

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("seen", torch.zeros(4))

        def forward(self, x: Tensor) -> Tensor:
            self.linear(x)
            self.seen.add_(1)
            raise ModelError(7, detail="inside")

    def __init__(self) -> None:
        super().__init__()
        self.outer = nn.Sequential(nn.ReLU(), Breaks.Inner())

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(x * 2)


def test_the_exception_is_the_models_own() -> None:
    with pytest.raises(ModelError, match="7: inside") as caught:
        tl.trace(Breaks(), X)
    assert type(caught.value) is ModelError
    assert caught.value.code_number == 7
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_the_exception_holds_what_ran() -> None:
    with pytest.raises(ModelError) as caught:
        tl.trace(Breaks(), X)
    trace = caught.value.partial_trace
    assert isinstance(trace, tl.Trace)
    assert trace.outcome == "failed"
    assert trace.stop_reason == "ModelError: 7: inside"
    parents = edges(trace)
    assert parents["mul.1"] == ["input.1"]
    assert parents["relu.1"] == ["mul.1"]
    assert parents["linear.1"] == ["relu.1"]
    assert parents["add_.1"] == ["buffer.1"]
    assert not any(name.startswith("output") for name in parents)
    assert named(trace)["linear.1"].modules == ("outer:1", "outer.1:1", "outer.1.linear:1")
    assert named(trace)["mul.1"].out.tolist() == [[2] * 4] * 2


def test_the_model_is_what_a_plain_run_leaves() -> None:
    plain, traced = Breaks(), Breaks()
    traced.load_state_dict(plain.state_dict())
    with pytest.raises(ModelError):
        plain(X)
    before = ModelState.of(traced)
    with pytest.raises(ModelError):
        tl.trace(traced, X)
    after = ModelState.of(traced)
    assert after.differences(before) == ["outer.1.seen: value"]
    assert torch.equal(traced.outer[1].seen, plain.outer[1].seen)
    assert torch.equal(traced.outer[1].seen, torch.ones(4))


def test_the_next_trace_is_complete() -> None:
    with pytest.raises(ModelError):
        tl.trace(Breaks(), X)
    trace = tl.trace(nn.Linear(4, 2), X)
    assert trace.outcome == "complete"
    assert edges(trace) == {"input.1": [], "linear.1": ["input.1"], "output.1": ["linear.1"]}


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interruptions_pass_through(interruption: type[BaseException]) -> None:
    class Interrupted(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x * 2
            raise interruption

    with pytest.raises(interruption) as caught:
        tl.trace(Interrupted(), X)
    assert type(caught.value) is interruption


def test_errors_of_torch_itself() -> None:
    class Mismatch(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x * 2) @ (x + 1)

    with pytest.raises(RuntimeError, match="cannot be multiplied") as caught:
        tl.trace(Mismatch(), X)
    assert type(caught.value) is RuntimeError
    names = [op.func_name for op in caught.value.partial_trace.ops]
    assert names[1:] == ["mul", "add"]


def test_an_exception_that_takes_no_attributes() -> None:
    class Slotted(Exception):
        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            if not name.startswith("__"):
                raise AttributeError(name)
            super().__setattr__(name, value)

    class Model(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise Slotted

    with pytest.raises(Slotted):
        tl.trace(Model(), X)


def test_an_exception_caught_by_the_model_is_no_failure() -> None:
    class Tries(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = Breaks.Inner()

        def forward(self, x: Tensor) -> Tensor:
            try:
                x = self.part(x)
            except ModelError:
                x = x + 1
            return x * 3

    trace = tl.trace(Tries(), X)
    assert trace.outcome == "complete"
    parents = edges(trace)
    ops = named(trace)
    assert parents["add.1"] == ["input.1"]
    assert ops["add.1"].module == ""
    assert ops["mul.1"].modules == ()
    assert ops["linear.1"].module == "part.linear"


def test_a_dropped_trace_is_freed_at_once() -> None:
    gc.collect()
    gc.disable()
    try:
        trace = tl.trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), X)
        trace.summary()
        payload = weakref.ref(trace[-1].out)
        reference = weakref.ref(trace)
        del trace
        assert reference() is None
        assert payload() is None
    finally:
        gc.enable()


def test_a_trace_does_not_keep_the_model_alive() -> None:
    model = nn.Linear(4, 4)
    reference = weakref.ref(model)
    with torch.no_grad():
        trace = tl.trace(model, X, save="none")
    del model
    gc.collect()
    assert reference() is None
    assert trace.params["weight"].shape == (4, 4)
