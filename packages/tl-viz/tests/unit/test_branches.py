"""What is said of joins: in the second line under the title, and in closed boxes. The expected lines are counted by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from clauses import told
from columns import DEFAULTS, load, names
from nets import chain, dense, recurrent, transformer
from recorder import Recorder
from said import rows_of

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
        ("densenet121", "cat in all but the first _DenseLayer of each _DenseBlock · cat in each _DenseBlock"),
        # two sums in each block and one of tokens with places; the written out GELU has a sum and a product of two tensors
        (
            "gpt2-12",
            "add ×2 in each GPT2Block · attention in each GPT2Attention · add in GPT2Model · in closed boxes: 24 more in GPT2MLP",
        ),
        (
            "gpt2-48",
            "add ×2 in each GPT2Block · attention in each GPT2Attention · add in GPT2Model · in closed boxes: 96 more in GPT2MLP",
        ),
        # keys and values with those of before; `le` makes the mask
        (
            "gpt2-12-cache",
            "add ×2 in each GPT2Block · cat ×2, attention in each GPT2Attention · add in GPT2Model"
            " · in closed boxes: 25 more in GPT2MLP, GPT2Model",
        ),
        ("vit", "add ×2 in each Block · attention in each Attention"),
        # four pieces at each of three merges; a mask for the windows of two blocks, one in each of two closed boxes, takes four
        (
            "swin",
            "add ×2 in each SwinTransformerBlock · cat in each PatchMerging · attention matmul ×2 in each ShiftedWindowAttention"
            " · in closed boxes: 8 more in features.1.1, features.3",
        ),
        ("unet", "cat in each of the 4 steps of up.0…3, join.0…3"),
        ("lstm", "input with state in LSTM"),
        ("gru-500", "GRUCell in each of 500 rounds"),
        (
            "moe",
            "add ×2 in each MixtralDecoderLayer · attention in each MixtralAttention"
            " · 8 times in each apply_rotary_pos_emb() · bmm ×2, mul in each MixtralExperts"
            " · div_ in each MixtralTopKRouter"
            " · in closed boxes: 14 more in MixtralRMSNorm, _default_apply_gate(), MixtralRotaryEmbedding",
        ),
        (
            "mamba",
            "add in each MambaBlock"
            " · 6 times in each mamba_selective_scan(), and mul, add, matmul in each of its 12 rounds"
            " · in closed boxes: 7 more in MambaRMSNorm",
        ),
    ],
)
def test_known_networks(name, said):
    assert line(picture(load(name), DEFAULTS)) == f"branches join: {said}"


def joining(network, *, dead):
    """Return number of an op -> how often branches join at it: one for each call, and without `dead` only of what leads to an output."""
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
    assert sum(told(network, clause) for clause in clauses) == sum(joining(network, dead=mode == "none").values())


def test_a_chain_has_none():
    drawing = chain(30).draw()
    assert drawing.scene.joins == ("no branches",)
    (group,) = [group for group in drawing._display.groups if group.key == "joins"]
    assert [type(shape) for shape in group.shapes] == [Words]  # no sample of a bar
    assert "joins" not in str([row.text for node in drawing.scene.nodes() for row in node.rows])


def test_rounds_are_told_or_drawn():
    assert line(recurrent(20).draw()) == "branches join: GRUCell in each of 20 rounds"
    assert line(recurrent(20).draw(view="unrolled")) == "branches join: GRUCell ×20"


def test_calls_with_several_outputs_count_once():
    run = Recorder()
    x = run.input()
    one, other = run.op("lerp", run.op("exp", x), run.op("log", x), count=2)
    drawing = run.done(run.op("tanh", one), run.op("sqrt", other)).draw()
    assert line(drawing) == "branches join: lerp"
    assert sum(node.joins for node in drawing.scene.nodes()) == 2  # each output has a box


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
    assert said == "branches join: add in each Encoder · add ×2 in each Decoder · sub"


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
    assert sum(node.joins for node in drawing.scene.nodes()) == sum(joining(network, dead=True).values())


def visible(plan):
    """Return what is drawn as one box each, in order, with how far from there it stands in each copy."""
    found, waiting = [], [(child, (0,)) for child in reversed(plan.tree.root.children)]
    while waiting:
        branch, around = waiting.pop()
        starts = (branch.first, *branch.others)
        shifts = tuple(outer + start - branch.first for outer in around for start in starts)
        if branch.children and plan.is_open(branch):
            waiting.extend((child, shifts) for child in reversed(branch.children))
        else:
            found.append((branch, shifts))
    return found


@pytest.mark.parametrize("mode", ["auto", "max", 0.3])
@pytest.mark.parametrize("name", names())
def test_what_is_counted_has_a_bar_or_stands_in_a_box_that_says_so(name, mode):
    network = load(name)
    drawing = picture(network, replace(DEFAULTS, collapse=mode))
    plan = make_plan(network, mode, fold_repeats=True)
    op_at = plan.tree.op_at
    for node, (branch, shifts) in zip(drawing.scene.nodes(), visible(plan), strict=True):
        held = {op_at[at + shift] for shift in shifts for at in range(branch.first, branch.end)} & network.joins.keys()
        if branch.kind == "bundle":
            continue
        if branch.op >= 0:
            assert node.joins == bool(held)
        else:
            assert any("joins" in row.text for row in node.rows) == bool(held)


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
        bar, stroke, *lines = group.shapes
        assert isinstance(bar, Bar)
        assert isinstance(stroke, Stroke)
        assert " · ".join(words.text.removeprefix("· ") for words in lines) == line(drawing)
        room = min(max(drawing.geometry.width + 32, 600), 700)
        starts = [words.text.removeprefix("· ").partition(" · ")[0] for words in lines[1:]]
        for words, following in zip(lines, starts, strict=False):
            apart = following.startswith("in closed boxes: ")
            assert apart or text_width(f"{words.text} · {following}", 11.0) > room
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
        "branches join: cat in all but the first DenseLayer of each DenseBlock · cat in each DenseBlock"
    )
