"""What the arguments of a call say about its size."""

from __future__ import annotations

import pytest
from recorder import Recorder


def said(run, y):
    """Second line of the box of the last op that was recorded."""
    nodes = list(run.done(y).draw().scene.nodes())
    return nodes[-2].rows[1].text


def convolved(name, weight, *settings, shape=(1, 8, 9, 9)):
    run = Recorder()
    x = run.input(shape)
    kernel = run.op("view", run.input(weight, "kernel"), shape=weight)
    return said(run, run.op(name, x, kernel, args=(x, kernel, None, *settings), shape=shape))


@pytest.mark.parametrize(
    ("name", "weight", "settings", "text"),
    [
        ("conv2d", (16, 8, 3, 3), ((1, 1), (1, 1), (1, 1), 1), "3×3"),
        ("conv2d", (16, 8, 7, 7), ((2, 2), (3, 3), (1, 1), 1), "7×7, stride 2"),
        ("conv2d", (16, 8, 1, 5), ((1, 2), (0, 0), (1, 1), 1), "1×5, stride 1×2"),
        ("conv2d", (16, 8, 3, 3), ((1, 1), (2, 2), (2, 2), 1), "3×3, dilation 2"),
        ("conv2d", (16, 2, 3, 3), ((1, 1), (1, 1), (1, 1), 4), "3×3, 4 groups"),
        ("conv2d", (8, 1, 3, 3), ((1, 1), (1, 1), (1, 1), 8), "3×3, depthwise"),
        ("conv1d", (8, 8, 4), ((1,), (0,), (1,), 1), "kernel 4"),
        ("conv_transpose2d", (8, 4, 2, 2), ((2, 2), (0, 0), (0, 0), 1, (1, 1)), "2×2, stride 2"),
        ("_grouped_mm", (6, 8, 4), (), "6 groups"),
    ],
)
def test_kernels_strides_and_groups(name, weight, settings, text):
    assert convolved(name, weight, *settings) == text


def test_topk_says_how_many_of_how_many():
    run = Recorder()
    x = run.input((4, 9))
    assert said(run, run.op("topk", x, args=(x, 3), kw={"dim": 0}, shape=(3, 9))) == "top 3 of 4"


@pytest.mark.parametrize(
    ("hidden", "inputs", "layers", "text"),
    [
        # an LSTM has 4 * hidden rows in both weights: 4*8*(4 + 8) = 384 and 4*8*(8 + 8) = 512
        (8, 4, 1, "1 layer, 8 hidden, 5 steps"),
        (8, 4, 2, "2 layers (384, 512 params), 8 hidden, 5 steps"),
        (8, 4, 4, "4 layers (384, 512 ×3 params), 8 hidden, 5 steps"),
    ],
)
def test_layers_of_a_recurrent_network(hidden, inputs, layers, text):
    run = Recorder()
    x = run.input((1, 5, inputs))
    params = [
        (f"rnn.weight_{kind}_l{layer}", (4 * hidden, inputs if (kind, layer) == ("ih", 0) else hidden))
        for layer in range(layers)
        for kind in ("ih", "hh")
    ]
    with run.module("rnn", "LSTM"):
        y = run.op(
            "lstm", x, params=params, args=(x, [], [], False, layers, 0.0, False, False, True), shape=(1, 5, hidden)
        )
    assert said(run, y) == f"LSTM · {text}"


def test_copies_of_other_kernels_say_none():
    run = Recorder()
    x = run.input((1, 8, 9, 9))
    for index, size in enumerate((3, 3, 5)):
        kernel = run.op("view", run.input((8, 8, size, size), f"kernel{index}"), shape=(8, 8, size, size))
        with run.module(f"c.{index}", "Conv2d"):
            x = run.op("conv2d", x, kernel, args=(x, kernel, None, 1, 1, 1, 1), shape=(1, 8, 9, 9))
        x = run.op("relu", x, shape=(1, 8, 9, 9))
    trace = run.done(x)
    opened = [node.rows[1].text for node in trace.draw(collapse="none").scene.nodes() if len(node.rows) > 1]
    assert [text for text in opened if "Conv2d" in text] == ["Conv2d · 3×3", "Conv2d · 3×3", "Conv2d · 5×5"]
    folded = [node.rows[1].text for node in trace.draw(collapse="none", fold_repeats=True).scene.nodes()]
    assert [text for text in folded if "Conv2d" in text] == ["Conv2d"]


def test_a_part_of_a_network_says_the_same():
    run = Recorder()
    x = run.op("exp", run.input((1, 8, 9, 9)), shape=(1, 8, 9, 9))
    kernel = run.op("view", run.input((8, 8, 3, 3), "kernel"), shape=(8, 8, 3, 3))
    with run.module("m", "M"):
        x = run.op("relu", x, shape=(1, 8, 9, 9))
        x = run.op("conv2d", x, kernel, args=(x, kernel, None, 1, 1, 1, 1), shape=(1, 8, 9, 9))
    drawing = run.done(run.op("tanh", x)).draw(module="m")
    said = {node.rows[0].text: node.rows[1].text for node in drawing.scene.nodes() if node.role == "op"}
    assert said == {"relu": "(1, 8, 9, 9)", "conv2d": "3×3"}
