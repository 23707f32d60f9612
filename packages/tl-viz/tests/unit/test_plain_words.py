"""Words that cannot be taken for others: no sign for what has a name, and numbers of copies as numbers."""

from __future__ import annotations

from types import SimpleNamespace

from recorder import Recorder, experts_in_layers, padded
from said import rows_of
from sourced import here

from tl_viz._compose.ties import Ties
from tl_viz._measure import text_width


def learned(drawing):
    return [[row.text for row in node.rows] for node in drawing.scene.nodes() if node.learned]


def test_views_stand_before_and_after_the_class_of_a_module():
    run = Recorder()
    x = padded(run, run.input())
    y = run.layer("fc", "Linear", "linear", run.op("view", x), size=(8, 8))
    drawing = run.done(run.op("add", run.op("transpose", y), run.op("exp", x))).draw(fold_repeats=False)
    assert rows_of(drawing, "fc") == [["fc", "Linear", "view → Linear → transpose", "(1, 8) · 64 params"]]


def test_attention_has_a_short_name_among_its_views():
    run = Recorder()
    x = padded(run, run.input())
    y = run.op("scaled_dot_product_attention", run.op("exp", x), run.op("relu", x), run.op("log", x))
    drawing = run.done(run.op("relu", run.op("reshape", run.op("transpose", y)))).draw(fold_repeats=False)
    assert rows_of(drawing, "scaled_dot_product_attention")[0][1] == "attention → transpose → reshape"


def test_many_views_are_counted():
    run = Recorder()
    y = run.op("matmul", *[run.op(name, padded(run, run.input())) for name in ("exp", "relu")])
    for name in ("view", "transpose", "reshape", "permute"):
        y = run.op(name, y)
    drawing = run.done(run.op("relu", y)).draw(fold_repeats=False)
    assert rows_of(drawing, "matmul")[0][1] == "matmul → view → transpose → 2 more"


def test_parameters_of_one_owner_name_the_op():
    run = Recorder()
    with run.module("attn", "Attention"):
        y = run.op("linear", run.input(), params=[("attn.qkv.weight", (8, 8)), ("attn.qkv.bias", (8,))])
        y = run.op("mul", run.op("exp", y), params=[("attn.scales.up", (8,)), ("attn.scales.down", (8,))])
    assert learned(run.done(y).draw(collapse="none")) == [
        ["qkv", "linear", "(1, 8) · 72 params"],
        ["scales", "mul up, down", "(1, 8) · 16 params"],  # names that say more than `weight` and `bias` are kept
    ]


def test_parameters_without_a_common_owner_stand_behind_the_function():
    run = Recorder()
    x = run.input()
    names = ("w", "b", "c")
    y = run.op("linear", x, params=[(name, (8, 8)) for name in names[:2]])
    y = run.op("addmm", y, params=[(f"{name}{name}", (8, 8)) for name in names])
    assert learned(run.done(y).draw(collapse="none")) == [
        ["linear w, b", "(1, 8) · 128 params"],
        ["addmm", "ww, bb and 1 more", "(1, 8) · 192 params"],
    ]


def test_the_part_of_a_parameter_stands_behind_its_name():
    run = Recorder()
    x = run.input()
    part = run.op("__getitem__", params=[("table", (4, 8))], args=(x, 1))
    (rows,) = learned(run.done(run.op("add", x, part)).draw(collapse="none"))
    assert rows == ["getitem table [1]", "parameter (4, 8)", "(1, 8) · 32 params"]


def test_copies_name_the_parameters_of_the_first_and_the_last():
    run = Recorder()
    x = run.input()
    for index in range(4):
        x = run.op("mul", x, params=[(f"scales.{index}", (8,))])
    (rows,) = learned(run.done(x).draw(collapse="max", fold_repeats=True))
    assert rows == ["mul scales.0…3", "parameter (8)", "×4 own weights", "(1, 8) · 8 params ×4 · 32 in all"]


def test_a_stack_in_a_stack_counts_its_copies_in_all():
    """Four layers of two experts each: neither `each` nor a number of its own would say what is meant."""
    said = rows_of(experts_in_layers().draw(depth=2, collapse="none", fold_repeats=True), "e.0…1")
    assert said == [
        ["e.0…1", "Expert", "×2 own weights", "linear, relu", "(1, 8) · 64 params ×8 · 512 in all · 2 ops ×8"]
    ]


def ends(drawing):
    return {text for edge in drawing.scene.edges for text in edge.ends if text}


def test_tensors_of_one_box_that_copies_read_one_by_one_are_not_the_same_for_all():
    """Three scales made in one module: each of three layers reads its own, or all of them, or its own and the first."""
    for chosen, said in (
        (lambda made, layer: [made[layer]], "one per copy"),
        (lambda made, layer: made, "3 tensors, same for all 3"),
        (lambda made, layer: [made[layer], made[(layer + 1) % 3]], "2 tensors, into every copy"),
    ):
        run = Recorder()
        x = run.input()
        with run.module("scales", "Scales"):
            made = run.op("chunk", x, count=3)
        for layer in range(3):
            with run.module(f"h.{layer}", "Layer"):
                y = run.op("linear", x, params=[(f"h.{layer}.w", (8, 8))])
                x = run.op("addmm", y, *chosen(made, layer))
        assert ends(run.done(run.op("relu", x)).draw(depth=1, fold_repeats=True)) == {said}


def test_single_copies_and_rounds_are_called_what_they_are():
    """Runs of five copies and of five rounds, of which one or some give a tensor."""
    runs = [(run, index, -1) for run in (0, 1) for index in range(5)]
    ties = Ties(None, SimpleNamespace(looped=[False, True], copies=runs))
    for run, one, several in ((0, "copy", "copies"), (1, "round", "rounds")):
        path = ((run, 0),)
        said = [ties._given(path, {(index,) for index in given}, 1) for given in ((0,), (1,), (4,), (1, 2))]
        assert said == [f"first {one}", f"{one} 2", f"last {one}", f"2 of 5 {several}"]


def test_a_loop_without_parameters_counts_its_rounds():
    run = Recorder()
    x = h = run.input()
    for _ in range(5):
        h = run.op("lerp", h, x, frames=here())
    said = [row.text for node in run.done(h).draw().scene.nodes() for row in node.rows]
    assert "×5 rounds" in said


def test_a_node_leaves_no_room_for_numbers_that_are_not_drawn():
    """Views of one tensor are one line into `cat`, whose arguments need no numbers; those of two tensors are two lines."""
    heights = []
    for several in (False, True):
        run = Recorder()
        x = padded(run, run.input())
        other = run.op("relu", x)
        parts = [run.op("view", source) for source in (other, x if several else other)]
        y = run.op("cat", *parts, args=(parts, 1))
        drawing = run.done(run.op("add", y, run.op("log", other))).draw(fold_repeats=False)
        heights += [node.height for node in drawing.scene.nodes() if node.rows[0].text == "cat"]
    assert (
        heights[1] - heights[0] == 15.0
    )  # above and below, five pixels for `1` and `2`, and two and a half for the bar


def test_lines_of_text_stay_inside_of_round_ends():
    run = Recorder()
    inputs = [run.input(address=f"past.layers.{index}.a_long_name") for index in range(4)]
    for node in run.done(run.op("cat", *inputs)).draw(fold_repeats=True).scene.nodes():
        if node.role == "input":
            radius = node.height / 2
            top = sum(row.size for row in node.rows) / 2 + 1.5 * (len(node.rows) - 1)
            inset = radius - (radius**2 - top**2) ** 0.5
            assert text_width(node.rows[0].text, node.rows[0].size, True) <= node.width - 2 * inset
