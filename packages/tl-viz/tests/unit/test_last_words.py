"""What was misread most: what copies are, whose outputs leave a line, and how many shapes a closed box gives away."""

from __future__ import annotations

import pytest
from columns import DEFAULTS, load
from recorder import Recorder, experts_in_layers
from said import rows_of, titles

from tl_viz._draw import picture


def ends(drawing):
    return [text for edge in drawing.scene.edges for text in edge.ends if text]


def legend(drawing, key):
    return [shape.text for group in drawing._display.groups if group.key == f"legend-{key}" for shape in group.shapes]


def stacked(class_name):
    """Three modules of a class with one frame in each, which holds two layers of 8 × 8."""
    run = Recorder()
    x = run.input()
    for index in range(3):
        at = f"h.{index}"
        with run.module(at, class_name):
            with run.module(f"{at}.part", "Experts"):
                y = run.layer(f"{at}.part.a", "Linear", "linear", x, size=(8, 8))
                y = run.layer(f"{at}.part.b", "Linear", "linear", run.op("relu", y), size=(8, 8))
            x = run.op("add", x, y)
    return run.done(x).draw(collapse="none", fold_repeats=True)


@pytest.mark.parametrize(
    ("class_name", "noun"),
    [
        ("MixtralDecoderLayer", "layers"), ("GPT2Block", "blocks"), ("_Stage", "stages"), ("GRUCell", "cells"),
        ("Expert", "experts"), ("TransformerEncoder", "encoders"), ("Bottleneck", "copies"), ("Experts", "copies"),
        ("Layered", "copies"), ("Multihead", "copies"),
    ],
)  # fmt: skip
def test_frames_in_a_stack_say_what_its_copies_are(class_name, noun):
    drawing = stacked(class_name)
    assert titles(drawing) == [
        f"h.0…2 {class_name} ×3 own weights 128 params ×3 {noun} · 384 in all",
        f"part Experts 128 params ×3 {noun}",
    ]
    assert rows_of(drawing, "a") == [["a", "Linear", "(1, 8) · 64 params ×3"]]  # boxes are as short as before


def test_copies_of_copies_are_neither_layers_nor_experts():
    assert titles(experts_in_layers().draw(collapse="none", fold_repeats=True)) == [
        "h.0…3 Layer ×4 own weights 128 params ×4 layers · 512 in all",
        "e.0…1 Expert ×2 own weights 64 params ×8 copies · 512 in all",
    ]


def test_outputs_of_one_call_are_no_copies_at_a_line():
    run = Recorder()
    parts = run.op("unbind", run.op("exp", run.input()), count=3)
    drawing = run.done(run.op("attention", *parts)).draw(fold_repeats=True)
    assert ends(drawing) == ["3 tensors"]
    assert legend(drawing, "tensors") == ["3 tensors", "at a line: it carries so many"]
    assert not any(group.key == "legend-ends" for group in drawing._display.groups)


def test_the_legend_shows_copies_where_a_line_says_them():
    run = Recorder()
    x = run.input()
    parts = run.op("unbind", run.op("exp", x), count=3)
    mask, y = run.op("neg", x), run.op("attention", *parts)
    for index in range(12):
        y = run.layer(f"fc.{index}", "Linear", "linear", y, mask, size=(8, 8))
    drawing = run.done(run.op("relu", y)).draw(fold_repeats=True)
    assert sorted(ends(drawing)) == ["3 tensors", "same for all 12"]
    assert legend(drawing, "ends") == ["same for all 12", "at a line: which copies or rounds"]


def test_layers_that_read_all_before_say_so_at_the_list_but_not_of_what_they_read_otherwise():
    """Four layers join all before them; each reads a mask too, and that is the same for all."""
    run = Recorder()
    x = run.input()
    mask, seen = run.op("neg", x), [run.op("exp", x)]
    for index in range(4):
        with run.module(f"layer.{index}", "Layer"):
            y = run.op("mul", run.op("cat", *seen), mask)
            seen.append(run.layer(f"layer.{index}.fc", "Linear", "linear", y, size=(8, 8)))
    drawing = run.done(run.op("cat", *seen)).draw(collapse="none", fold_repeats=True)
    assert titles(drawing) == [
        "layer.0…3 Layer ≈×4 own weights, each reads all before 64 params ×4 layers · 256 in all"
    ]
    assert sorted(ends(drawing)) == ["1…4 tensors, all before", "4 tensors", "same for all 4"]


def closed(*shapes):
    """A module, drawn closed, from which tensors of these shapes leave."""
    run = Recorder()
    x = run.input()
    with run.module("part", "Part"):
        y = run.op("exp", x, shape=(7,))
        made = [run.op("linear", y, shape=shape) for shape in shapes]
    read = run.op("attention", *made)
    return rows_of(run.done(read).draw(depth=1), "part")[0][-1]


def test_a_closed_box_shows_the_shapes_of_all_that_leaves_it():
    assert closed((1, 4), (1, 2)) == "(1, 4), (1, 2) · 3 ops"
    assert closed((1, 4), (1, 4)) == "(1, 4) · 3 ops"
    assert closed((1, 4), (1, 2), (1, 4), (1, 3), (1, 5)) == "(1, 4), (1, 2) and 2 more · 6 ops"


def test_two_shapes_without_room_for_both_are_counted():
    long = (1, 1000, 1000, 1000, 1000)
    assert closed(long, (*long, 2)) == "(1, 1000, 1000, 1000, 1000) and 1 more · 3 ops"


def test_what_only_the_next_copy_reads_does_not_leave_a_stack():
    run = Recorder()
    x = run.input()
    with run.module("start", "Start"):
        y, state = run.op("exp", x), run.op("neg", x, shape=(3,))
    for index in range(3):
        with run.module(f"h.{index}", "Layer"):
            state = run.op("linear", state, y, shape=(3,), params=[(f"h.{index}.w", (8, 8))])
            y = run.op("tanh", run.op("mul", y, state))
    drawing = run.done(run.op("relu", y)).draw(depth=1, fold_repeats=True)
    assert rows_of(drawing, "h.0…2")[0][-1] == "(1, 8) · 64 params ×3 · 192 in all · 3 ops ×3"


def test_the_gallery_shows_both_results_of_the_rotation():
    rows = rows_of(picture(load("moe"), DEFAULTS), "apply_rotary_pos_emb()")[0]
    assert rows[-1] == "(1, 4, 12, 16), (1, 2, 12, 16) · 16 ops ×4"  # four heads of queries, two of keys


def test_items_in_a_stack_are_named_after_all_copies():
    titles = [node.rows[0].text for node in picture(load("unet"), DEFAULTS).scene.nodes()]
    frames = [box.title[0].text for box in picture(load("unet"), DEFAULTS).scene.boxes()]
    assert [title for title in titles if "." in title] == ["up.0…3", "join.0…3"]
    assert frames == ["down.0…3, pool", "down.0…3", "up.0…3, join.0…3"]


def attended(mask_reader="scaled_dot_product_attention", *, kw=False, **views):
    """A network of attention, and a mask that is made of three ops."""
    run = Recorder()
    x = run.input()
    mask = run.op("arange", shape=(8,))
    mask = run.op("le", mask, run.op("unsqueeze", mask))
    q, k, v = (run.layer(name, "Linear", "linear", x, size=(8, 8)) for name in "qkv")
    for name in views:
        mask = run.op(name, mask)
    given = {"args": (q, k, v), "kw": {"m": mask}} if kw else {}
    y = run.op(mask_reader, q, k, v, mask, **given)
    for index in range(40):
        y = run.op(("exp", "log", "neg", "tanh", "abs")[(index * index + index // 3) % 5], y)
    return run.done(y).draw(fold_repeats=False)


@pytest.mark.parametrize("views", [{}, {"expand": 1}, {"__getitem__": 1, "expand": 1}])
def test_what_makes_the_mask_says_so(views):
    (rows,) = [
        row for title in ("arange, le, unsqueeze", "arange, unsqueeze, le") for row in rows_of(attended(**views), title)
    ]
    assert rows[1:] == ["3 ops · reads no input value · makes the mask"]


@pytest.mark.parametrize("kw", [False, True])
def test_what_another_op_reads_is_no_mask(kw):
    rows = [row for rows in attended("combine", kw=kw).scene.nodes() for row in [one.text for one in rows.rows]]
    assert "3 ops · reads no input value" in rows
    assert not any("mask" in row for row in rows)


def kept(*names):
    """Blocks that read a tensor of each name, and give one of each name back."""
    run = Recorder()
    x = run.input()
    held = [[run.input(address=f"cache.{index}.{name}") for name in names] for index in range(4)]
    given = {}
    for index in range(4):
        with run.module(f"layers.{index}", "Layer"):
            for name, one in zip(names, held[index], strict=True):
                new = run.op("cat", one, run.layer(f"layers.{index}.{name}", "Linear", "linear", x, size=(8, 8)))
                given[f"cache.{index}.{name}"] = new
                x = run.op(f"use_{name}", x, new)
    return run.done(x, **given).draw(collapse="none", fold_repeats=True)


def test_lines_say_which_of_several_inputs_and_outputs_they_carry():
    assert sorted(ends(kept("keys", "values"))) == [
        "4 tensors, all keys", "4 tensors, all values", "own keys", "own values",
    ]  # fmt: skip


def test_inputs_and_outputs_of_one_name_are_not_told_apart():
    assert sorted(ends(kept("states"))) == ["4 tensors", "one per copy"]


def test_numbers_below_a_numbered_frame_have_the_range_in_its_place():
    run = Recorder()
    x = run.input()
    for index in range(3):
        at = f"blocks.{index}"
        with run.module(at, "Sequential"):
            y = run.layer(f"{at}.0", "Linear", "linear", x, size=(8, 8))
            y = run.layer(f"{at}.1", "LayerNorm", "layer_norm", y, size=(8,))
        x = run.op("add", x, y)
    drawing = run.done(x).draw(collapse="none", fold_repeats=True)
    named = [node.rows[0].text for node in drawing.scene.nodes() if node.learned]
    assert named == ["blocks.0…2.0", "blocks.0…2.1"]
