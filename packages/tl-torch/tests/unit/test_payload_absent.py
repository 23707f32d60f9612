"""A value that was not saved: `out` is None, and everything around it says why and how to get it."""

from __future__ import annotations

import pytest
import torch

import tl_torch as tl
from tl_core import PayloadUnavailableError

X = torch.ones(2, 4)
REMEDY = "tl.trace(model, x, save='relu_1_2', like=trace) keeps the value of relu_1_2, and save='all' those of all ops"


def model() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())


def audit(folder):
    return tl.load(tl.trace(model(), X).save(folder / "run.tlspec", level="audit"))


def portable(folder):
    return tl.load(tl.trace(model(), X, save=tl.func("linear")).save(folder / "run.tlspec"))


@pytest.mark.parametrize(
    ("make", "reason", "remedy"),
    [
        (lambda folder: tl.trace(model(), X, save="none"), "save='none' keeps no values", REMEDY),
        (lambda folder: tl.trace(model(), X, save=[]), "save='none' keeps no values", REMEDY),
        (
            lambda folder: tl.trace(model(), X, save=[tl.func("linear"), tl.in_module("0")]),
            "save=func('linear') | in_module('0') does not select it",
            REMEDY,
        ),
        (portable, "save=func('linear') does not select it", REMEDY),
        (
            audit,
            "the bundle holds no values (level='audit')",
            "save the trace that has them with trace.save(path, level='portable')",
        ),
    ],
)
def test_what_is_said_of_a_value_that_is_not_there(make, reason, remedy, tmp_path) -> None:
    trace = make(tmp_path)
    op = trace.ops["relu_1:1"]
    assert op.out is None
    assert trace["relu_1"].out is None
    assert op.payload.absence == reason
    assert repr(op.payload) == f"<payload: not saved, {reason}>"
    assert repr(op) == "<Op relu_1_2:1: float32[2, 3] in 1 from linear_1_1:1, not saved>"
    assert repr(trace["relu_1"]) == "<Layer relu_1_2: float32[2, 3] in 1, not saved>"
    with pytest.raises(PayloadUnavailableError) as caught:
        op.payload.materialize_out()
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert str(error) == f"The value of 'relu_1_2:1' was not saved: {reason}.\n  What to do: {remedy}"
    assert (error.code, error.remedy, error.fields) == (
        "value_not_saved", remedy, {"label": "relu_1_2:1", "reason": reason},
    )  # fmt: skip


def test_the_remedy_works() -> None:
    net = model()
    trace = tl.trace(net, X, save="none")
    again = tl.trace(net, X, save="relu_1_2", like=trace)
    assert torch.equal(again["relu_1"].out, torch.relu(net[0](X)))


def test_a_value_that_is_there_has_no_excuse() -> None:
    payload = tl.trace(model(), X)["relu_1"].payload
    assert payload.absence == ""
    assert repr(payload) == "<payload: 24 bytes in memory>"


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda folder: tl.trace(model(), X, save="none"), "0 of 4 values; save='none'"),
        (
            lambda folder: tl.trace(model(), X, save=tl.func("relu")),
            "1 of 4 values (24 bytes); save=func('relu')",
        ),
        (lambda folder: tl.trace(model(), X), "4 of 4 values (104 bytes)"),
        (audit, "0 of 4 values; the bundle has level 'audit'"),
    ],
)
def test_the_overview_says_what_was_asked_for(make, line, tmp_path) -> None:
    assert f"  saved     {line}\n" in repr(make(tmp_path))


def test_some_passes_of_a_layer() -> None:
    class Loop(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(3):
                x = torch.tanh(x)
            return x

    first = tl.trace(Loop(), X)
    trace = tl.trace(Loop(), X, save="tanh_1_1:2", like=first)
    assert repr(trace["tanh_1"]) == "<Layer tanh_1_1: float32[2, 4], 3 passes, 1 of 3 saved>"
