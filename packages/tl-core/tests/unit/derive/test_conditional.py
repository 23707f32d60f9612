"""Tests on tensors: what asked, what came out, and which arm ran, from the source and from what followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_run import Run, Tensor

from tl_core import Conditional

LINES = Path(__file__).read_text().splitlines()


def play(model, *values, **info):
    """Run a model with a tensor for each truth value."""
    run = Run()

    def whole(run, x):
        model(run, *[Tensor(run, run("gt", x), value) for value in values])
        return run("relu", x)

    return run.play(whole, run.input(), **info)


def found(trace):
    """Kind, answer, arm and text of each conditional."""
    return [(each.kind, each.value, each.arm, each.test) for each in trace.conditionals]


def arms(trace):
    return [each.arm for each in trace.conditionals]


@pytest.mark.parametrize(("value", "arm"), [(True, "then"), (False, "else")])
def test_if(value, arm):
    def model(run, t):
        if t:
            run("sin", t.op)
        else:
            run("cos", t.op)

    trace = play(model, value)
    assert found(trace) == [("if", value, arm, "t")]
    [each] = trace.conditionals
    assert each.op == "gt_1_1:1"
    assert (each.source.file, each.source.function) == ("test_conditional.py", "model")
    assert LINES[each.source.line - 1].strip() == "if t:"
    assert LINES[each.span.line - 1][each.span.column : each.span.end_column] == "t"
    assert LINES[each.arm_span.line - 1].strip() == ('run("sin", t.op)' if value else 'run("cos", t.op)')
    assert str(each) == f"if t: {value} -> {arm} at test_conditional.py:{each.source.line} in model"


def test_if_without_else_has_no_place_where_nothing_runs():
    def model(run, t):
        if t:
            run("sin", t.op)

    [each] = play(model, False).conditionals
    assert (each.arm, each.arm_span) == ("else", None)


def test_not_and_bool_are_seen_through():
    def model(run, t):
        if not t:
            pass
        if bool(t):
            pass
        if not bool(t):
            pass
        if kept := t:
            del kept

    assert found(play(model, True)) == [
        ("if", True, "else", "not t"), ("if", True, "then", "bool(t)"), ("if", True, "else", "not bool(t)"),
        ("if", True, "then", "kept := t"),
    ]  # fmt: skip


def test_elif():
    def model(run, a, b):
        if a:
            run("sin", a.op)
        elif b:
            run("cos", a.op)
        else:
            run("tan", a.op)

    trace = play(model, False, True)
    assert found(trace) == [("if", False, "else", "a"), ("if", True, "then", "b")]
    assert [LINES[each.arm_span.line - 1].strip() for each in trace.conditionals] == ["elif b:", 'run("cos", a.op)']


def test_while_and_assert():
    def model(run, a, b):
        rounds = 0
        while a and rounds < 2:
            rounds += 1
            run("sin", a.op)
        while b:
            pass
        assert a, "never"
        assert not b

    assert found(play(model, True, False)) == [
        ("while", True, "body", "a and rounds < 2"),
        ("while", True, "body", "a and rounds < 2"),
        ("while", True, None, "a and rounds < 2"),  # the counter ended it, and the next that ran was another test
        ("while", False, "exit", "b"),
        ("assert", True, "passed", "a"),
        ("assert", False, "passed", "not b"),
    ]


def test_a_failed_assertion():
    def model(run, t):
        with pytest.raises(AssertionError):
            assert t, "was false"

    assert found(play(model, False)) == [("assert", False, "failed", "t")]


def test_conditional_expression_comprehension_and_guard():
    def model(run, a, b):
        run("sin" if a else "cos", a.op)
        _ = [number for number in range(2) if b]
        match run:
            case Run() if a:
                run("tan", a.op)

    assert found(play(model, True, False)) == [
        ("ifexp", True, "then", "a"),
        ("comprehension", False, "skipped", "b"),
        ("comprehension", False, "skipped", "b"),
        ("guard", True, "kept", "a"),
    ]


def test_values_outside_tests():
    def model(run, a, b):
        _ = a and 1
        _ = b and 1
        _ = b or 1
        _ = bool(a)
        _ = not b

    assert found(play(model, True, False)) == [
        ("boolop", True, "continued", "a and 1"),
        ("boolop", False, "stopped", "b and 1"),
        ("boolop", False, "continued", "b or 1"),
        ("value", True, None, "bool(a)"),
        ("value", False, None, "not b"),
    ]


def test_an_operand_that_settles_a_compound_test():
    def model(run, yes, no):
        if no and yes:
            pass
        if yes or no:
            pass
        if not (yes and no):
            pass

    assert found(play(model, True, False)) == [
        ("if", False, "else", "no and yes"),
        ("if", True, "then", "yes or no"),
        ("if", True, "then", "not (yes and no)"),  # told by the second operand, which follows
        ("if", False, "then", "not (yes and no)"),
    ]


@pytest.mark.parametrize(("flag", "arm"), [(True, "then"), (False, "else")])
def test_a_compound_test_is_told_by_what_ran_next(flag, arm):
    def model(run, t):
        if t and flag:
            run("sin", t.op)
        else:
            run("cos", t.op)

    [each] = play(model, True).conditionals
    assert (each.kind, each.arm, each.test) == ("if", arm, "t and flag")
    assert LINES[each.arm_span.line - 1].strip() == ('run("sin", t.op)' if flag else 'run("cos", t.op)')


def test_calls_inside_the_test_do_not_tell():
    def model(run, t):
        if t and run("exp", t.op) is not None:
            run("sin", t.op)

    assert arms(play(model, True)) == ["then"]


def test_without_a_sign_the_arm_is_unknown():
    def model(run, t, flag=True):
        if t and flag:
            pass
        run("sin", t.op)

    def returns(run, t, flag=True):
        if t and flag:
            return

    assert arms(play(model, True)) == [None]
    assert arms(play(returns, True)) == [None]


def test_what_runs_on_another_level_of_a_recursion_is_no_sign():
    def model(run, t, depth=1):
        if depth:
            model(run, t, 0)
        if t and depth:
            run("sin", t.op)

    assert arms(play(model, True)) == [None, "then"]


def test_tests_over_several_lines():
    def model(run, a, b):
        if (a or b) and not b:
            run("sin", a.op)

    assert [(each.value, each.arm) for each in play(model, False, False).conditionals] == [
        (False, "else"), (False, "else"),
    ]  # fmt: skip


def test_other_reads_are_no_conditionals():
    run = Run()

    def model(run, x):
        run.builder.read("item", x.index, 3.0, ())
        return run("relu", x)

    trace = run.play(model, run.input())
    assert trace.conditionals == ()
    assert [(read.kind, read.value) for read in trace.reads] == [("item", 3.0)]


def test_without_source_the_answer_remains():
    space = {}
    exec("def model(run, t):\n    if t:\n        pass\n", space)
    [each] = play(space["model"], True).conditionals
    assert (each.kind, each.arm, each.test, each.value, each.source.line) == ("unknown", None, "", True, 2)
    assert str(each) == "unknown gt_1_1:1: True -> unknown at <string>:2 in model"


def test_on_a_loaded_trace_the_line_remains():
    run = Run()

    def model(run, x):
        run.builder.read("bool", x.index, True, (("net.py", 12, "forward"),))
        run.builder.read("bool", -1, False, ())
        return x

    one, other = run.play(model, run.input(), loaded=True).conditionals
    assert isinstance(one, Conditional)
    assert (one.kind, one.op, str(one.source), one.span) == ("unknown", "input_1:1", "net.py:12 in forward", None)
    assert (other.op, other.source, other.value) == (None, None, False)
