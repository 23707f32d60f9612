"""A closed module that differs by few ops from an open one of its class says by which."""

from __future__ import annotations

from collections import Counter

import pytest
from columns import DEFAULTS, load
from recorder import Recorder
from said import all_rows, rows_of, titles

from tl_viz._draw import picture
from tl_viz._plan import find_likenesses, make_plan

STEPS = ("norm", "mix", "gate", "part", "grow", "fold", "scale", "shift", "trim", "pair")


def block(run, at, x, *, more=(), without=()):
    with run.module(at, "Block"):
        y = x
        for name in STEPS:
            if name not in without:
                y = run.layer(f"{at}.{name}", name.title(), name, y, size=(8, 8))
        for function in more:
            y = run.op(function, y)
        return run.op("add", y, x)


def blocks(*kinds):
    """Return the picture of blocks one after the other; each kind is what it has more, and what it has not.

    Before them stand so many ops that there is no room for two open blocks.
    """
    run = Recorder()
    x = run.input()
    for index in range(22):
        x = run.op(f"step_{index}", x)
    for index, (more, without) in enumerate(kinds):
        x = block(run, f"layer{index}", x, more=more, without=without)
    return run.done(x).draw()


def box(drawing, name):
    (rows,) = rows_of(drawing, name)
    return rows


def frames(drawing):
    return titles(drawing, 1)


PLAIN = ((), ())


def test_a_block_after_the_typical_one_says_what_it_has_more():
    drawing = blocks(PLAIN, PLAIN, PLAIN, (("roll", "tanh", "roll"), ()))
    assert frames(drawing) == ["layer0…2"]
    assert box(drawing, "layer3")[1:3] == ["Block", "like layer0…2, and roll ×2, tanh · joins: add"]


def test_views_are_named_last_and_what_only_it_has_first():
    drawing = blocks(PLAIN, PLAIN, PLAIN, (("view", "add", "tanh", "exp"), ()))
    assert box(drawing, "layer3")[2] == "like layer0…2, and tanh, exp, add and 1 more"


def test_what_it_has_less_is_said_too():
    plain = (("exp",), ())
    assert (
        box(blocks(plain, plain, plain, (("tanh",), ())), "layer3")[2]
        == "like layer0…2, and tanh, without exp · joins: add"
    )


@pytest.mark.parametrize(
    "kind",
    [
        PLAIN,  # the same
        (("roll", "tanh", "roll", "exp", "log"), ()),  # five more, the plain ones have eleven
        (("roll",), ("norm",)),  # what it lacks is a module, which the lists of what they hold tell
    ],
)
def test_a_block_that_is_the_same_or_too_different_is_not_called_like_another(kind):
    drawing = blocks(PLAIN, PLAIN, (("exp", "log", "tanh", "abs", "neg"), ()), kind)
    assert not any(row.startswith("like") for rows in all_rows(drawing) for row in rows)


def test_only_what_stands_before_it_is_named():
    drawing = blocks((("roll",), ()), PLAIN, PLAIN, PLAIN)
    assert frames(drawing) == ["layer1…3"]
    assert box(drawing, "layer0")[2].startswith("Norm, Mix")  # nothing above it that it could be like


def test_the_second_block_of_swin_says_that_it_rolls():
    drawing = picture(load("swin"), DEFAULTS)
    assert "features.1.1" not in frames(drawing)
    assert box(drawing, "features.1.1") == [
        "features.1.1",
        "SwinTransformerBlock",
        "like features.1.0",
        "and roll ×2, add, masked_fill ×2 and 22 more",
        "joins: attention matmul ×2, add ×2",
        "(1, 16, 16, 96) · 112k params · 67 ops",
    ]


def test_what_is_said_are_the_ops_of_the_two_blocks_of_swin():
    plan = make_plan(load("swin"), "auto", fold_repeats=True)
    network = plan.tree.network
    (likeness,) = find_likenesses(plan).values()

    def functions(address):
        homes = [call.address == address or call.address.startswith(address + ".") for call in network.calls]
        own = [op for op, home in enumerate(network.module_of) if home >= 0 and homes[home]]
        return Counter([network.functions[op] for op in own for _ in range(network.rounds[op])])

    plain, rolled = functions("features.1.0"), functions("features.1.1")
    assert likeness.more == dict(rolled - plain)
    assert likeness.less == dict(plain - rolled) == {}
    assert list(likeness.more)[:2] == ["roll", "add"]
    assert likeness.model.first < min(network.module_of.index(call) for call in range(len(network.calls))
                                      if network.calls[call].address == "features.1.1.norm1")  # fmt: skip
