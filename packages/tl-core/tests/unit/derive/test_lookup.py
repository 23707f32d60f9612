"""`trace[key]`: the form of the key decides what comes back."""

from __future__ import annotations

import numpy as np
import pytest
from scripted_run import Run

from tl_core import (
    AmbiguousOpLookupError,
    ArgumentTypeError,
    Layer,
    LookupFailedError,
    Module,
    ModuleCall,
    Op,
)


@pytest.fixture
def trace():
    """A loop of two rounds around a linear called `lin`, with a module called `relu_1` beside it."""

    def model(run, x):
        for _ in range(2):
            x = run("tanh", run.linear("lin", x))
        with run.inside("relu_1"):
            return run("relu", x)

    run = Run()
    run.register("lin", "Linear", param=True)
    run.register("relu_1", "ReLU")
    run.register("blocks.0", "Block")
    run.register("blocks.0.act", "ReLU").aliases += ("blocks.1.act",)
    return run.play(model, run.input())


@pytest.mark.parametrize(
    ("key", "kind", "found"),
    [
        ("tanh_1_2", Layer, "tanh_1_2"),
        ("tanh_1", Layer, "tanh_1_2"),
        ("relu_1_3", Layer, "relu_1_3"),  # one pass, and still a layer
        ("input_1", Layer, "input_1"),
        ("tanh_1_2:2", Op, "tanh_1_2:2"),
        ("tanh_1:2", Op, "tanh_1_2:2"),
        ("output_1:1", Op, "output_1:1"),
        ("lin:2", ModuleCall, "lin:2"),
        (0, Op, "input_1:1"),
        (4, Op, "tanh_1_2:2"),
        (-1, Op, "output_1:1"),
        (np.int64(-7), Op, "input_1:1"),
    ],
)
def test_what_a_key_gives(trace, key, kind, found):
    answer = trace[key]
    assert type(answer) is kind
    assert answer.label == found


@pytest.mark.parametrize("key", ["", "lin", "blocks", "blocks.0", "blocks.0.act", "blocks.1.act"])
def test_an_address_gives_the_module(trace, key):
    answer = trace[key]
    assert type(answer) is Module
    assert key in answer.addresses
    assert trace.modules[key] is answer


def test_a_key_with_two_meanings_is_refused_with_both_spellings(trace):
    with pytest.raises(AmbiguousOpLookupError) as caught:
        trace["relu_1"]
    assert caught.value.code == "ambiguous_op_lookup"
    assert str(caught.value) == (
        "'relu_1' is both a layer and a module of this trace.\n"
        "  What to do: trace.layers['relu_1'] for the layer, trace.modules['relu_1'] for the module"
    )
    assert trace.layers["relu_1"].label == "relu_1_3"
    assert trace.modules["relu_1"].class_name == "ReLU"


def test_an_op_and_a_module_call_of_one_name_are_refused_with_both_spellings(trace):
    with pytest.raises(AmbiguousOpLookupError) as caught:
        trace["relu_1:1"]
    one, other = caught.value.fields["spellings"]
    assert str(caught.value).startswith("'relu_1:1' is both an op and a module call of this trace.")
    assert (one, other) == ("trace.ops['relu_1:1']", "trace.modules['relu_1'].calls[0]")
    assert trace.ops["relu_1:1"].label == "relu_1_3:1"
    assert trace.modules["relu_1"].calls[0].label == "relu_1:1"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (
            "tanh_1_3",
            "'tanh_1_3' is neither a label nor the address of a module in this trace.\n"
            "  What to do: closest: tanh_1_2, tanh_1",
        ),
        (
            "tanh",
            "'tanh' is neither a label nor the address of a module in this trace.\n"
            "  What to do: 'tanh' is a function: trace.find(tl.func('tanh')); closest: tanh_1, tanh_1_2",
        ),
        (
            "zzz",
            "'zzz' is neither a label nor the address of a module in this trace. Parts of names are not looked up.\n"
            "  What to do: trace.summary(level='op') lists every label; "
            "trace.find(tl.label_contains('zzz')) searches by a part of the label",
        ),
        (
            "tanh_1_2:3",
            "'tanh_1_2:3' is not there: 'tanh_1_2' has 2 passes.\n  What to do: use tanh_1_2:1 to tanh_1_2:2",
        ),
        ("relu_1_3:2", "'relu_1_3:2' is not there: 'relu_1_3' has 1 pass.\n  What to do: use relu_1_3:1"),
        ("lin:3", "'lin:3' is not there: 'lin' has 2 calls.\n  What to do: use lin:1 to lin:2"),
        ("blocks:1", "'blocks:1' is not there: 'blocks' has no calls.\n  What to do: use its children"),
        (7, "There is no op 7: the last is 6.\n  What to do: numbers run from 0 to 6, or from -1 back to -7"),
        (-8, "There is no op -8: the last is 6.\n  What to do: numbers run from 0 to 6, or from -1 back to -7"),
    ],
)
def test_what_is_not_there(trace, key, text):
    with pytest.raises(LookupFailedError) as caught:
        trace[key]
    assert caught.value.code == "op_lookup_not_found"
    assert caught.value.fields["asked"] == key
    assert str(caught.value) == text
    with pytest.raises(ValueError, match="What to do"):
        trace[key]


@pytest.mark.parametrize("key", ["tanh_1_2:0", "tanh_1_2:01", "tanh_1_2:", "tanh_01_2", "tanh_1_02", "tanh_1_2:x", ":"])
def test_no_other_spelling_of_a_label_is_accepted(trace, key):
    with pytest.raises(LookupFailedError):
        trace[key]


@pytest.mark.parametrize("key", [1.5, 1.0, True, None, ("tanh_1_2",), np.float64(1), b"tanh_1"])
def test_what_names_nothing_is_refused(trace, key):
    with pytest.raises(ArgumentTypeError) as caught:
        trace[key]
    assert caught.value.code == "lookup_key_invalid"
    assert str(caught.value).splitlines()[0] == f"{key!r} ({type(key).__name__}) is not a way to name one op."
    with pytest.raises(TypeError):
        trace[key]


def test_an_empty_trace_says_so():
    trace = Run().finish()
    with pytest.raises(LookupFailedError, match=r"There is no op 0: there is none\.\n  What to do: the trace is empty"):
        trace[0]


def test_near_misses_in_a_long_trace():
    def model(run, x):
        for number in range(2500):
            x = run("relu" if number % 2 else "tanh", x, params=(run.param(f"w{number}"),))
        return x

    run = Run()
    trace = run.play(model, run.input())
    with pytest.raises(LookupFailedError) as caught:
        trace["relu_77_153"]
    assert "relu_77_154" in caught.value.fields["closest"]


@pytest.mark.parametrize("key", ["tanh_1:\u0662", "lin:\u0662", "tanh_1_2:\uff12"])
def test_numbers_of_other_scripts_are_no_passes(trace, key):
    with pytest.raises(LookupFailedError) as caught:
        trace[key]
    assert "is not there" in str(caught.value)


def test_what_is_in_a_trace(trace):
    """Names and positions that `trace[...]` answers, and what it answers with; nothing else, and no refusal."""
    call = trace.modules["lin"].calls[0]
    assert all(thing in trace for thing in ("tanh_1", "tanh_1_2:2", "lin", "lin:2", "relu_1", 0, -1))
    assert all(thing in trace for thing in (*trace, trace.layers["tanh_1"], trace.modules["lin"], call))
    run = Run()
    other = run.play(lambda run, x: run("tanh", x), run.input())
    assert other.ops[0] not in trace
    assert all(thing not in trace for thing in ("tanh", 99, 1.5, None, True, slice(0, 1), [], trace.params[0]))
