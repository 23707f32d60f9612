"""No box hides more than its share of what the picture never shows."""

from __future__ import annotations

import pytest
from columns import DEFAULTS
from recorder import Recorder

from tl_viz._plan import make_plan
from tl_viz._plan.even import LARGEST, hidden_shares
from tl_viz._plan.worth import weigh
from tl_viz._read import read


def plan_of(run, x):
    plan = make_plan(read(run.done(x), DEFAULTS), "auto", fold_repeats=True)
    shares = hidden_shares(plan.tree, weigh(plan.tree), set(plan.opened))
    return plan, max([share for share, _ in shares], default=0.0)


def opened(plan):
    """Class names of the open modules."""
    tree, found = plan.tree, []
    waiting = [tree.root]
    for branch in waiting:
        waiting.extend([child for child in branch.children if plan.is_open(child)])
        if branch.kind == "module":
            found.append(tree.network.calls[branch.call].class_name)
    return found


def steps(run, x, name, count):
    for index in range(count):
        x = run.op(f"{name}_{index}", x)
    return x


@pytest.mark.parametrize("count", [20, 26])
def test_a_module_of_too_many_items_is_opened_in_pieces(count):
    """Of the 40 ops in all there is room for 38, beside an input and an output; a few of its pieces fit."""
    run = Recorder()
    x = steps(run, run.input(), "outer", 40 - count)
    with run.module("wide", "Wide"):
        x = steps(run, x, "inner", count)
    plan, largest = plan_of(run, x)
    assert opened(plan) == ["Wide"]
    assert {child.kind for child in next(b for b in plan.tree.root.children if b.kind == "module").children} == {
        "segment"
    }
    assert largest <= LARGEST
    assert plan.items <= 40


def test_a_module_that_fits_is_not_cut():
    run = Recorder()
    x = steps(run, run.input(), "outer", 5)
    with run.module("wide", "Wide"):
        x = steps(run, x, "inner", 20)
    plan, _ = plan_of(run, x)
    assert opened(plan) == ["Wide"]
    assert plan.items == 1 + 5 + 20 + 1


def test_what_a_smaller_box_shows_a_larger_one_need_not():
    """The second stage hides the gate and the part of the block in the first: the gate is opened where its block is open."""
    run = Recorder()
    x = steps(run, run.input(), "outer", 6)
    for stage in range(2):
        with run.module(f"stage{stage}", "Sequential"):
            for index in range(stage + 1):
                at = f"stage{stage}.{index}"
                with run.module(at, "Block"):
                    y = steps(run, x, "own", 2)
                    for name in ("gate", "part"):
                        with run.module(f"{at}.{name}", name.title()):
                            y = steps(run, y, name, 5)
                    x = run.op("add", y, x)
    plan, largest = plan_of(run, x)
    assert opened(plan) == ["Sequential", "Block", "Gate"]
    assert largest <= LARGEST
