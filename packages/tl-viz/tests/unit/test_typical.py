"""Where blocks of one class differ, the picture shows the one that most are like, and one that is not, if there is room."""

from __future__ import annotations

import pytest
from columns import DEFAULTS, load
from recorder import Recorder
from said import all_rows, titles

from tl_viz._draw import picture
from tl_viz._plan import is_first_unlike, make_plan
from tl_viz._plan.typical import typical_forms
from tl_viz._plan.unlike import open_unlike
from tl_viz._read import read


def frames(drawing):
    return titles(drawing, 2)


def block(run, at, x, *, unlike):
    with run.module(at, "Block"):
        y = x
        for name in ("fold", "mix", "norm", "gate", "part", "grow"):
            y = run.layer(f"{at}.{name}", name.title(), name, y, size=(8, 8))
        if unlike:
            with run.module(f"{at}.short", "Sequential"):
                x = run.layer(f"{at}.short.0", "Linear", "linear", x, size=(8, 8))
                x = run.layer(f"{at}.short.1", "Norm", "layer_norm", x, size=(8,))
        return run.op("add", y, x)


def stages(*patterns, extra=0):
    """Return a trace of stages; each pattern has a letter for a block, `u` for an unlike one."""
    run = Recorder()
    x = run.input()
    for index in range(extra):
        x = run.op(f"step_{index}", x)
    for number, pattern in enumerate(patterns):
        with run.module(f"stage{number}", "Sequential"):
            for index, letter in enumerate(pattern):
                x = block(run, f"stage{number}.{index}", x, unlike=letter == "u")
    return run.done(x)


def test_the_typical_block_and_the_unlike_one_before_it_are_both_open():
    drawing = stages("uttt").draw()
    assert frames(drawing) == [
        "stage0 Sequential of Block ×4", "stage0.0 Block", "short Sequential", "stage0.1…3 Block"
    ]  # fmt: skip
    assert drawing.collapse_plan.items == 1 + 9 + 7 + 1  # six layers and a sum; in the unlike one two more
    assert sum(node.ops for node in drawing.scene.nodes() if node.role == "op") == 9 + 3 * 7


def test_without_room_only_the_typical_block_is_open():
    drawing = stages(
        "uttt", extra=24
    ).draw()  # with both open there would be 1 + 24 + 9 + 7 + 1 = 42, with `short` closed 41
    assert "stage0.1…3 Block" in frames(drawing)
    assert "stage0.0 Block" not in frames(drawing)
    assert drawing.collapse_plan.items == 1 + 24 + 1 + 7 + 1


def test_the_form_that_is_there_more_often_is_open_even_where_it_comes_later():
    shown = frames(stages("u", "utt", "uttt").draw())
    assert [title for title in shown if title.endswith(" Block")] == ["stage1.0 Block", "stage1.1…2 Block"]


def test_one_unlike_block_is_opened_for_each_class():
    shown = frames(stages("utttu").draw())
    assert [title for title in shown if title.endswith(" Block")] == ["stage0.0 Block", "stage0.1…3 Block"]


def test_resnet_shows_its_plain_shortcut_and_the_one_with_a_projection():
    drawing = picture(load("resnet50"), DEFAULTS)
    assert frames(drawing) == [
        "layer1 Sequential of Bottleneck ×3",
        "layer1.0 Bottleneck",
        "downsample Sequential",
        "layer1.1…2 Bottleneck",
    ]
    names = {node.key: node.rows[0].text for node in drawing.scene.nodes()}
    joins = [
        edge
        for edge in drawing.scene.edges
        if names[edge.source] == "relu" and sorted(names[key] for key in edge.targets) == ["add_", "conv1"]
    ]
    assert len(joins) == 1  # what goes into the typical block goes to its sum as it is


@pytest.mark.parametrize(("stage", "said"), [("layer2", True), ("layer1.0", False), ("layer1.1", False)])
def test_the_plan_knows_where_the_first_is_unlike(stage, said):
    plan = make_plan(load("resnet50"), "auto", fold_repeats=True)
    waiting = [plan.tree.root]
    for branch in waiting:
        waiting.extend(branch.children)
    calls = plan.tree.network.calls
    found = [branch for branch in waiting if branch.kind == "module" and calls[branch.call].address == stage]
    assert [is_first_unlike(plan.tree, branch) for branch in found] == [said]


def test_a_module_inside_of_one_of_its_class_does_not_count():
    run = Recorder()
    x = run.input()
    with run.module("outer", "Part"):
        for index in range(3):
            with run.module(f"outer.{index}", "Part"):
                x = run.op("exp", run.op("relu", x))
        x = run.op("tanh", x)
    plan = make_plan(read(run.done(x), DEFAULTS), "auto", fold_repeats=True)
    outer = next(branch for branch in plan.tree.root.children if branch.kind == "module")
    assert typical_forms(plan.tree) == {"Part": outer.loose}


def test_nothing_is_opened_without_room():
    plan = make_plan(load("resnet50"), "max", fold_repeats=True)
    opened = set(plan.opened)
    assert open_unlike(plan.tree, opened, 0) == 0
    assert opened == plan.opened


def test_more_typical_blocks_change_only_their_number():
    few, many = stages("u" + 11 * "t").draw(), stages("u" + 47 * "t").draw()
    assert [node.key for node in few.scene.nodes()] == [node.key for node in many.scene.nodes()]
    assert [title.replace("…47", "…11").replace("×48", "×12") for title in frames(many)] == frames(few)


def rows(drawing):
    return {rows[0]: rows for rows in all_rows(drawing)}


@pytest.mark.parametrize(("stage", "count"), [("layer2", 4), ("layer3", 6), ("layer4", 3)])
def test_a_closed_stage_says_where_its_first_block_differs(stage, count):
    assert (
        f"Bottleneck ×{count}, first differs · joins: add_ ×{count}" in rows(picture(load("resnet50"), DEFAULTS))[stage]
    )


def test_a_closed_stage_of_equal_blocks_does_not():
    assert "Block ×3 · joins: add ×3" in rows(stages("uttt", "uttt", "ttt").draw(collapse="max"))["stage2"]
