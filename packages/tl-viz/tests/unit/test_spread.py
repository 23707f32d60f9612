"""In which modules, functions and rows branches are said to join. The expected clauses are counted by hand."""

from __future__ import annotations

import pytest
from recorder import Recorder, padded


def layers(run, x, sums, prefix="layers", name="Layer"):
    """Append modules that hold so many sums each."""
    for index, number in enumerate(sums):
        with run.module(f"{prefix}.{index}", name):
            x = run.op("exp", run.op("tanh", x))
            for _ in range(number):
                x = run.op("add", x, run.op("log", x))
    return x


def said(run, x, **options):
    return run.done(x).draw(**options).scene.joins


@pytest.mark.parametrize("mode", ["none", "max"])
@pytest.mark.parametrize(
    ("sums", "clauses"),
    [
        ([2, 2, 2], ["add ×2 in each Layer"]),
        ([2], ["add ×2 in Layer"]),
        ([1, 0, 0, 0, 0, 0], ["add in the first Layer"]),
        ([0, 0, 1], ["add in the last Layer"]),
        ([0, 1, 1, 1, 1, 1], ["add in all but the first Layer"]),
        ([1, 1, 0], ["add in all but the last Layer"]),
        ([0, 1, 0, 0, 1, 0], ["add in layers.1, layers.4"]),
        ([1, 0, 1, 0, 1, 0, 1, 0, 1, 0], ["add in layers.0, 2, 4, 6, 8"]),
        ([1, 0, 1, 1] * 4, ["add in all Layer but layers.1, 5, 9, 13"]),
        ([1, 0] * 9, ["add in 9 of 18 Layer"]),
        ([0, 2], ["add ×2 in the last Layer"]),
        ([1, 2, 2, 2], ["add in the first Layer", "add ×2 in all but the first Layer"]),
        ([0, 1, 0, 3, 0], ["add in layers.1", "add ×3 in layers.3"]),
    ],
)
def test_a_rule_or_addresses_say_which_modules_are_meant(sums, clauses, mode):
    run = Recorder()
    assert said(run, layers(run, run.input(), sums), collapse=mode, fold_repeats=False) == tuple(clauses)


@pytest.mark.parametrize("mode", ["none", "auto"])
def test_a_rule_may_hold_in_every_block(mode):
    run = Recorder()
    x = run.input()
    for block in range(3):
        with run.module(f"blocks.{block}", "Block"):
            x = layers(run, run.op("neg", x), [0, 2, 2], f"blocks.{block}.layers")
    assert said(run, x, collapse=mode) == ("add ×2 in all but the first Layer of each Block",)


@pytest.mark.parametrize(
    ("decoder", "clauses"),
    [
        ([2, 2], ["add ×2 in each Layer of each Decoder"]),
        ([0, 1], ["add in the last Layer of each Decoder"]),
        ([0, 1, 1], ["add in all but the first Layer of each Decoder"]),
    ],
)
def test_a_rule_names_the_only_class_that_holds_them(decoder, clauses):
    run = Recorder()
    x = run.input()
    for kind, sums in (("Encoder", [0, 0]), ("Decoder", decoder)):
        for index in range(3):
            at = f"{kind.lower()}.{index}"
            with run.module(at, kind):
                x = layers(run, run.op("neg", x), sums, f"{at}.layers")
    assert said(run, x, collapse="none") == tuple(clauses)


def test_rows_in_sequentials_have_rules():
    run = Recorder()
    x = run.input()
    for stage, number in enumerate((1, 2, 4)):
        with run.module(f"stages.{stage}", "Sequential"):
            x = layers(run, x, [0, *[1] * (number - 1)], f"stages.{stage}")
    x = run.layer("head", "Sequential", "neg", x)
    assert said(run, x, collapse="none") == ("add in all but the first Layer of each Sequential",)


def test_no_rule_is_said_where_another_block_holds_none():
    run = Recorder()
    x = run.input()
    for block in range(2):
        with run.module(f"blocks.{block}", "Block"):
            x = layers(run, run.op("neg", x), [1, 0, 0], f"blocks.{block}.layers")
    with run.module("blocks.2", "Block"):
        x = run.op("sin", run.op("cos", x))
    assert said(run, x, collapse="none") == ("add in blocks.0.layers.0, blocks.1.layers.0",)


def test_modules_of_one_op_count_among_their_class():
    run = Recorder()
    x = layers(run, run.input(), [1, 1])
    x = run.layer("layers.2", "Layer", "tanh", x)
    assert said(run, x, collapse="none") == ("add in all but the last Layer",)


def test_closed_boxes_are_named_where_they_hold_few_of_a_class():
    run = Recorder()
    x = padded(run, run.input())
    for stage, sums in enumerate([[0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 0]]):
        with run.module(f"stage{stage}", "Stage"):
            x = layers(run, run.op("neg", x), sums, f"stage{stage}.layers")
    x = run.op("mul", x, run.op("exp", x))
    assert said(run, x, depth=1) == ("add in stage1", "add ×2 in stage2", "mul")


def at(line):
    """A call site in the forward of a module."""
    return (("net.py", line, "forward"), ("run.py", 1, "main"))


def inside(line):
    """A call site in a function that this forward calls."""
    return (("net.py", line, "rotate"), *at(30))


def rotated(run, x, address):
    """Append a module that calls a function of two products between two ops of its own."""
    with run.module(address, "Attention"):
        x = run.op("exp", x, frames=at(29))
        x = run.op("mul", x, run.op("cos", x, frames=inside(5)), frames=inside(6))
        x = run.op("mul", x, run.op("sin", x, frames=inside(7)), frames=inside(8))
        return run.op("sub", x, run.op("log", x, frames=at(31)), frames=at(31))


def test_what_a_closed_function_joins_is_told_of_with_the_frame_around_it():
    run = Recorder()
    x = padded(run, run.input())
    for index in range(3):
        x = rotated(run, run.op("neg", x), f"layers.{index}")
    assert said(run, x) == ("mul ×2, sub in each Attention",)  # as a frame it would be a place of its own, as in mamba


def test_functions_that_are_not_drawn_are_not_named():
    run = Recorder()
    x = padded(run, run.input())
    for index in range(3):
        x = rotated(run, run.op("neg", x), f"layers.{index}")
    assert said(run, x, depth=1) == ("mul ×2, sub in each Attention",)


def test_a_row_of_several_modules_is_a_place():
    run = Recorder()
    x = run.input()
    for index in range(5):
        x = run.op("add", x, run.layer(f"up.{index}", "Up", "linear", x, size=(8, 8)))
        x = run.layer(f"join.{index}", "Join", "linear", x, size=(8, 8))
    trace = run.done(x)
    assert trace.draw().scene.joins == ("add in each of the 5 steps of up.0…4, join.0…4",)
    assert trace.draw(fold_repeats=False).scene.joins == ("add ×5",)


def test_boxes_inside_of_a_closed_block_are_told_of_with_the_block():
    run = Recorder()
    x = run.input()
    for index in range(4):
        with run.module(f"blocks.{index}", "Block"):
            x = run.op("add", x, run.op("exp", run.op("tanh", x)))
            with run.module(f"blocks.{index}.act", "Act"):
                x = run.op("mul", x, run.op("sigmoid", x))
    trace = run.done(run.op("sub", x, run.op("neg", x)))
    assert trace.draw(depth=1).scene.joins == ("add, mul in each Block", "sub")
    assert trace.draw(collapse="none").scene.joins == ("add in each Block", "mul at the end of each Act", "sub")
