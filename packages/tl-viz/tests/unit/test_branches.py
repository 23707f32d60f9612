"""What is said of joins: in the second line under the title, and in closed boxes. The expected lines are counted by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from columns import DEFAULTS, load, names
from nets import chain, dense, recurrent, transformer
from recorder import Recorder
from said import rows_of

from tl_viz._display import Bar, Stroke, Words
from tl_viz._draw import picture
from tl_viz._measure import text_width
from tl_viz._plan import make_plan
from tl_viz._write.pdf import to_pdf

LATE = {"mamba", "gru-500", "lstm"}
"""Networks with a loop, of which every place is drawn once, or with a call of several outputs."""


def line(drawing):
    return drawing.scene.joins[0]


def numbers(text):
    """Return how many joins of each kind a line tells of."""
    kinds = re.sub(r" \(.*\)$", "", text).removeprefix("branches join at: ")
    found = [re.fullmatch(r"(\S+?)(?: ×([\d,]+))?", kind) for kind in kinds.split(", ")]
    return {kind[1]: int((kind[2] or "1").replace(",", "")) for kind in found}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("resnet50", "add_ ×16 (one in each Bottleneck)"),
        # 58 layers, of which the first of each of four blocks reads one tensor; and one list at the end of each block
        ("densenet121", "cat ×58 (in 54 of 58 _DenseLayer, 4 outside)"),
        # two sums in each block and one of tokens with places; the written out GELU adds a cube, and multiplies two parts
        ("gpt2-12", "add ×37, scaled_dot_product_attention ×12, mul ×12 (5 in each GPT2Block, 1 outside)"),
        ("gpt2-48", "add ×145, scaled_dot_product_attention ×48, mul ×48 (5 in each GPT2Block, 1 outside)"),
        # keys and values with those of before; `le` makes the mask
        (
            "gpt2-12-cache",
            "add ×37, cat ×24, scaled_dot_product_attention ×12, mul ×12, le (7 in each GPT2Block, 2 outside)",
        ),
        ("vit", "add ×24, scaled_dot_product_attention ×12 (3 in each Block)"),
        # two products and two sums in each of twelve blocks; four pieces at each of three merges; two blocks with a mask
        (
            "swin",
            "add ×26, matmul ×24, cat ×3, masked_fill ×4, sub ×2 (4…8 in each SwinTransformerBlock, one in each PatchMerging)",
        ),
        ("unet", "cat ×4"),
        ("lstm", "lstm"),
        ("gru-500", "GRUCell ×500 (every round)"),
        (
            "moe",
            "mul ×34, add ×16, bmm ×8, scaled_dot_product_attention ×4, div_ ×4 and 1 more kind"
            " (18 in each MixtralDecoderLayer, 2 outside)",
        ),
        # 12 rounds of a product, a sum and another product in each of six blocks
        ("mamba", "mul ×103, add ×84, matmul ×72, stack ×6 (44 in each MambaBlock, 1 outside)"),
    ],
)
def test_known_networks(name, said):
    assert line(picture(load(name), DEFAULTS)) == f"branches join at: {said}"


def test_a_chain_has_none():
    drawing = chain(30).draw()
    assert drawing.scene.joins == ("no branches",)
    (group,) = [group for group in drawing._display.groups if group.key == "joins"]
    assert [type(shape) for shape in group.shapes] == [Words]  # no sample of a bar
    assert "joins" not in str([row.text for node in drawing.scene.nodes() for row in node.rows])


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
def test_rounds_are_counted_one_by_one(view):
    found = line(recurrent(20).draw(view=view))
    assert found.removesuffix(" (every round)") == "branches join at: GRUCell ×20"


def test_calls_with_several_outputs_count_once():
    run = Recorder()
    x = run.input()
    one, other = run.op("lerp", run.op("exp", x), run.op("log", x), count=2)
    drawing = run.done(run.op("tanh", one), run.op("sqrt", other)).draw()
    assert line(drawing) == "branches join at: lerp"
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
    assert said == "branches join at: add ×9, sub (2 in each Decoder, one in each Encoder, 1 outside)"


def test_what_no_output_depends_on_is_not_counted():
    run = Recorder()
    x, other = run.input(address="x"), run.input(address="other")
    run.op("exp", run.op("add", x, other))
    trace = run.done(run.op("relu", x), run.op("neg", other))
    assert line(trace.draw()) == "no branches"
    drawing = trace.draw(collapse="none")  # nothing is gathered, and two lines arrive
    assert line(drawing) == "branches join at: add"
    assert [node.rows[0].text for node in drawing.scene.nodes() if node.joins] == ["add"]


def test_many_kinds_are_cut_and_what_is_the_same_in_every_run_comes_last():
    run = Recorder()
    x = run.input()
    places = run.op("arange")
    x = run.op("masked_fill", x, run.op("le", places, run.op("neg", places)))
    for number, kind in enumerate(("add", "mul", "sub", "div", "max"), start=1):
        for _ in range(number):
            x = run.op(kind, x, run.op("exp", x))
    assert line(run.done(x).draw(collapse="none")) == (
        "branches join at: max ×5, div ×4, sub ×3, mul ×2, masked_fill and 2 more kinds"
    )


def test_a_module_that_is_one_op_is_called_by_its_class():
    run = Recorder()
    x = run.input()
    with run.module("mix", "Mix"):
        y = run.op("bilinear", x, run.op("exp", x))
    y = run.layer("fuse", "Fuse", "bilinear", x, y)
    assert line(run.done(y).draw()) == "branches join at: bilinear, Fuse"


@pytest.mark.parametrize("name", [name for name in names() if name not in LATE])
def test_without_folding_there_are_as_many_bars_as_are_counted(name):
    drawing = picture(load(name), replace(DEFAULTS, collapse="none", fold_repeats=False))
    network = load(name)
    kinds = {}
    for node in drawing.scene.nodes():
        if node.joins:
            function = network.functions[list(network.labels).index(node.first)]
            kinds[function] = kinds.get(function, 0) + 1
    told = {kind: number for kind, number in kinds.items() if kind in line(drawing)}
    assert all(f"{kind} ×{number}" in line(drawing) or number == 1 for kind, number in told.items())
    hidden = re.search(r"and (\d+) more kind", line(drawing))
    assert len(kinds) == len(told) + (int(hidden[1]) if hidden else 0)


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
    op_at, met = plan.tree.op_at, set()
    for node, (branch, shifts) in zip(drawing.scene.nodes(), visible(plan), strict=True):
        held = {op_at[at + shift] for shift in shifts for at in range(branch.first, branch.end)} & network.joins.keys()
        if branch.kind == "bundle":
            continue
        if branch.op >= 0:
            assert node.joins == bool(held)
        else:
            assert any("joins" in row.text for row in node.rows) == bool(held)
        met |= {network.functions[op] for op in held}
    shown = numbers(re.sub(r" and \d+ more kinds?", "", line(drawing)))
    assert {kind for kind in shown if kind != "GRUCell"} <= met


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
    assert line(drawing) == "branches join at: add ×8, mul ×4"


def test_the_line_is_as_long_as_there_is_room_for():
    for name in names():
        drawing = picture(load(name), DEFAULTS)
        (group,) = [group for group in drawing._display.groups if group.key == "joins"]
        bar, words = group.shapes[1], group.shapes[-1]
        assert isinstance(group.shapes[0], Bar)
        assert isinstance(bar, Stroke)
        assert words.text in drawing.scene.joins
        assert words.x + words.width <= drawing.width - 16 + 0.01
        longer = drawing.scene.joins[: drawing.scene.joins.index(words.text)]
        assert all(words.x + text_width(text, 11.0) > drawing.geometry.width + 16 for text in longer)


def test_the_line_is_in_every_format():
    drawing = transformer(12).draw()
    said = line(drawing)
    assert said == "branches join at: add ×25, scaled_dot_product_attention ×12 (3 in each Block, 1 outside)"
    assert said in drawing.svg
    assert b"branches join at: add \\32725, scaled_dot_product_attention" in to_pdf(drawing._display)
    assert said in drawing.dot


def test_a_row_of_layers_that_read_all_before():
    # the first layer of each block reads one tensor
    said = "cat ×18 (in 16 of 18 DenseLayer, 2 outside)"
    assert line(dense((6, 12)).draw()) == f"branches join at: {said}"
