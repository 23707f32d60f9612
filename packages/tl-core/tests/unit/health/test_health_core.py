"""find_nan, dead_neurons and compare on the traces of a backend that is not torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy_runs import Run, chain

from tl_core import ArgumentTypeError, Trace, compare, dead_neurons, find_nan, load

if TYPE_CHECKING:
    from pathlib import Path


def logarithm(*values: float) -> Trace:
    run = Run()
    x = run.input("x", np.array(values))
    with np.errstate(all="ignore"):
        y = run.call(np.log, x)
        z = run.call(np.multiply, y, 0.0)
    return run.finish(z)


def test_the_first_nan() -> None:
    found = find_nan(logarithm(1.0, -1.0))
    assert found
    assert (found.kind, found.label, found.func_name, found.dtype, found.shape) == (
        "nan",
        "log_1_1:1",
        "log",
        "float64",
        (2,),
    )
    assert (found.checked, found.unsaved, found.unexamined, found.uncertainty_zone) == (4, 0, 0, ())
    assert found.message == "The first NaN appears in log_1_1:1: log; 4 values checked."


def test_a_nan_made_of_an_infinity() -> None:
    assert logarithm(0.0, 1.0).find_nan().label == "multiply_1_2:1"


def test_the_first_infinity_where_there_is_no_nan() -> None:
    run = Run()
    with np.errstate(all="ignore"):
        y = run.call(np.exp, run.input("x", np.array([1000.0])))
    found = find_nan(run.finish(run.call(np.add, y, 1.0)))
    assert (found.kind, found.label) == ("inf", "exp_1_1:1")


def test_an_infinity_that_the_code_gives_does_not_count() -> None:
    run = Run()
    found = find_nan(run.finish(run.call(np.minimum, run.input("x", np.ones(2)), float("-inf"))))
    assert not found
    assert found.message == "No NaN and no infinity in 3 values."


def test_values_on_disk_are_not_read(tmp_path: Path) -> None:
    trace = load(logarithm(1.0, -1.0).save(tmp_path / "run.tlspec"))
    found = find_nan(trace)
    assert not found
    assert (found.checked, found.unexamined) == (0, 4)
    assert found.message == "No NaN and no infinity in 0 values; 4 lie on disk and are unexamined."
    assert {row.reason for row in dead_neurons(trace, dim=0)} == {"on_disk_unexamined"}
    assert compare(trace, trace).unexamined == 4
    said = "the operations agree, and no value was looked at; 0 values compared, 0 not saved, 4 on disk and unexamined"
    assert repr(compare(trace, trace)) == f"<Comparison: {said}>"
    assert compare(trace, trace).same


def test_what_was_not_looked_at_upstream_is_named() -> None:
    trace = logarithm(1.0, -1.0)
    trace.ops["log_1_1:1"]._record.payload = None
    found = find_nan(trace)
    assert (found.label, found.uncertainty_zone, found.unsaved) == ("multiply_1_2:1", ("log_1_1:1",), 1)
    assert found.message.endswith("3 values checked; 1 were not saved. 1 ops before it were not looked at.")


def test_dead_units() -> None:
    run = Run()
    x = run.input("x", np.array([[1.0, 0.0, -2.0], [3.0, 0.0, -1.0]]))
    y = run.call(np.maximum, x, 0.0)
    table = dead_neurons(run.finish(y))
    assert [row.op_label for row in table] == ["maximum_1_1:1"]
    row = table[0]
    assert (row.total_units, row.dead_count, row.sample_dead_idx) == (3, 2, (1, 2))
    assert row.dead_frac == pytest.approx(2 / 3)
    assert repr(table) == "1 of 1 ops have dead units; 0 were not counted\n  maximum_1_1:1: 2 of 3"
    assert dead_neurons(run.finish(y), dim=-1, threshold=10.0)[0].dead_count == 3


def test_dead_units_that_cannot_be_counted() -> None:
    run = Run()
    x = run.input("x", np.ones(2))
    trace = run.finish(run.call(np.sum, x), run.call(np.greater, x, 0.0))
    assert [row.reason for row in dead_neurons(trace, dim=0)] == ["no_such_axis", "not_real"]
    with pytest.raises(ArgumentTypeError, match="dim takes the number of an axis, and was given a str"):
        dead_neurons(trace, dim="channels")


def test_two_runs_that_part() -> None:
    one, other = chain(), chain()
    third = other[0].call(np.tanh, other[1][2])
    third.payload.array[0, 0] += 0.5
    a = one[0].finish(one[0].call(np.tanh, one[1][2]))
    b = other[0].finish(third)
    found = compare(a, b)
    assert not found
    first = found.first
    assert first is not None
    assert (first.label_a, first.label_b, first.func_name, first.parting) == ("tanh_1_3:1",) * 2 + ("tanh", "value")
    assert first.max_abs_diff == pytest.approx(0.5)
    assert first.value_b.array[0, 0] - first.value_a.array[0, 0] == pytest.approx(0.5)
    assert (found.compared, found.skipped_casts) == (4, 0)
    assert "they part at tanh_1_3:1 / tanh_1_3:1 (tanh) in value by" in repr(found)


def test_two_runs_that_part_at_once() -> None:
    def run(function: Any) -> Trace:
        made = Run()
        return made.finish(made.call(function, made.input("x", np.ones(2))))

    said = repr(compare(run(np.tanh), run(np.exp)))
    assert "in operation; 1 value compared, 0 not saved, 0 on disk and unexamined>" in said


def runs_in(dtype: Any, cast: bool) -> Trace:
    run = Run()
    x = run.input("x", np.array([1.0, 1 / 3], dtype))
    if cast:
        x = run.call(lambda v: v.astype(np.float64), x, name="astype")
    return run.finish(run.call(np.tanh, x))


def test_runs_in_two_precisions_agree() -> None:
    found = compare(runs_in(np.float64, False), runs_in(np.float32, False))
    assert found
    assert found.compared == 3
    assert not compare(runs_in(np.float64, False), runs_in(np.float32, False), tolerance=0.0)


def test_casts_of_one_run_are_passed_over() -> None:
    found = compare(runs_in(np.float64, False), runs_in(np.float32, True))
    assert found
    assert found.skipped_casts == 1


def test_runs_of_different_operations() -> None:
    run = Run()
    other = run.finish(run.call(np.sin, run.input("x", np.array([1.0, 1 / 3]))))
    first = compare(runs_in(np.float64, False), other).first
    assert first is not None
    assert (first.func_name, first.parting) == ("tanh / sin", "operation")


def test_no_trace_refuses() -> None:
    with pytest.raises(ArgumentTypeError, match="compare takes two traces, and was given a int"):
        compare(runs_in(np.float64, False), 3)
