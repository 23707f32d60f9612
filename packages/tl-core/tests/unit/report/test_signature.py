"""Calls that do not fit: an option with a misspelt name, too many arguments, a missing one, a value of another kind."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest
from scripted_run import Run

import tl_core
from tl_core import ArgumentTypeError, CaptureOptions, ConfigurationError, fitting

OPTIONS = ", ".join(field.name for field in fields(CaptureOptions))


@pytest.fixture
def trace():
    run = Run()
    return run.play(lambda run, x: run("relu", x), run.input())


@pytest.mark.parametrize(
    ("call", "code", "text"),
    [
        (
            lambda trace: trace.summary(levl="op"),
            "unknown_option",
            "trace.summary has no option 'levl'. Did you mean 'level'?\n"
            "  What to do: it takes level, view, depth, columns, fold_repeats, max_rows",
        ),
        (
            lambda trace: trace.summary("op", "compute", 3),
            "too_many_arguments",
            "trace.summary takes at most 2 arguments by position (level, view), and was given 3.\n"
            "  What to do: give the others by name: depth=, columns=, fold_repeats=, max_rows=",
        ),
        (
            lambda trace: trace.to_pandas(column="all"),
            "unknown_option",
            "trace.to_pandas has no option 'column'. Did you mean 'columns'?\n  What to do: it takes columns",
        ),
        (
            lambda trace: trace.save("a.tlspec", zzz=1),
            "unknown_option",
            "trace.save has no option 'zzz'.\n  What to do: it takes path, level, overwrite",
        ),
        (
            lambda trace: trace.save(),
            "argument_missing",
            "trace.save was not given 'path'.\n  What to do: trace.save(path)",
        ),
        (
            lambda trace: trace.find(),
            "argument_missing",
            "trace.find was not given 'selector'.\n  What to do: trace.find(selector)",
        ),
        (
            lambda trace: trace.validate_forward_pass(),
            "argument_missing",
            "trace.validate_forward_pass was not given 'outputs'.\n  What to do: trace.validate_forward_pass(outputs)",
        ),
        (
            lambda trace: trace.graph.parents(),
            "argument_missing",
            "trace.graph.parents was not given 'op'.\n  What to do: trace.graph.parents(op)",
        ),
        (
            lambda trace: trace.graph.children(1, 2),
            "too_many_arguments",
            "trace.graph.children takes at most 1 argument by position (op), and was given 2.\n"
            "  What to do: leave them out",
        ),
        (
            lambda trace: trace.graph.ancestors(label="relu_1"),
            "unknown_option",
            "trace.graph.ancestors has no option 'label'.\n  What to do: it takes op",
        ),
        (
            lambda trace: trace.graph.descendants(opp="relu_1"),
            "unknown_option",
            "trace.graph.descendants has no option 'opp'. Did you mean 'op'?\n  What to do: it takes op",
        ),
        (
            lambda trace: trace.graph.between("input_1", "relu_1", path="shortest"),
            "unknown_option",
            "trace.graph.between has no option 'path'. Did you mean 'paths'?\n  What to do: it takes start, end, paths",
        ),
        (
            lambda trace: trace.graph.cone(),
            "argument_missing",
            "trace.graph.cone was not given 'op'.\n  What to do: trace.graph.cone(op)",
        ),
        (
            lambda trace: trace.ops[1].ancestors(2),
            "too_many_arguments",
            "op.ancestors takes no arguments by position, and was given 1.\n  What to do: leave them out",
        ),
        (
            lambda trace: trace.ops[1].descendants(depth=1),
            "unknown_option",
            "op.descendants has no option 'depth'.\n  What to do: it takes none",
        ),
        (
            lambda trace: trace.ops[1].payload.materialize_out(lazy=True),
            "unknown_option",
            "op.payload.materialize_out has no option 'lazy'.\n  What to do: it takes none",
        ),
        (
            lambda trace: trace.summary().text(ascii=True),
            "unknown_option",
            "summary.text has no option 'ascii'. Did you mean 'ascii_only'?\n  What to do: it takes width, ascii_only",
        ),
        (
            lambda trace: trace.summary().show(80),
            "too_many_arguments",
            "summary.show takes no arguments by position, and was given 1.\n  What to do: leave them out",
        ),
        (
            lambda trace: trace.find_nan(inputs=True),
            "unknown_option",
            "trace.find_nan has no option 'inputs'.\n  What to do: it takes none",
        ),
        (
            lambda trace: trace.cleanup(True),
            "too_many_arguments",
            "trace.cleanup takes no arguments by position, and was given 1.\n  What to do: leave them out",
        ),
        (
            lambda trace: tl_core.compare(trace),
            "argument_missing",
            "tl.compare was not given 'b'.\n  What to do: tl.compare(a, b)",
        ),
        (
            lambda trace: tl_core.load("a", False),
            "too_many_arguments",
            "tl.load takes at most 1 argument by position (path), and was given 2.\n"
            "  What to do: give the others by name: lazy=, map_location=",
        ),
        (
            lambda trace: tl_core.func(),
            "argument_missing",
            "tl.func was not given 'name'.\n  What to do: tl.func(name)",
        ),
        (
            lambda trace: tl_core.func("a", "b"),
            "too_many_arguments",
            "tl.func takes at most 1 argument by position (name), and was given 2.\n  What to do: leave them out",
        ),
        (
            lambda trace: tl_core.func("a", name="b"),
            "arguments_invalid",
            "tl.func: func() got multiple values for argument 'name'.\n  What to do: tl.func(name)",
        ),
        (
            lambda trace: CaptureOptions(keep_orphan=True),
            "unknown_option",
            f"tl.CaptureOptions has no option 'keep_orphan'. Did you mean 'keep_orphans'?\n"
            f"  What to do: it takes {OPTIONS}",
        ),
        (
            lambda trace: CaptureOptions(True),
            "too_many_arguments",
            "tl.CaptureOptions takes no arguments by position, and was given 1.\n"
            f"  What to do: give the others by name: {'=, '.join(OPTIONS.split(', '))}=",
        ),
    ],
)
def test_a_call_that_does_not_fit(trace, call, code, text):
    with pytest.raises(ArgumentTypeError) as caught:
        call(trace)
    assert isinstance(caught.value, TypeError)
    assert caught.value.code == code
    assert str(caught.value) == text


def test_help_describes_every_option_of_a_capture():
    described = inspect.getdoc(CaptureOptions).partition("Args:")[2].partition("Raises:")[0]
    assert re.findall(r"^ {4}(\w+): ", described, re.MULTILINE) == OPTIONS.split(", ")


def test_a_type_error_from_inside_comes_through():
    @fitting("tl.broken")
    def broken():
        return None + 1

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        broken()
    assert type(caught.value) is TypeError


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        (
            {"keep_orphans": "yes"},
            ArgumentTypeError,
            "keep_orphans takes True or False, and was given 'yes'.\n"
            "  What to do: tl.CaptureOptions(keep_orphans=True)",
        ),
        (
            {"recurrence_detection": 1},
            ArgumentTypeError,
            "recurrence_detection takes True or False, and was given 1.\n"
            "  What to do: tl.CaptureOptions(recurrence_detection=True)",
        ),
        (
            {"aten_ops": "value"},
            ConfigurationError,
            "aten_ops takes True, False or 'values', and was given 'value'.\n"
            "  What to do: tl.CaptureOptions(aten_ops=True)",
        ),
        (
            {"escape_detector": "shadows"},
            ConfigurationError,
            "escape_detector takes 'off', 'shadow' or None, and was given 'shadows'.\n"
            "  What to do: tl.CaptureOptions(escape_detector='off')",
        ),
    ],
)
def test_a_value_that_an_option_does_not_take(options, kind, text):
    with pytest.raises(kind) as caught:
        CaptureOptions(**options)
    (name,) = options
    assert caught.value.code == f"{name}_invalid"
    assert str(caught.value) == text
    assert caught.value.fields["given"] == options[name]


def test_every_option_has_a_default_that_it_takes():
    assert CaptureOptions() == CaptureOptions()
    assert CaptureOptions(aten_ops="values", completeness_witness=True, escape_detector="shadow").aten_ops == "values"


def test_dead_neurons_takes_a_trace():
    with pytest.raises(ArgumentTypeError) as caught:
        tl_core.dead_neurons("net_1")
    assert caught.value.code == "trace_expected"
    assert str(caught.value) == (
        "tl.debug.dead_neurons takes a trace, and was given a str.\n"
        "  What to do: tl.debug.dead_neurons(tl.trace(model, x))"
    )


def test_several_ops_are_a_slice_of_the_collection(trace):
    with pytest.raises(ArgumentTypeError) as caught:
        trace[1:3]
    assert caught.value.remedy.endswith("; several at once: trace.ops[1:3]")
