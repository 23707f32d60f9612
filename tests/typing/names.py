"""What type checkers make of the namespace: checked by basedpyright and mypy, never run."""

from __future__ import annotations

from typing import assert_type

import torch

import torchlens as tl


def a_trace_is_a_trace(model: torch.nn.Module, x: torch.Tensor) -> None:
    trace = tl.trace(model, x)
    assert_type(trace, tl.Trace)
    assert_type(trace.ops["relu_1_2:1"], tl.Op)
    assert_type(trace.layers["relu_1_2"], tl.Layer)
    assert_type(trace.modules["layer1.0"], tl.Module)
    assert_type(tl.load("a.tlspec", lazy=True), tl.Trace)
    assert_type(tl.draw(trace), tl.Drawing)
    assert_type(trace.find(tl.func("relu")), tuple[tl.Op, ...])


def selectors_combine() -> tl.Selector:
    return tl.func("relu") & ~tl.in_module("layer1") | tl.label_contains("conv")


def errors_can_be_caught_by_module_and_builtin(trace: tl.Trace) -> None:
    try:
        trace["nothing"]
    except tl.errors.LookupFailedError as error:
        assert_type(error.code, str)
        builtin: LookupError = error
        del builtin


def a_misspelt_name_is_an_error() -> None:
    tl.trase  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType]
