"""What is drawn as part of something else: views, outputs that nobody reads, loops."""

from __future__ import annotations

from dataclasses import replace

from columns import DEFAULTS, load
from recorder import Recorder, padded
from said import rows_of
from sourced import here

from tl_core import func
from tl_viz._draw import picture


def test_views_before_and_after_an_op_are_drawn_as_part_of_it():
    run = Recorder()
    x = padded(run, run.input())
    left, right = run.op("view", x), run.op("transpose", x)
    y = run.op("matmul", run.op("reshape", left), right, shape=(4, 4))
    y = run.op("contiguous", run.op("transpose", y, shape=(4, 4)), shape=(16,))
    drawing = run.done(run.op("relu", y)).draw(fold_repeats=False)
    assert rows_of(drawing, "matmul") == [["matmul", "view, reshape and 1 more → matmul → 2 more", "(16)"]]
    node = next(node for node in drawing.scene.nodes() if node.rows[0].text == "matmul")
    assert (node.ops, node.role) == (6, "op")
    assert [edge.targets for edge in drawing.scene.edges if edge.source == node.key] == [("relu_1_47",)]


def test_the_numbers_of_arguments_see_through_views():
    run = Recorder()
    x = padded(run, run.input())
    one, other = run.op("exp", x), run.op("relu", x)
    y = run.op("matmul", one, run.op("transpose", run.op("view", other)))
    drawing = run.done(run.op("add", y, run.op("exp", other))).draw(fold_repeats=False)  # so the views lead to `matmul`
    assert rows_of(drawing, "matmul") == [["matmul", "2: view → transpose", "(1, 8)"]]
    assert sorted(slot for edge in drawing.scene.edges for slot in edge.slots if slot) == ["1", "2"]


def test_equal_views_that_lead_to_one_op_are_no_run_of_their_own():
    run = Recorder()
    x = padded(run, run.input())
    parts = [run.op("exp", x) for _ in range(3)]
    seen = [run.op("transpose", run.op("view", part)) for part in parts]
    drawing = run.done(run.op("attention", *seen), run.op("cat", *parts)).draw(fold_repeats=True)
    node = next(node for node in drawing.scene.nodes() if node.rows[0].text == "attention")
    assert [row.text for row in node.rows] == ["attention", "1, 2, 3: view → transpose", "(1, 8)"]
    assert node.ops == 7


def test_a_view_that_others_read_too_stands_alone():
    run = Recorder()
    x = padded(run, run.input())
    seen = run.op("view", run.op("linear", x, params=[("w", (8, 8))]))
    drawing = run.done(run.op("matmul", run.op("exp", seen), run.op("relu", seen))).draw(fold_repeats=False)
    assert rows_of(drawing, "linear w") == [["linear w", "parameter (8, 8)", "linear → view", "(1, 8) · 64 params"]]
    other = Recorder()
    x = padded(other, other.input())
    y = other.op("linear", x, params=[("w", (8, 8))])
    drawing = other.done(other.op("matmul", other.op("view", y), other.op("relu", y))).draw(fold_repeats=False)
    assert rows_of(drawing, "linear w") == [["linear w", "parameter (8, 8)", "(1, 8) · 64 params"]]


def test_small_networks_draw_every_view():
    run = Recorder()
    y = run.op("view", run.op("linear", run.input(), params=[("w", (8, 8))]))
    drawing = run.done(run.op("relu", y)).draw()
    assert [node.rows[0].text for node in drawing.scene.nodes() if node.role == "op"] == ["linear w", "view", "relu"]


def test_none_draws_every_view_of_a_large_network():
    run = Recorder()
    y = run.op("view", run.op("linear", padded(run, run.input()), params=[("w", (8, 8))]))
    trace = run.done(run.op("relu", y))
    assert trace.draw(collapse="none").collapse_plan.items == len(trace)


def test_a_highlighted_view_is_drawn():
    run = Recorder()
    y = run.op("view", run.op("linear", padded(run, run.input()), params=[("w", (8, 8))]))
    drawing = run.done(run.op("relu", y)).draw(highlight=func("view"))
    assert [node.rows[0].text for node in drawing.scene.nodes() if node.marked] == ["view"]


def test_outputs_of_a_call_that_nobody_reads_stay_with_the_one_that_is_read():
    run = Recorder()
    x = run.input()
    with run.module("rnn", "LSTM"):
        states, _, _ = run.op("lstm", x, count=3)
    drawing = run.done(run.op("relu", states)).draw()
    assert [node.role for node in drawing.scene.nodes()] == ["input", "op", "op", "output"]
    node = next(node for node in drawing.scene.nodes() if node.ops == 3)
    assert [row.text for row in node.rows] == ["rnn", "LSTM", "+ 2 outputs that nothing reads", "(1, 8)"]


def test_the_read_output_may_come_last():
    run = Recorder()
    _, state = run.op("gru", run.input(), count=2)
    drawing = run.done(run.op("relu", state)).draw()
    assert [(node.rows[0].text, node.ops) for node in drawing.scene.nodes() if node.role == "op"] == [
        ("gru", 2),
        ("relu", 1),
    ]


def test_a_loop_in_the_code_is_one_frame_that_says_how_often():
    drawing = picture(load("gru-500"), DEFAULTS)
    frame = next(box for box in drawing.scene.boxes() if box.role == "run")
    assert [part.text for part in frame.title] == ["loop", "×500 rounds, same weights"]
    assert [[row.text for row in child.rows] for child in frame.children] == [
        ["getitem [:, t]", "(2, 8)"],
        ["cell", "GRUCell · input with state", "(2, 16) · 1.25k params"],
    ]
    cell = frame.children[1].key
    carried = [edge for edge in drawing.scene.edges if edge.role == "loop"]
    assert [(edge.source, edge.targets, edge.label, edge.slots) for edge in carried] == [
        (cell, (cell,), "next round (2, 16)", ("2",))
    ]
    assert sum(child.ops for child in frame.children) == 1000


def test_a_closed_loop_reads_itself_and_says_how_often():
    drawing = picture(load("gru-500"), replace(DEFAULTS, collapse="max"))
    loop = next(node for node in drawing.scene.nodes() if node.ops == 1000)
    assert [row.text for row in loop.rows][:2] == ["getitem [:, t] … cell", "×500 rounds, same weights"]
    assert [edge.targets for edge in drawing.scene.edges if edge.role == "loop"] == [(loop.key,)]


def test_a_module_that_loops_inside_does_not_read_itself():
    run = Recorder()
    x = run.input()
    with run.module("mask", "Mask"):
        h = run.op("exp", x)
        for _ in range(5):
            h = run.op("index_put", h, x, frames=here())
        h = run.op("log", h)
    drawing = run.done(run.op("relu", h)).draw(collapse="max")
    assert [node.ops for node in drawing.scene.nodes()] == [1, 7, 1, 1]
    assert [edge.role for edge in drawing.scene.edges] == ["data"] * 3


def test_a_view_of_a_parameter_belongs_to_the_op_that_reads_it():
    """Its parameters count there, and the op says whose they are."""
    run = Recorder()
    x = padded(run, run.input())
    weight = run.op("transpose", shape=(8, 4), params=[("table", (4, 8))])
    drawing = run.done(run.op("matmul", x, weight, shape=(1, 4))).draw(fold_repeats=False)
    assert rows_of(drawing, "transpose") == []
    assert rows_of(drawing, "matmul table") == [
        ["matmul table", "parameter (4, 8)", "parameter: transpose", "(1, 4) · 32 params"]
    ]
    assert [node.learned for node in drawing.scene.nodes() if node.rows[0].text == "matmul table"] == [True]


def test_a_view_of_a_parameter_that_two_ops_read_stands_alone():
    run = Recorder()
    x = padded(run, run.input())
    weight = run.op("transpose", shape=(8, 8), params=[("table", (8, 8))])
    y = run.op("matmul", run.op("matmul", x, weight), weight)
    drawing = run.done(y).draw(fold_repeats=False)
    assert rows_of(drawing, "transpose table") == [["transpose table", "parameter (8, 8)", "(8, 8) · 64 params"]]


def test_mamba_shows_every_module_that_holds_parameters():
    """The mixer of a layer computes with five modules and two loose parameters; each has a box of its own."""
    drawing = picture(load("mamba"), DEFAULTS)
    said = [row.text for node in drawing.scene.nodes() if node.learned for row in node.rows]
    for name in (
        "in_proj",
        "x_proj",
        "out_proj",
        "exp A_log",
        "mul D",
        "matmul dt_proj.weight",
        "add dt_proj.bias",
    ):
        assert name in said
    assert "conv1d · kernel 4, depthwise" in said
    assert not any("shared params" in text for text in said if "500" not in text)  # only the tied head shares any
    assert not any(" … " in node.rows[0].text for node in drawing.scene.nodes())
