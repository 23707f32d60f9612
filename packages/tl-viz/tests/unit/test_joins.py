"""A bar marks the items in which two or more tensors meet; which ones these are is worked out here by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from columns import DEFAULTS, load, names
from nets import dense, transformer
from recorder import Recorder
from visible import visible

from tl_viz._display import MARGIN, Bar, Stroke
from tl_viz._draw import picture
from tl_viz._plan import make_plan
from tl_viz._write.pdf import to_pdf


def joins(drawing):
    """Titles of the items with a bar, in order."""
    return [node.rows[0].text for node in drawing.scene.nodes() if node.joins]


def residual():
    run = Recorder()
    x = run.input()
    y = run.layer("conv", "Conv2d", "conv2d", x, size=(8, 8))
    y = run.layer("norm", "BatchNorm2d", "batch_norm", y, size=(8,))
    y = run.op("add", y, x)
    return run.done(run.op("relu", y))


def test_a_residual_block_joins_at_its_sum():
    assert joins(residual().draw()) == ["add"]


def test_attention_joins_queries_keys_and_values():
    run = Recorder()
    x = run.input()
    q, k, v = (run.layer(name, "Linear", "linear", x, size=(8, 8)) for name in "qkv")
    assert joins(run.done(run.op("scaled_dot_product_attention", q, k, v)).draw()) == ["scaled_dot_product_attention"]


def test_outputs_of_one_call_join_though_one_line_carries_them():
    run = Recorder()
    parts = run.op("unbind", run.layer("qkv", "Linear", "linear", run.input(), size=(24, 8)), count=3)
    drawing = run.done(run.op("scaled_dot_product_attention", *parts)).draw()
    assert [len(edge.targets) for edge in drawing.scene.edges] == [1, 1, 1, 1]
    assert joins(drawing) == ["scaled_dot_product_attention"]


def test_branches_that_are_drawn_as_one_stack_join():
    run = Recorder()
    x = run.input()
    branches = [run.layer(f"branch.{index}", "Branch", "linear", x, size=(8, 8)) for index in range(4)]
    assert joins(run.done(run.op("cat", *branches)).draw()) == ["cat"]


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
def test_what_the_rounds_of_one_module_give_joins(view):
    run = Recorder()
    x = run.input()
    kept = [x := run.layer("cell", "Cell", "linear", x, size=(8, 8)) for _ in range(4)]
    drawing = run.done(run.op("stack", *kept)).draw(view=view)
    assert joins(drawing) == ["stack"]
    assert [text for edge in drawing.scene.edges for text in edge.ends if text] == [
        "first round",
        "4 tensors, all rounds",
    ]


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
def test_one_module_that_reads_another_tensor_in_each_round_joins_none(view):
    run = Recorder()
    sides = [run.input(address="left"), run.input(address="right")]
    left, right = (run.layer("proj", "Linear", "linear", x, size=(8, 8)) for x in sides)
    assert joins(run.done(run.op("sub", left, right)).draw(view=view)) == ["sub"]


def test_one_tensor_read_twice_does_not_join():
    run = Recorder()
    assert joins(run.done(run.op("add", x := run.input(), x)).draw()) == []


def test_a_parameter_does_not_join():
    run = Recorder()
    x = run.op("mul", run.input(), params=[("scale", (8,))])
    assert joins(run.done(x).draw()) == []


def test_a_mask_joins_where_its_line_arrives_and_buffers_and_sizes_do_not():
    run = Recorder()
    x = run.input()
    mask = run.op("tril", run.op("new_ones", x))
    y = run.op("add", run.op("mul", x, mask), run.buffer("shift"))
    assert joins(run.done(y).draw(show_buffers=True)) == ["mul"]


def viewed(readers, length):
    """A parameter that is expanded before so many additions, in a network of so many more ops."""
    run = Recorder()
    x = run.input()
    table = run.op("expand", params=[("table", (1, 8))])
    for _ in range(readers):
        x = run.op("add", x, table)
    for index in range(length):
        x = run.op(("exp", "log", "neg", "tanh", "abs")[(index * index + index // 3) % 5], x)
    return run.done(x)


@pytest.mark.parametrize(
    ("readers", "length", "collapse", "said"),
    [
        (1, 50, "auto", []),  # it stands in the box of the sum: a parameter
        (2, 50, "auto", ["add", "add"]),  # it has a box of its own, and two lines
        (1, 5, "auto", ["add"]),  # in a small network every view has
        (1, 50, "none", ["add"]),
    ],
)
def test_a_view_of_a_parameter_joins_only_where_it_has_a_box_of_its_own(readers, length, collapse, said):
    drawing = viewed(readers, length).draw(collapse=collapse, fold_repeats=False)
    assert joins(drawing) == said


def test_two_inputs_join_and_outputs_do_not():
    run = Recorder()
    y = run.op("add", run.input(address="a"), run.input(address="b"))
    trace = run.done(run.op("relu", y), run.op("exp", y))
    assert joins(trace.draw()) == ["add"]


def test_a_gate_joins_and_a_cat_of_parts_of_one_tensor_does_not():
    run = Recorder()
    left, right = run.op("chunk", run.input(), count=2)
    y = run.op("mul", run.op("silu", left), right)  # one half of the call is read twice removed, the other at once
    assert joins(run.done(y).draw()) == ["mul"]


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
def test_the_cell_of_a_loop_joins_input_and_state(view):
    # a slice, and zeros or what the round before gave
    run = Recorder()
    x = run.input((2, 3, 8))
    h = run.op("new_zeros", x, shape=(2, 16))
    for _ in range(3):
        now = run.op("__getitem__", x, shape=(2, 8))
        h = run.layer("cell", "GRUCell", "gru_cell", now, h, shape=(2, 16), size=(48, 24))
    drawing = run.done(h).draw(view=view, collapse="none", fold_repeats=False)
    assert joins(drawing) == (["cell"] if view == "rolled" else ["cell", "cell", "cell"])


def test_closed_boxes_join_where_two_lines_arrive():
    run = Recorder()
    x, memory = run.input(address="x"), run.input(address="memory")
    for index in range(2):
        with run.module(f"parts.{index}", f"Part{index}"):
            y = run.op("exp", x)
            x = run.op("add", run.op("relu", y), memory if index else y)
    drawing = run.done(x).draw(depth=1, collapse="max")
    # the sum of the first part stands inside of it, and one line arrives; at the second there arrive two
    assert joins(drawing) == ["parts.1"]


def test_in_a_dense_stack_the_list_joins_though_its_first_copy_reads_one_tensor():
    drawing = dense((4,)).draw()
    assert joins(drawing) == ["cat", "cat"]  # of the layers, and after them
    first = next(node for node in drawing.scene.nodes() if node.joins)
    assert sum(first.key in edge.targets for edge in drawing.scene.edges) == 1


def test_a_stack_that_reads_the_copy_before_does_not_join_at_its_entrance():
    # tokens with places, attention with its mask, and the two sums of a block; the first norm reads what is before, or the block before
    assert joins(transformer(12).draw()) == ["add", "scaled_dot_product_attention", "add", "add"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("resnet50", ["add_", "add_"]),  # of the first block, and of the others of the first stage
        ("vit", ["scaled_dot_product_attention", "add", "add"]),
        ("lstm", ["lstm()"]),  # a sequence, and two states of zeros
        ("swin", ["matmul", "matmul", "add", "add", "cat"]),  # at last four pieces of one tensor
        ("densenet121", ["cat", "cat"]),
        ("unet", ["cat"]),
        ("gru-500", ["cell"]),
        # tokens with positions; keys and values with those of before; attention; the two sums
        ("gpt2-12-cache", ["add", "cat", "cat", "scaled_dot_product_attention", "add", "add"]),
    ],
)
def test_known_networks(name, said):
    assert joins(picture(load(name), DEFAULTS)) == said


@pytest.mark.parametrize("direction", ["topdown", "bottomup", "leftright", "rightleft"])
def test_the_bar_lies_along_the_side_at_which_the_arrows_arrive(direction):
    drawing = residual().draw(direction=direction)
    marked = {node.key: node.joins for node in drawing.scene.nodes()}
    tips = [line.points[-1] for line in drawing.geometry.lines if line.arrow]
    head = 16 + 24 + 18 * (bool(drawing.scene.heavy) + 2)
    for group in drawing._display.groups:
        if group.kind != "node":
            continue
        bars = [shape for shape in group.shapes if isinstance(shape, Stroke)]
        assert len(bars) == bool(marked[group.key])
        if not bars:
            continue
        ((start, end),) = bars[0].lines
        box = [shape for shape in group.shapes if isinstance(shape, Bar)][-1]
        mine = [(x + MARGIN, y + head) for x, y in tips]
        mine = [
            (x, y)
            for x, y in mine
            if box.x - 1 <= x <= box.x + box.width + 1 and box.y - 1 <= y <= box.y + box.height + 1
        ]
        assert len(mine) == 2
        for x, y in mine:  # each arrow stands on the bar
            assert min(start[0], end[0]) - 2.5 <= x <= max(start[0], end[0]) + 2.5
            assert min(start[1], end[1]) - 2.5 <= y <= max(start[1], end[1]) + 2.5


def test_every_format_and_the_legend_show_it():
    drawing = residual().draw()
    said = "branches join; a parameter is no branch"
    assert said in drawing.svg
    assert b"branches join; a parameter is no branch" in to_pdf(drawing._display)
    assert drawing.dot.count("arrowhead=teenormal") == 2  # both lines to the sum, and no other
    assert drawing.svg.count('stroke-width="5"') == 1
    plain = Recorder()
    assert said not in plain.done(plain.op("relu", plain.input())).draw().svg


def test_a_closed_box_that_two_tensors_pass_through_side_by_side_does_not_join():
    run = Recorder()
    x, other = run.input(address="x"), run.input(address="other")
    with run.module("part", "Part"):
        left, right = run.op("exp", x), run.op("log", other)
    assert joins(run.done(left, right).draw(depth=1, collapse="max")) == []


def test_a_closed_box_joins_two_tensors_that_one_line_carries():
    run = Recorder()
    with run.module("split", "Split"):
        x = run.op("exp", run.input())
        left, right = run.op("log", x), run.op("neg", x)
    with run.module("sum", "Sum"):
        y = run.op("tanh", run.op("add", left, right))
    drawing = run.done(y).draw(depth=1, collapse="max")
    assert joins(drawing) == ["sum"]
    assert [edge.ends for edge in drawing.scene.edges if edge.ends] == [("2 tensors",)]


@pytest.mark.parametrize("mode", ["auto", "max", 0.3])
@pytest.mark.parametrize("name", names())
def test_two_tensors_at_a_box_mean_a_bar_and_a_bar_two_tensors(name, mode):
    network = load(name)
    drawing = picture(network, replace(DEFAULTS, collapse=mode))
    plan = make_plan(network, mode, fold_repeats=True)
    branches = network.apart
    arriving = dict.fromkeys([node.key for node in drawing.scene.nodes()], 0)
    for edge in drawing.scene.edges:
        texts = edge.ends or [""] * len(edge.targets)
        for target, text in zip(edge.targets, texts, strict=True):
            arriving[target] += 2 if " tensors" in text else 1
    for node, (branch, _) in zip(drawing.scene.nodes(), visible(plan), strict=True):
        if node.role not in {"op", "module"}:
            continue
        views = any(" → " in row.text for row in node.rows)  # pieces of one tensor, taken in the box itself
        held = {plan.tree.op_at[at] for at in range(branch.first, branch.last_end)}
        inside = node.role == "op" or bool(held & branches)
        assert arriving[node.key] < 2 or node.joins or not inside, node.rows[0].text
        assert arriving[node.key] > 1 or not node.joins or views, node.rows[0].text


def test_closed_copies_join_what_the_copy_before_gives_with_what_all_read():
    run = Recorder()
    memory = run.input(address="memory")
    x = run.op("new_zeros", memory)  # so that one line arrives at the first copy
    for index in range(4):
        with run.module(f"layers.{index}", "Layer"):
            x = run.op("add", run.op("exp", x), run.op("log", memory))
    drawing = run.done(x).draw(depth=1, collapse="max")
    assert joins(drawing) == ["layers.0…3"]


def test_what_is_read_for_its_size_does_not_join():
    run = Recorder()
    x, other = run.input(address="x"), run.input(address="other")
    with run.module("part", "Part"):
        y = run.op("mul", run.op("exp", x), run.op("new_ones", other))
    assert joins(run.done(run.op("relu", y), run.op("neg", other)).draw(depth=1, collapse="max")) == []


def test_a_tensor_that_is_made_in_the_size_of_another_joins_nothing():
    run = Recorder()
    x, other = run.input(address="x"), run.input(address="other")
    y = run.op("exp", run.op("new_full", x, other))
    drawing = run.done(y, run.op("relu", x), run.op("neg", other)).draw()
    assert joins(drawing) == []
    assert drawing.scene.joins == ("no branches",)


def test_what_no_output_needs_does_not_join():
    run = Recorder()
    x, other = run.input(address="x"), run.input(address="other")
    run.op("exp", run.op("add", x, other))
    drawing = run.done(run.op("relu", x), run.op("neg", other)).draw()
    assert any(node.role == "bundle" for node in drawing.scene.nodes())
    assert joins(drawing) == []
