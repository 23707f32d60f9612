"""What is opened, closed and folded, on networks whose right picture is known."""

from __future__ import annotations

import pytest
from nets import chain, dense, recurrent, transformer
from quality import same_names
from recorder import Recorder, weight_count

import tl_viz
from tl_core import func


def texts(drawing):
    """First line, or title, of every item."""
    nodes = [node.rows[0].text for node in drawing.scene.nodes()]
    frames = [" ".join(part.text for part in box.title) for box in drawing.scene.boxes()]
    return nodes, frames


def badges(drawing):
    return [row.text for node in drawing.scene.nodes() for row in node.rows if row.text[0] in "×≈"]


ALL = [transformer(3), transformer(12, cache=True), recurrent(20), dense(), chain(90)]
MODES = ["auto", "none", "max", 0.0, 0.2, 0.5, 0.8, 1.0]


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("trace", ALL, ids=lambda trace: f"{trace.model_class_name}{len(trace)}")
def test_counts_add_up_to_the_totals(trace, mode, view):
    drawing = trace.draw(collapse=mode, view=view)
    plan = drawing.collapse_plan
    missing = sum(plan.unseen.values())
    assert sum(node.ops for node in drawing.scene.nodes()) + missing == len(trace)
    assert plan.shown + plan.hidden == len(trace)
    assert same_names(drawing.scene) == []


def test_equal_blocks_are_drawn_once_and_counted():
    _, frames = texts(transformer(12).draw())
    assert "h.0…11 Block ×12 own weights 12.4k params ×12 blocks · 148k in all" in frames


def test_twelve_and_forty_eight_blocks_differ_in_one_number():
    few, many = transformer(12).draw(), transformer(48).draw()
    few_nodes, few_frames = texts(few)
    many_nodes, many_frames = texts(many)
    assert many_nodes == few_nodes
    titles = [title.replace("…47", "…11").replace("×48", "×12") for title in many_frames]
    assert [_one_of_many(title) for title in titles] == [_one_of_many(title) for title in few_frames]
    assert few.collapse_plan.items == many.collapse_plan.items


def _one_of_many(title):
    """A title without the total of all layers."""
    for total in ("152k params", "597k params", " · 148k in all", " · 593k in all"):
        title = title.removesuffix(total)
    return title


def test_names_of_modules_do_not_change_the_plan():
    one = transformer(6).draw()
    other = transformer(6, prefix="zz_blocks", seed_module="a").draw()
    assert one.collapse_plan.items == other.collapse_plan.items
    assert [node.role for node in one.scene.nodes()] == [node.role for node in other.scene.nodes()]
    assert [node.ops for node in one.scene.nodes()] == [node.ops for node in other.scene.nodes()]


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
def test_a_loop_of_500_steps_is_at_most_eight_items(view):
    drawing = recurrent(500).draw(view=view)
    assert drawing.collapse_plan.items <= 8
    carried = [edge for edge in drawing.scene.edges if edge.role == "loop"]
    assert len(carried) == 1
    assert carried[0].source == carried[0].targets[0]
    assert carried[0].label == "next round (2, 16)"


def test_the_steps_of_a_loop_are_counted():
    said = badges(recurrent(500).draw(view="rolled"))
    assert "×500 rounds, same weights" in said


def test_dense_layers_fold_although_their_sizes_grow():
    drawing = dense((6, 12, 9)).draw(collapse="max")
    inside = [row.text for node in drawing.scene.nodes() for row in node.rows]
    assert "DenseLayer ×6, cat · joins: cat ×6 of 7" in inside
    assert "DenseLayer ×12, cat · joins: cat ×12 of 13" in inside


def test_a_run_of_several_items_names_all_its_copies():
    run = Recorder()
    x = run.input()
    for index in range(4):
        x = run.layer(f"down.{index}", "Down", "linear", x, size=(8, 8))
        x = run.layer(f"pool.{index}", "Pool", "max_pool", x)
    _, frames = texts(run.done(x).draw(collapse="none", fold_repeats=True))
    assert frames == ["down.0…3, pool.0…3 ×4 own weights 64 params ×4 copies · 256 in all"]


def test_copies_that_also_read_one_parameter_together_claim_no_weights_of_their_own():
    run = Recorder()
    x = run.input()
    for index in range(4):
        with run.module(f"h.{index}", "Block"):
            x = run.layer(f"h.{index}.fc", "Linear", "linear", x, size=(8, 8))
            x = run.op("mul", x, params=[("scale", (8,))])
    _, frames = texts(run.done(x).draw(collapse="none", fold_repeats=True))
    assert not any("own weights" in title for title in frames), frames
    assert any("×4" in title for title in frames), frames


def test_layers_that_read_all_before_them_say_so():
    _, frames = texts(dense((6,)).draw(collapse="none", fold_repeats=True))
    said = "≈×6 own weights, each reads all before"
    assert (
        [title for title in frames if "×" in title]
        == [
            f"layer1…6 DenseLayer {said} 1.17k…4.09k params ×6 layers · 15.8k in all"  # 73 for each channel that goes in: 16 to 56
        ]
    )
    _, frames = texts(transformer(6).draw())
    assert not any("each reads all" in title for title in frames)


def test_what_no_output_needs_is_one_item():
    drawing = transformer(2).draw()
    bundles = [node for node in drawing.scene.nodes() if node.role == "bundle"]
    assert [(node.ops, node.rows[1].text) for node in bundles] == [(3, "that no output depends on")]


def test_key_value_outputs_are_one_item():
    drawing = transformer(12, cache=True).draw()
    outputs = [node for node in drawing.scene.nodes() if node.role == "output"]
    assert sorted(node.ops for node in outputs) == [1, 24]


def test_none_draws_every_op_once():
    trace = transformer(3)
    drawing = trace.draw(collapse="none")
    assert drawing.collapse_plan.items == len(trace)
    assert all(node.ops == 1 for node in drawing.scene.nodes())
    assert drawing.collapse_plan.planner == "all"


def test_the_slider_is_nested_and_monotone():
    trace = transformer(6)
    before = None
    counts = []
    for level in [step / 20 for step in range(21)]:
        drawing = trace.draw(collapse=level)
        counts.append(drawing.collapse_plan.items)
        opened = set(drawing.collapse_plan.open)
        if before is not None and level > 0.05:
            assert opened <= before
        before = opened
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) >= 7


def test_a_level_without_modules_is_cut_into_pieces():
    drawing = chain(3000).draw()
    assert 2 <= drawing.collapse_plan.items <= 40
    assert drawing.collapse_plan.planner == "exact"


def test_highlighted_ops_stay_visible():
    trace = transformer(12)
    drawing = trace.draw(highlight=func("gelu"), collapse="max")
    marked = [node for node in drawing.scene.nodes() if node.marked]
    assert len(marked) == 12
    assert {node.rows[0].text for node in marked} == {"act"}


def test_depth_keeps_inner_modules_closed():
    _, frames = texts(transformer(4).draw(depth=1, collapse="none"))
    assert frames == []
    _, frames = texts(transformer(4).draw(depth=2, collapse="none"))
    assert frames == ["transformer Backbone 53.2k params"]


def test_fold_repeats_off_spells_every_block_out():
    _, frames = texts(transformer(4).draw(collapse="none"))
    assert sum("Block" in title for title in frames) == 4
    _, frames = texts(transformer(4).draw(collapse="none", fold_repeats=True))
    assert sum("Block" in title for title in frames) == 1


def test_blocks_that_are_wired_differently_are_not_folded():
    run = Recorder()
    x = run.input()
    other = run.input(address="other")
    for index in range(4):
        with run.module(f"block.{index}", "Block"):
            y = run.layer(f"block.{index}.a", "Linear", "linear", x, size=(8, 8))
            y = run.op("add", y, other if index == 3 else x)
            x = run.op("relu", y)
    _, frames = texts(run.done(x).draw(collapse="none", fold_repeats=True))
    assert [title for title in frames if "×" in title] == [
        "block.0…2 Block ×3 own weights 64 params ×3 blocks · 192 in all"
    ]


def test_parameters_are_counted_once():
    trace = transformer(12)
    assert f"{tl_viz._names.amount(weight_count(trace))} params in all" in trace.draw().scene.made


def test_branches_that_go_different_ways_are_not_folded():
    run = Recorder()
    x = run.input()
    left, right, last = (run.layer(name, "Branch", "linear", x, size=(8, 8)) for name in ("a", "b", "c"))
    trace = run.done(run.op("add", run.op("add", left, right), run.op("exp", last)))
    items = list(trace.draw(collapse="none", fold_repeats=True).scene.nodes())
    assert [node.copies for node in items if node.learned] == [1, 1, 1]


def test_branches_that_meet_again_are_folded():
    run = Recorder()
    x = run.input()
    branches = [run.layer(f"branch.{index}", "Branch", "linear", x, size=(8, 8)) for index in range(4)]
    drawing = run.done(run.op("cat", *branches)).draw(collapse="none", fold_repeats=True)
    assert "×4 own weights" in badges(drawing)
