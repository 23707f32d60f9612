"""The replay driver on a backend without anything of its own: values are numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy_runs import Run, Value, chain

from tl_core import (
    CallRecord,
    TorchLensWarning,
    Trace,
    ValidationFailure,
    ValidationStatus,
    array_difference,
    last_validation_failure,
)


def failure_of(trace: Trace, outputs: Any = ()) -> ValidationFailure:
    with pytest.warns(TorchLensWarning):
        assert trace.validate_forward_pass(outputs) is False
    failure = last_validation_failure()
    assert failure is not None
    return failure


def test_a_true_record_passes() -> None:
    run, ops = chain()
    trace = run.finish(ops[-1])
    assert trace.validate_forward_pass([Value(np.array([[1.0, -2.0], [3.0, -4.0]]))]) is True
    status = trace.validation_replay_status
    assert (status.state, status.backend) == ("passed", "numpy")
    assert (status.replayed_node_count, status.perturbed_parent_count, status.exempted_parent_count) == (2, 3, 0)
    assert last_validation_failure() is None


def test_a_dropped_edge() -> None:
    run, ops = chain()
    ops[2].parents = (ops[1].index,)
    failure = failure_of(run.finish(ops[2]))
    assert (failure.check, failure.op_label) == ("argument_logging", "subtract_1_2:1")
    assert failure.message == "it was given input_1:1, which is not among its parents"


def test_an_invented_edge() -> None:
    run, ops = chain()
    other = run.input("y", np.ones(2))
    last = run.call(np.tanh, ops[2], parents=(ops[2].index, other.index))
    failure = failure_of(run.finish(last))
    assert (failure.check, failure.op_label) == ("argument_logging", "tanh_1_3:1")
    assert failure.message == "its parent input_2:1 is none of its arguments"


def test_parents_in_another_order() -> None:
    run, ops = chain()
    ops[2].parents = ops[2].parents[::-1]
    failure = failure_of(run.finish(ops[2]))
    assert (failure.check, failure.op_label) == ("argument_logging", "subtract_1_2:1")


def test_swapped_arguments() -> None:
    run, ops = chain()
    call = ops[2].call
    assert call is not None
    call.args = call.args[::-1]
    ops[2].parents = ops[2].parents[::-1]
    failure = failure_of(run.finish(ops[2]))
    assert (failure.check, failure.op_label) == ("forward_replay", "subtract_1_2:1")
    assert failure.max_abs_diff == 8.0
    assert failure.max_rel_diff == 2.0
    assert failure.saved_shape == failure.recomputed_shape == (2, 2)
    assert failure.saved_dtype == failure.recomputed_dtype == "float64"
    assert failure.extra["recomputed"].array.tolist() == [[-1.0, 2.0], [-3.0, 4.0]]


def test_another_argument() -> None:
    run, ops = chain()
    call = ops[1].call
    assert call is not None
    call.args = (ops[0], 3.0)
    failure = failure_of(run.finish(ops[2]))
    assert (failure.check, failure.op_label) == ("forward_replay", "multiply_1_1:1")


def test_an_old_value() -> None:
    run, ops = chain()
    ops[1].payload = ops[0].payload
    failure = failure_of(run.finish(ops[2]))
    assert (failure.check, failure.op_label) == ("forward_replay", "multiply_1_1:1")


def test_a_value_of_another_shape() -> None:
    run, ops = chain()
    ops[1].payload = Value(np.ones(3))
    failure = failure_of(run.finish(ops[2]))
    assert (failure.check, failure.op_label) == ("metadata_invariant", "multiply_1_1:1")
    assert failure.message == "its value has the shape [3], and its record says [2, 2]"


def test_an_output_whose_value_was_not_saved() -> None:
    run, ops = chain()
    trace = run.finish(ops[2])
    run.builder.ops[-1].payload = None
    failure = failure_of(trace, [ops[2].payload])
    assert (failure.check, failure.op_label) == ("ground_truth_missing_out", "output_1:1")
    assert failure.message == "its value was not saved"


def test_a_forged_replacement() -> None:
    run, ops = chain()
    call = ops[1].call
    assert call is not None
    call.meta = {"is_edited": True}
    failure = failure_of(run.finish(ops[2]))
    assert failure.message == "its value is marked as a replacement, and no intervention asked for one"


def test_a_parent_without_effect() -> None:
    run = Run()
    x = run.input("x", np.ones(3))
    failure = failure_of(run.finish(run.call(np.multiply, x, 0.0)))
    assert (failure.check, failure.op_label) == ("perturbation", "multiply_1_1:1")
    assert failure.extra["parent"] == "input_1:1"
    assert failure.message == "its value does not change with its parent input_1:1"


def test_a_parent_beside_zeros() -> None:
    run = Run()
    x, state = run.input("x", np.ones(3)), run.input("state", np.zeros(3))
    failure = failure_of(run.finish(run.call(np.multiply, x, state)))
    assert failure.message == (
        "its value does not change with its parent input_1:1; another of its arguments is zero everywhere"
    )


@pytest.mark.parametrize("array", [np.array([True, False]), np.array([3, 1, 2]), np.array([0.5, 2.0], np.float32)])
def test_values_of_every_kind_are_perturbed(array: Any) -> None:
    run = Run()
    x = run.input("x", array)
    assert run.finish(run.call(np.positive if array.dtype != bool else np.logical_not, x)).validate_forward_pass([])


def test_an_output_that_is_not_its_parent() -> None:
    run, ops = chain()
    trace = run.finish(ops[2])
    trace_output = ops[2].index + 1
    run.builder.records.ops[trace_output].payload = Value(np.zeros((2, 2)))
    failure = failure_of(trace)
    assert (failure.check, failure.op_label) == ("forward_replay", "output_1:1")


def test_gaps_fail_and_are_all_named() -> None:
    run, ops = chain()
    run.builder.gap("unseen_source", "A value came from nowhere.", ops[1].index)
    run.builder.gap("unseen_write", "A value was written.", ops[0].index)
    failure = failure_of(run.finish(ops[2]))
    assert (failure.check, failure.op_label) == ("source_provenance", "input_1:1")
    assert failure.extra["reasons"] == ["unseen_source", "unseen_write"]
    assert failure.extra["n_gaps"] == 2
    assert failure.extra["gaps"] == ["A value came from nowhere.", "A value was written."]


def test_modules_that_overlap() -> None:
    run = Run()
    root = run.builder.module_record("", "Net", False)
    inner = run.builder.module_record("inner", "Inner", False)
    x = run.input("x", np.ones(2))
    outer_call = run.builder.enter(root)
    inner_call = run.builder.enter(inner)
    y = run.call(np.negative, x)
    run.builder.exit(inner_call)
    run.builder.exit(outer_call)
    inner_call.first_op = 0
    failure = failure_of(run.finish(y))
    assert failure.check == "metadata_invariant"
    assert "module call inner:1 covers the ops 0 to 2, beyond its caller" in failure.message


def test_a_function_that_was_not_kept_is_unverified() -> None:
    run, ops = chain()
    call: CallRecord | None = ops[1].call
    assert call is not None
    call.func = None
    status = run.finish(ops[2]).validate_forward_pass([])
    assert isinstance(status, ValidationStatus)
    assert (status.state, status.reason, status.passed) == ("unverified", "function_missing", False)
    assert status.unverified_reason_counts == {"function_missing": 1}
    assert status.pure_unverified_node_count == 1
    assert [row.state for row in status.decisions] == ["passed", "unverified", "passed", "passed"]
    with pytest.raises(TypeError, match=r"unverified \(function_missing\), which is neither True nor False"):
        bool(status)


def test_differences_beyond_rounding() -> None:
    one = np.array([1.0, np.nan, np.inf, 4.0])
    assert array_difference(one, np.array([1.0 + 1e-9, np.nan, np.inf, 4.0]), 1e-8) is None
    found = array_difference(one, np.array([np.nan, np.nan, -np.inf, 5.0]), 1e-8)
    assert found is not None
    assert (found.max_abs, found.max_rel, found.nan_mismatch, found.inf_mismatch) == (1.0, 0.25, 1, 1)
    assert found.message == "3 of 4 elements differ, by up to 1"
    whole = array_difference(np.array([1, 2, 3]), np.array([1, 2, 5]), 1.0)
    assert whole is not None
    assert whole.message == "1 of 3 elements differ"
