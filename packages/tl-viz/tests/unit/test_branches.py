"""What is said of joins: in the second line under the title, and in closed boxes. The expected lines are counted by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from clauses import told
from columns import DEFAULTS, load, names
from nets import carrying, chain, dense, recurrent, transformer
from recorder import Recorder
from said import rows_of
from visible import visible

from tl_viz._display import Bar, Stroke, Words
from tl_viz._draw import picture
from tl_viz._measure import text_width
from tl_viz._plan import make_plan
from tl_viz._scene import joins_line
from tl_viz._write.pdf import to_pdf


def line(drawing):
    return joins_line(drawing.scene.joins)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("resnet50", "add_ in each Bottleneck"),
        # 58 layers, of which the first of each of four blocks reads one tensor; and one list at the end of each block
        (
            "densenet121",
            "cat in all but the first _DenseLayer of each _DenseBlock · cat at the end of each _DenseBlock",
        ),
        # two sums in each block and one of tokens with places; in the written out GELU tensors of one branch meet
        (
            "gpt2-12",
            "add ×2 in each GPT2Block · attention in each GPT2Attention · add in GPT2Model",
        ),
        (
            "gpt2-48",
            "add ×2 in each GPT2Block · attention in each GPT2Attention · add in GPT2Model",
        ),
        # keys and values with those of before
        (
            "gpt2-12-cache",
            "add ×2 in each GPT2Block · cat ×2, attention in each GPT2Attention · add in GPT2Model",
        ),
        ("vit", "add ×2 in each Block · attention in each Attention"),
        # four pieces of one tensor at each of three merges, and what makes the mask of shifted windows, are no branches
        (
            "swin",
            "add ×2 in each SwinTransformerBlock · attention matmul ×2 in each ShiftedWindowAttention",
        ),
        ("unet", "cat in each of the 4 steps of up.0…3, join.0…3"),
        ("lstm", "input with state in LSTM"),
        ("gru-500", "GRUCell in each of 500 rounds"),
        (
            "moe",
            # what a rotation, norms and a router do is arithmetic of one branch
            "add ×2 in each MixtralDecoderLayer · attention in each MixtralAttention · bmm with chosen experts ×2, mul by silu, mul by router weights in each MixtralExperts",
        ),
        (
            "mamba",
            # a stack of what the rounds gave has one branch
            "add at the end of each MambaBlock"
            " · in each mamba_selective_scan(): 2 before its loop, 3 in each of 12 rounds, 2 after it",
        ),
    ],
)
def test_known_networks(name, said):
    assert line(picture(load(name), DEFAULTS)) == f"branches join: {said}"


def joining(network, *, dead):
    """Return number of an op -> how often tensors meet at it: one for each call, and without `dead` only of what leads to an output."""
    needed, waiting = set(), [op for op, role in enumerate(network.roles) if role == "output"]
    while waiting:
        op = waiting.pop()
        if op not in needed:
            needed.add(op)
            waiting += [*network.parents[op], *network.back.get(op, ())]
    calls = {}
    for op, times in network.joins.items():
        if dead or op in needed:
            calls.setdefault(network.made_by[op] if network.made_by and network.made_by[op] else -op - 1, (op, times))
    return dict(calls.values())


@pytest.mark.parametrize("mode", ["auto", "none", "max", 0.3])
@pytest.mark.parametrize("name", names())
def test_the_clauses_add_up(name, mode):
    network = load(name)
    clauses = picture(network, replace(DEFAULTS, collapse=mode)).scene.joins
    branches = network.apart
    counted = joining(network, dead=mode == "none").items()
    assert sum(told(network, clause) for clause in clauses) == sum(times for op, times in counted if op in branches)


def test_a_chain_has_none():
    drawing = chain(30).draw()
    assert drawing.scene.joins == ("no branches",)
    (group,) = [group for group in drawing._display.groups if group.key == "joins"]
    assert [type(shape) for shape in group.shapes] == [Words]  # no sample of a bar
    assert "joins" not in str([row.text for node in drawing.scene.nodes() for row in node.rows])


def test_rounds_are_told_or_drawn():
    assert line(recurrent(20).draw()) == "branches join: GRUCell in each of 20 rounds"
    assert line(recurrent(20).draw(view="unrolled")) == "branches join: GRUCell ×20"


def test_in_a_loop_the_input_meets_the_state():
    assert line(carrying(20).draw(collapse="none")) == "branches join: addmm in each of 20 rounds of Cell"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (["mul"], ["sub"], "mul before its loop, addmm in each of 20 rounds, sub after it"),
        (["mul", "add"], ["sub"], "2 before its loop (mul, add), addmm in each of 20 rounds, sub after it"),
        ([], ["sub"], "addmm in each of 20 rounds, sub after it"),
        (["mul", "add", "div"], ["sub", "add"], "3 before its loop, 1 in each of 20 rounds, 2 after it"),
    ],
)
def test_what_joins_around_a_loop_is_told_in_the_order_of_the_drawing(before, after, said):
    run = Recorder()
    x, state = run.input((2, 20, 8)), run.op("zeros", shape=(2, 8))
    with run.module("scan", "Scan"):
        for at, function in enumerate(before):
            x = run.op(function, x, run.op("linear", x, params=[(f"scan.{at}", (8, 8))]))
        for _ in range(20):
            now = run.op("linear", run.op("__getitem__", x), params=[("scan.now", (8, 8))])
            state = run.op("tanh", run.op("addmm", state, now, params=[("scan.decay", (8, 8))]))
        for function in after:
            state = run.op(function, state, run.op("exp", x))
    assert line(run.done(state).draw(collapse="none")) == f"branches join: in Scan: {said}"


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("mul", "mul", "add"), "mul ×2, add"),
        (("mul", "mul", "add", "add", "add"), "mul ×2, add ×3"),
        (("mul", "add", "sub"), "mul, add, sub"),
        (("mul", "add", "sub", "sub"), "mul, add, sub ×2"),
        (("mul", "add", "sub", "sub", "sub"), "5 times"),
        (("mul", "matmul", "add", "sub", "sub"), "matmul and 4 more"),
        (("mul", "bmm", "add", "bmm", "add"), "bmm ×2 and 3 more"),
    ],
)
def test_an_inventory_is_not_listed(kinds, said):
    run = Recorder()
    x = run.input()
    with run.module("mix", "Mix"):
        for kind in kinds:
            x = run.op(kind, x, run.op("exp", x))
    assert line(run.done(x).draw(collapse="none")) == f"branches join: {said} in Mix"


def test_calls_with_several_outputs_count_once():
    run = Recorder()
    x = run.input()
    one, other = run.op("lerp", run.op("exp", x), run.op("log", x), count=2)
    drawing = run.done(run.op("tanh", one), run.op("sqrt", other)).draw()
    assert line(drawing) == "branches join: lerp"
    assert sum(bool(node.joins) for node in drawing.scene.nodes()) == 2  # each output has a box


def test_blocks_of_two_classes_are_told_apart():
    run = Recorder()
    x, memory = run.input(address="x"), run.input(address="memory")
    for kind, number in (("Encoder", 1), ("Decoder", 2)):
        for index in range(3):
            at = f"{kind.lower()}.{index}"
            with run.module(at, kind):
                for part in range(number):
                    x = run.op("add", x, run.layer(f"{at}.fc.{part}", "Linear", "linear", x, size=(8, 8)))
    said = line(run.done(run.op("sub", x, memory)).draw())
    assert said == "branches join: add at the end of each Encoder · add ×2 in each Decoder · sub"


def test_what_no_output_depends_on_is_not_counted():
    run = Recorder()
    x, other = run.input(address="x"), run.input(address="other")
    run.op("exp", run.op("add", x, other))
    trace = run.done(run.op("relu", x), run.op("neg", other))
    assert line(trace.draw()) == "no branches"
    drawing = trace.draw(collapse="none")  # nothing is gathered, and two lines arrive
    assert line(drawing) == "branches join: add"
    assert [node.rows[0].text for node in drawing.scene.nodes() if node.joins] == ["add"]


def test_many_kinds_are_cut():
    run = Recorder()
    x = run.input()
    places = run.op("arange")
    x = run.op("masked_fill", x, run.op("le", places, run.op("neg", places)))
    for number, kind in enumerate(("add", "mul", "sub", "div", "max"), start=1):
        for _ in range(number):
            x = run.op(kind, x, run.op("exp", x))
    assert line(run.done(x).draw(collapse="none")) == ("branches join: le, masked_fill, add, mul ×2, sub ×3 and 9 more")


def test_joins_in_more_than_six_places_are_counted():
    run = Recorder()
    x = run.input()
    for number in range(9):
        with run.module(f"m{number}", f"Kind{number}"):
            for _ in range(number + 1):
                x = run.op("add", x, run.op("exp", x))
    assert run.done(x).draw(collapse="none").scene.joins == (
        "add in Kind0", "add ×2 in Kind1", "add ×3 in Kind2", "add ×4 in Kind3", "add ×5 in Kind4", "add ×6 in Kind5",
        "and 24 more",
    )  # fmt: skip


def test_a_module_that_is_one_op_is_called_by_its_class():
    run = Recorder()
    x = run.input()
    with run.module("mix", "Mix"):
        y = run.op("bilinear", x, run.op("exp", x))
    y = run.layer("fuse", "Fuse", "bilinear", x, y)
    assert line(run.done(y).draw()) == "branches join: bilinear in Mix · Fuse"


@pytest.mark.parametrize(
    "name", sorted(set(names()) - {"mamba", "gru-500", "lstm"})
)  # every place of a loop is drawn once
def test_without_folding_there_are_as_many_bars_as_are_counted(name):
    network = load(name)
    drawing = picture(network, replace(DEFAULTS, collapse="none", fold_repeats=False))
    assert sum(bool(node.joins) for node in drawing.scene.nodes()) == sum(joining(network, dead=True).values())


@pytest.mark.parametrize("mode", ["auto", "max", 0.3])
@pytest.mark.parametrize("name", names())
def test_what_is_counted_has_a_bar_or_stands_in_a_box_that_says_so(name, mode):
    network = load(name)
    drawing = picture(network, replace(DEFAULTS, collapse=mode))
    plan = make_plan(network, mode, fold_repeats=True)
    op_at, branches = plan.tree.op_at, network.apart
    for node, (branch, shifts) in zip(drawing.scene.nodes(), visible(plan), strict=True):
        held = {op_at[at + shift] for shift in shifts for at in range(branch.first, branch.end)} & network.joins.keys()
        if branch.kind == "bundle":
            continue
        if branch.op >= 0:
            assert node.joins == ("branches" if held & branches else "branch" if held else None)
        else:
            assert any("joins" in row.text for row in node.rows) == bool(held & branches)
            assert node.joins is None or (node.joins == "branches" and held & branches)


def closed_pair(*, loop=False):
    """Two closed modules, one with two sums and a product, one a chain."""
    run = Recorder()
    x = run.input()
    for _ in range(4 if loop else 1):
        with run.module("mix", "Mix"):
            x = run.op("add", x, run.op("exp", x))
            x = run.op("mul", x, run.op("tanh", run.op("add", x, run.op("log", x))))
    with run.module("plain", "Plain"):
        x = run.op("neg", run.op("sqrt", x))
    return run.done(x).draw(depth=1, collapse="max")


def test_closed_boxes_say_what_joins_in_them_and_chains_say_nothing():
    drawing = closed_pair()
    ((*_, held, _),) = rows_of(drawing, "mix")
    assert held == "add ×2, mul, exp, log and 1 more · joins: add ×2, mul"
    ((*_, held, _),) = rows_of(drawing, "plain")
    assert "joins" not in held


def test_in_a_loop_they_say_what_joins_in_each_round():
    drawing = closed_pair(loop=True)
    ((*_, held, _),) = rows_of(drawing, "mix")
    assert held.endswith("joins each round: add ×2, mul")
    assert line(drawing) == "branches join: add ×2, mul in each Mix"


def test_lines_are_as_long_as_there_is_room_for_and_break_between_clauses():
    for name in names():
        drawing = picture(load(name), DEFAULTS)
        (group,) = [group for group in drawing._display.groups if group.key == "joins"]
        lines = [shape for shape in group.shapes if isinstance(shape, Words)]
        assert [shape.colour for shape in group.shapes if isinstance(shape, Stroke)] == ["#52606d"]  # a sample of a bar
        assert sum(isinstance(shape, Bar) for shape in group.shapes) == 1
        assert " · ".join(words.text.removeprefix("· ") for words in lines) == line(drawing)
        room = min(max(drawing.geometry.width + 32, 600), 980)
        starts = [words.text.removeprefix("· ").partition(" · ")[0] for words in lines[1:]]
        for words, following in zip(lines, starts, strict=False):
            assert text_width(f"{words.text} · {following}", 11.0) > room
        assert all(words.x + words.width <= drawing.width - 16 + 0.01 for words in lines)
        assert [below.y - above.y for above, below in pairwise(lines)] == [18.0] * (len(lines) - 1)


def test_the_line_is_in_every_format():
    drawing = transformer(12).draw()
    said = line(drawing)
    assert said == "branches join: add ×2 in each Block · attention in each Attention · add in Backbone"
    assert said in drawing.svg
    assert b"branches join: add \\3272 in each Block" in to_pdf(drawing._display)
    assert said in drawing.dot


def test_a_row_of_layers_that_read_all_before():
    # the first layer of each block reads one tensor
    assert line(dense((6, 12)).draw()) == (
        "branches join: cat in all but the first DenseLayer of each DenseBlock · cat at the end of each DenseBlock"
    )
