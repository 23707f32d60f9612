"""How layers and ops are named."""

from __future__ import annotations

import pytest
from scripted_run import Run


def network(run, x):
    x = run("conv2d", x, params=(run.param("a"),))
    x = run("batch_norm", x, run.buffer("bn.mean"))
    x = run("add_", x, run.constant("global:TABLE"))
    x = run("conv2d", x, params=(run.param("b"),))
    return run("relu", x)


def test_labels_count_the_type_and_the_compute_layers():
    run = Run()
    trace = run.play(network, run.input())
    assert [op.label for op in trace.ops] == [
        "input_1:1",
        "conv2d_1_1:1",
        "buffer_1:1",
        "batchnorm_1_2:1",
        "constant_1:1",
        "add_1_3:1",
        "conv2d_2_4:1",
        "relu_1_5:1",
        "output_1:1",
    ]
    assert [op.label_short for op in trace.ops][:4] == ["input_1:1", "conv2d_1:1", "buffer_1:1", "batchnorm_1:1"]
    assert [layer.label_short for layer in trace.layers][6:] == ["conv2d_2", "relu_1", "output_1"]
    assert [op.type for op in trace.ops][3:6] == ["batchnorm", "constant", "add"]
    assert [op.func_name for op in trace.ops][3:6] == ["batch_norm", "constant", "add_"]


def test_a_function_without_parents_is_a_compute_layer():
    def model(run, x):
        return run("add", run("zeros"), x)

    run = Run()
    trace = run.play(model, run.input())
    assert [op.label for op in trace.ops][1:3] == ["zeros_1_1:1", "add_1_2:1"]
    assert trace.ops[1].parents == ()


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("zeros_like", "zeroslike"),
        ("__rsub__", "rsub"),
        ("mylib::fused_op", "mylibfusedop"),
        ("constant", "constantop"),  # a custom operator may have the name of a boundary
        ("output", "outputop"),
        ("___", "op"),
    ],
)
def test_types_are_letters_and_digits_and_no_boundary(function, kind):
    run = Run()
    trace = run.play(lambda run, x: run(function, x), run.input())
    assert trace.ops[1].label == f"{kind}_1_1:1"
    assert trace[f"{kind}_1"] is trace.layers[1]


def test_every_label_finds_its_op():
    run = Run()
    trace = run.play(network, run.input())
    for op in trace.ops:
        assert trace.ops[op.label] is op
        assert trace.ops[op.label_short] is op
        assert trace[op.layer_label].ops == (op,)
    assert trace.ops.keys() == [op.label for op in trace.ops]
    assert trace.layers.keys() == [layer.label for layer in trace.layers]
