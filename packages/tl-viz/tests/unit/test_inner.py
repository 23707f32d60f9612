"""What a box says of joins: a closed one of those inside of it, and a stack of those that not every copy has."""

from __future__ import annotations

import pytest
from columns import DEFAULTS, load
from nets import dense
from recorder import Recorder
from said import rows_of

from tl_viz._draw import picture


def test_a_stack_says_that_its_first_copy_joins_none():
    first, last = rows_of(dense((6,)).draw(), "cat")
    assert first[1] == "joins in all but the first"  # which reads one tensor
    assert not any("joins" in row for row in last)
    (first, *_) = rows_of(picture(load("densenet121"), DEFAULTS), "cat")
    assert first[1] == "joins in all but the first"


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ((1, 1, 2), "joins: cat ×4 of 6"),
        ((2, 1, 3), "joins: cat ×5 of 6"),
        ((2, 2), "joins each round: cat ×2"),
        ((1, 1, 1), "joins each round: cat ×1 of 2"),
    ],
)
def test_a_closed_box_says_how_many_of_its_lists_have_several_tensors(lengths, said):
    run = Recorder()
    x = run.input()
    with run.module("block", "Block"):
        for length in lengths:
            y = run.op("cat", *[run.op("exp", x) for _ in range(length)])
            x = run.op("tanh", run.op("cat", y, run.op("log", y)))
    (rows,) = rows_of(run.done(x).draw(depth=1, collapse="max"), "block")
    assert [row.partition(" · ")[2] for row in rows if "joins" in row] == [said]


def test_sums_that_read_one_tensor_are_not_counted():
    run = Recorder()
    x = run.input()
    with run.module("block", "Block"):
        x = run.op("add", run.op("add", x, params=[("block.bias", (8,))]), run.op("exp", x))
    (rows,) = rows_of(run.done(x).draw(depth=1, collapse="max"), "block")
    assert [row.partition("joins: ")[2] for row in rows if "joins" in row] == ["add"]
