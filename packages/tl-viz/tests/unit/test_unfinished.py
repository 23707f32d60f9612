"""Runs that ended before their end: the picture says where, and why."""

from __future__ import annotations

import pytest
from quality import all_faults, overflowing_labels
from recorder import Recorder

REASON = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x8 and 7x2)"


def failed():
    """A run that fails in `decoder.1`, after `encoder` returned."""
    run = Recorder("Coder")
    x = run.input()
    with run.module("encoder", "Encoder"):
        x = run.op("tanh", run.layer("encoder.0", "Linear", "linear", x, size=(8, 8)))
    run.module("decoder", "Decoder").__enter__()
    run.op("exp", run.op("relu", x))
    run.module("decoder.1", "Linear").__enter__()  # and never left
    return run.done(outcome="failed", reason=REASON)


def stop_of(drawing):
    return next(node for node in drawing.scene.nodes() if node.role == "stop")


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
@pytest.mark.parametrize("mode", ["auto", "none", "max", 0.5])
def test_a_failed_run_shows_the_exception_where_it_was_raised(mode, view):
    trace = failed()
    drawing = trace.draw(collapse=mode, view=view)
    rows = [row.text for row in stop_of(drawing).rows]
    assert rows[:2] == ["RuntimeError", "the run ended in decoder.1 · Linear"]
    assert rows[2].endswith("(1x8 and 7x2)")
    assert drawing.notes[0] == f"the run failed in decoder.1: {REASON}"
    decoder = next(box for box in drawing.scene.boxes() if box.key == "decoder:1")
    assert [child.role for child in decoder.children][-1] == "stop"
    assert [(edge.source, edge.role) for edge in drawing.scene.edges if "stop" in edge.targets] == [
        ("exp_1_4", "faint")
    ]
    assert sum(node.ops for node in drawing.scene.nodes()) == drawing.collapse_plan.total == len(trace) == 5
    assert all_faults(drawing.scene, drawing.geometry) == []
    assert overflowing_labels(drawing._display) == []


def test_a_failure_in_the_model_itself_names_the_model():
    run = Recorder("Coder")
    run.layer("encoder", "Linear", "linear", run.input(), size=(8, 8))
    drawing = run.done(outcome="failed", reason="KeyError: 'mask'").draw()
    assert [row.text for row in stop_of(drawing).rows] == ["KeyError", "the run ended in Coder", "'mask'"]
    assert drawing.notes[0] == "the run failed in the model itself: KeyError: 'mask'"


def test_a_run_that_was_stopped_on_purpose_says_so():
    run = Recorder("Coder")
    run.op("relu", run.input())
    drawing = run.done(outcome="stopped", reason="relu_1_1 was reached").draw()
    assert [row.text for row in stop_of(drawing).rows] == ["stopped", "the run ended in Coder", "relu_1_1 was reached"]
    assert drawing.notes[0] == "the run was stopped in the model itself: relu_1_1 was reached"


def test_a_run_that_failed_before_any_op_is_one_node():
    drawing = Recorder("Coder").done(outcome="failed", reason="ValueError").draw()
    assert [node.role for node in drawing.scene.nodes()] == ["stop"]
    assert drawing.collapse_plan.total == 0


def test_a_long_reason_is_cut_in_the_note_and_whole_on_hover():
    reason = "ValueError: " + "x" * 300
    run = Recorder("Coder")
    run.input()
    drawing = run.done(outcome="failed", reason=reason).draw()
    assert len(drawing.notes[0]) < 140
    assert drawing.notes[0].endswith("…")
    assert "x" * 300 in stop_of(drawing).tooltip


def test_a_complete_run_has_no_such_node():
    run = Recorder()
    drawing = run.done(run.op("relu", run.input())).draw()
    assert [node.role for node in drawing.scene.nodes()] == ["input", "op", "output"]
    assert "failed" not in drawing.svg
