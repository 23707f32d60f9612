"""Modules that call themselves: what an inner call does is over before the outer one goes on."""

from __future__ import annotations

from scripted_run import Run


def labels(trace):
    return [op.label for op in trace.ops if op.kind == "op"]


def descend(run, x, depth):
    """A block that calls itself between two calls without weights, and its weights at the bottom."""
    with run.inside("block"):
        if depth == 0:
            return run.linear("block.fc", x)
        return run("relu", descend(run, run("add", x), depth - 1))


def test_calls_around_the_inner_call_are_passes_in_the_order_in_which_they_ran():
    run = Run()
    run.register("block.fc", "Linear", param=True)
    trace = run.play(lambda run, x: descend(run, x, 3), run.input())
    assert labels(trace) == [
        "add_1_1:1", "add_1_1:2", "add_1_1:3", "linear_1_2:1", "relu_1_3:1", "relu_1_3:2", "relu_1_3:3",
    ]  # fmt: skip
    assert trace["relu_1"].ops[1].parents == ("relu_1_3:1",)
