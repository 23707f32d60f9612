"""Views before an op that reads several tensors: each line says which of them it prepares."""

from __future__ import annotations

from columns import DEFAULTS, load
from recorder import Recorder

from tl_viz._draw import picture


def started():
    """A run with so many ops that views are no longer drawn one by one, and its three inputs."""
    run = Recorder()
    a, b, c = (run.input(address=name) for name in "abc")
    x = a
    for index in range(40):
        x = run.op(("exp", "log", "neg", "tanh", "abs")[(index * index + index // 3) % 5], x)
    return run, (a, b, c)


def viewed(run, x, *names):
    for name in names:
        x = run.op(name, x)
    return x


def lines(run, y, title):
    """What stands between the title of a box and its shape."""
    drawing = run.done(run.op("relu", y)).draw(fold_repeats=False)
    return next([row.text for row in node.rows][1:-1] for node in drawing.scene.nodes() if node.rows[0].text == title)


def test_views_say_which_argument_they_prepare_and_those_that_follow_stand_apart():
    run, (a, b, _) = started()
    part = run.op("transpose", run.op("__getitem__", b, args=(b, 1)))
    y = run.op("reshape", run.op("matmul", a, part))
    assert lines(run, y, "matmul") == ["2: getitem [1] → transpose", "matmul → reshape"]


def test_arguments_with_different_views_have_a_line_each():
    run, (a, b, _) = started()
    right = run.op("transpose", b)  # called before the views of the first
    y = run.op("matmul", viewed(run, a, "view", "permute"), right)
    assert lines(run, y, "matmul") == ["1: view → permute", "2: transpose"]


def test_arguments_with_the_same_views_share_a_line():
    run, (a, b, c) = started()
    q, k, v = viewed(run, a, "view", "transpose"), viewed(run, b, "view", "transpose"), viewed(run, c, "view")
    y = run.op("scaled_dot_product_attention", q, k, v)
    assert lines(run, y, "scaled_dot_product_attention") == ["q, k: view → transpose", "v: view"]


def test_where_the_order_does_not_matter_numbers_tell_which_input_has_the_views():
    run, (a, b, _) = started()
    assert lines(run, run.op("add", a, run.op("to", b)), "add") == ["2: to"]
    run, (a, b, _) = started()
    assert lines(run, run.op("add", run.op("to", b), a), "add") == ["1: to"]
    run, (a, b, _) = started()
    assert lines(run, run.op("add", run.op("view", a), run.op("to", b)), "add") == ["1: view", "2: to"]
    run, (a, b, _) = started()
    assert lines(run, run.op("add", run.op("view", a), run.op("view", b)), "add") == ["every input: view"]


def test_numbers_in_the_box_stand_at_the_tips_of_its_lines():
    def slots(*parents):
        run, (a, b, _) = started()
        y = run.op("add", *[run.op("to", x) if viewed else x for x, viewed in zip((a, b), parents, strict=True)])
        drawing = run.done(run.op("relu", y)).draw(fold_repeats=False)
        key = next(node.key for node in drawing.scene.nodes() if node.rows[0].text == "add")
        return [
            (edge.source, edge.slots[edge.targets.index(key)] if edge.slots else "")
            for edge in drawing.scene.edges
            if key in edge.targets
        ]

    assert slots(False, True) == [("input_1", "1"), ("input_2", "2")]
    assert slots(True, False) == [("input_1", "1"), ("input_2", "2")]
    assert slots(False, False) == slots(True, True) == [("input_1", ""), ("input_2", "")]


def test_many_inputs_are_counted():
    run, (a, b, c) = started()
    names = ("view", "permute", "to", "clone", "float", "squeeze")
    parts = [run.op(name, x) for name, x in zip(names, (a, b, c, a, b, c), strict=True)] + [run.op("view", b)]
    assert lines(run, run.op("cat", *parts), "cat") == [
        "2 inputs: view", "another input: permute", "another input: to", "views of 3 other inputs",
    ]  # fmt: skip


def test_views_of_a_parameter_belong_to_it():
    run, (a, _, _) = started()
    table = viewed(run, run.op("view", params=[("part.table", (4, 2))]), "transpose")
    assert lines(run, run.op("add", a, table), "add part.table") == ["parameter (4, 2)", "parameter: view → transpose"]


def test_a_lone_input_beside_a_parameter_has_no_number():
    run, (a, _, _) = started()
    bias = run.op("float", params=[("bias", (8,))])
    assert lines(run, run.op("add", run.op("view", a), bias), "add bias") == [
        "parameter (8)", "input: view", "parameter: float",
    ]  # fmt: skip


def test_two_parameters_are_told_apart():
    run, (a, _, _) = started()
    up, down = run.op("view", params=[("m.up", (8,))]), run.op("float", params=[("m.down", (8,))])
    assert lines(run, run.op("attention", a, up, down), "m") == ["attention up, down", "up: view", "down: float"]


def test_views_beside_a_parameter_belong_to_the_input():
    run, (a, _, _) = started()
    y = run.op("float", run.op("linear", run.op("reshape", a), params=[("w", (8, 8))]))
    assert lines(run, y, "linear w") == ["parameter (8, 8)", "input: reshape", "linear → float"]


def test_one_tensor_has_its_views_in_one_line():
    run, (a, _, _) = started()
    y = run.op("contiguous", run.op("softmax", run.op("view", a)))
    assert lines(run, y, "softmax") == ["view → softmax → contiguous"]
    run, (a, _, _) = started()
    assert lines(run, run.op("matmul", a, run.op("transpose", a)), "matmul") == [
        "transpose → matmul"
    ]  # one line enters


def test_swin_and_the_experts_say_what_their_views_prepare():
    def said(name):
        return [row.text for node in picture(load(name), DEFAULTS).scene.nodes() for row in node.rows]

    swin, moe = said("swin"), said("moe")
    assert {"2: getitem [1] → transpose", "2: getitem [2]", "matmul → transpose → reshape"} <= set(swin)
    assert "parameter: getitem [tensor] → view → 3 more" in swin
    assert "getitem [0] → mul" in swin  # the scale is a number
    # the weights of the chosen experts, on the way in and out: a line brings the choice
    assert moe.count("1: getitem [tensor] of the parameter") == 2
