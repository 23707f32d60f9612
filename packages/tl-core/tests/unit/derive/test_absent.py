"""Attributes that views do not have: what they are called here, or what was near."""

from __future__ import annotations

import copy

import pytest
from scripted_run import Run

from tl_core import Buffer, FieldUnavailableError, Layer, Module, ModuleCall, Op, Param, Trace
from tl_core._absent import NAMES


@pytest.fixture
def trace():
    run = Run()
    run.register("enc", "Linear", param=True)
    return run.play(lambda run, x: run("relu", run.linear("enc", x)), run.input())


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda trace: trace.relu_1, "A trace has no attribute 'relu_1'.\n  What to do: trace['relu_1']"),
        (lambda trace: trace.enc, "A trace has no attribute 'enc'.\n  What to do: trace['enc']"),
        (lambda trace: trace.flops, "A trace has no attribute 'flops'.\n  What to do: trace.cost.flops"),
        (lambda trace: trace.layer, "A trace has no attribute 'layer'.\n  What to do: trace.layers"),
        (lambda trace: trace.plot(), "A trace has no attribute 'plot'.\n  What to do: trace.draw()"),
        (lambda trace: trace.sumary, "A trace has no attribute 'sumary'.\n  What to do: closest: trace.summary"),
        (lambda trace: trace.zzz, "A trace has no attribute 'zzz'.\n  What to do: dir(trace) lists what there is"),
        (lambda trace: trace.ops[0].activation, "An op has no attribute 'activation'.\n  What to do: op.out"),
        (lambda trace: trace.ops[0].flops, "An op has no attribute 'flops'.\n  What to do: op.cost.flops"),
        (lambda trace: trace.ops[0].lable, "An op has no attribute 'lable'.\n  What to do: closest: op.label"),
        (lambda trace: trace["relu_1"].output, "A layer has no attribute 'output'.\n  What to do: layer.out"),
        (lambda trace: trace["enc"].type, "A module has no attribute 'type'.\n  What to do: module.class_name"),
        (lambda trace: trace["enc:1"].name, "A module call has no attribute 'name'.\n  What to do: call.label"),
    ],
)
def test_what_is_not_there(trace, read, text):
    with pytest.raises(FieldUnavailableError) as caught:
        read(trace)
    assert isinstance(caught.value, AttributeError)
    assert caught.value.code == "attribute_missing"
    assert str(caught.value).startswith(text)


def test_every_name_that_is_told_is_there():
    kinds = {
        "op": Op,
        "layer": Layer,
        "module": Module,
        "call": ModuleCall,
        "param": Param,
        "buffer": Buffer,
        "trace": Trace,
    }
    for kind, names in NAMES.items():
        for asked, told in names.items():
            first = told.partition(".")[0].partition("(")[0].partition("[")[0]
            assert first in dir(kinds[kind]), (kind, told)
            assert asked not in dir(kinds[kind]), (kind, asked)


def test_probes_of_python_see_a_plain_absence(trace):
    for view in (trace, trace.ops[0], trace["relu_1"], trace["enc"], trace["enc:1"]):
        for name in ("_ipython_display_", "__array__", "_repr_png_", "__wrapped__"):
            with pytest.raises(AttributeError) as caught:
                getattr(view, name)
            assert type(caught.value) is AttributeError
    assert copy.copy(trace.ops[0]).label == trace.ops[0].label
    assert getattr(trace, "relu_1", None) is None
    trace.cleanup()
    assert getattr(trace, "relu_1", None) is None
