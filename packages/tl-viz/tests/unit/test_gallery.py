"""The targets for pictures, on the networks of the gallery."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from columns import DEFAULTS, load, names
from quality import all_faults, labels_on_nodes, overflowing_labels, same_names, schedule, texts_on_texts

from tl_viz._draw import picture
from tl_viz._plan import VIEWS, make_plan
from tl_viz._scene import Box, Node

MODES = ["auto", "none", "max", 0.3, 0.6]
SCREEN = 1000
ITEMS = {
    "resnet50": (20, 35),
    "densenet121": (18, 30),
    "gpt2-12": (14, 18),
    "gpt2-48": (14, 18),
    "gpt2-12-cache": (14, 28),
    "vit": (12, 24),
    "swin": (12, 40),
    "unet": (8, 24),
    "lstm": (5, 12),
    "gru-500": (5, 8),
    "moe": (12, 40),
    "mamba": (12, 40),
}


def test_all_twelve_networks_are_here():
    assert names() == sorted(ITEMS)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ITEMS)
def test_nothing_is_in_the_way_of_anything(name, mode):
    network = load(name)
    drawing = picture(network, replace(DEFAULTS, collapse=mode, fold_repeats=mode != "none"))
    if drawing.collapse_plan.items < 700:  # comparing everything with everything takes its time
        assert all_faults(drawing.scene, drawing.geometry) == []
        assert labels_on_nodes(drawing.scene, drawing.geometry) == []
    assert overflowing_labels(drawing._display) == []
    assert texts_on_texts(drawing._display) == []
    assert same_names(drawing.scene) == []
    assert sum(node.ops for node in drawing.scene.nodes()) == network.total_ops


@pytest.mark.parametrize("direction", ["bottomup", "leftright", "rightleft"])
@pytest.mark.parametrize("name", ITEMS)
def test_every_direction_is_as_good(name, direction):
    drawing = picture(load(name), replace(DEFAULTS, direction=direction))
    assert all_faults(drawing.scene, drawing.geometry) == []
    assert labels_on_nodes(drawing.scene, drawing.geometry) == []
    assert overflowing_labels(drawing._display) == []
    assert texts_on_texts(drawing._display) == []


@pytest.mark.parametrize("name", ITEMS)
def test_the_picture_has_the_size_that_people_read(name):
    drawing = picture(load(name), DEFAULTS)
    low, high = ITEMS[name]
    assert low <= drawing.collapse_plan.items <= high
    assert drawing.geometry.height <= 3 * SCREEN  # what is above and below of it is read before and after
    assert drawing.collapse_plan.planner == "exact"


@pytest.mark.parametrize("name", ITEMS)
def test_most_items_lie_between_input_and_output(name):
    scene = picture(load(name), DEFAULTS).scene
    nodes = {node.key: node for node in scene.nodes()}
    down: dict[str, set[str]] = {key: set() for key in nodes}
    up: dict[str, set[str]] = {key: set() for key in nodes}
    for edge in scene.edges:
        for target in edge.targets:
            down[edge.source].add(target)
            up[target].add(edge.source)
    from_inputs = _reach(down, [key for key, node in nodes.items() if node.role == "input"])
    to_outputs = _reach(up, [key for key, node in nodes.items() if node.role == "output"])
    assert len(from_inputs & to_outputs) >= 0.8 * len(nodes)


@pytest.mark.parametrize("name", ITEMS)
def test_no_box_hides_more_than_a_third_of_what_there_is(name):
    """By kinds of ops that are visible nowhere: function, class, and how many tensors go in.

    Views count little, and little is lost where what is hidden is the same in every run: a box of it says so.
    """
    plan = make_plan(load(name), "auto", fold_repeats=True)
    network, op_at = plan.tree.network, plan.tree.op_at
    closed, visible, every = [], set(), {}

    def kinds(branch):
        ops = [op_at[at] for at in range(branch.first, branch.end)]
        return {_kind(network, op): _weight(network, op) for op in ops}

    waiting = [plan.tree.root]
    while waiting:
        branch = waiting.pop()
        if branch.kind == "bundle":
            continue
        if branch.children and plan.is_open(branch):
            waiting.extend(branch.children)
        elif branch.op >= 0:
            visible.add(_kind(network, branch.op))
            every |= kinds(branch)
        else:
            closed.append(kinds(branch))
            every |= closed[-1]
    whole = sum(every.values())
    moving = {_kind(network, op) for op in op_at if not plan.tree.fixed[op]}
    hidden = [
        sum(weight if kind in moving else 0.15 for kind, weight in one.items() if kind not in visible) for one in closed
    ]
    assert max(hidden, default=0) <= 0.35 * whole


def _kind(network, op):
    home = network.module_of[op]
    alone = home >= 0 and network.module_of.count(home) == 1
    return network.functions[op], network.calls[home].class_name if alone else "", min(2, len(network.parents[op]))


def _weight(network, op):
    if network.functions[op] in VIEWS:
        return 0.15
    return (1.0 if network.learned[op] else 0.5) + (1.0 if len(network.parents[op]) > 1 else 0.0)


def _reach(near, start):
    reached, waiting = set(start), list(start)
    while waiting:
        for other in near[waiting.pop()]:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached


@pytest.mark.parametrize("name", ITEMS)
def test_the_slider_has_many_steps(name):
    network = load(name)
    counts = schedule(network)
    assert counts == sorted(counts, reverse=True)
    if len(network) > 200:
        assert len(counts) >= 8


def test_forty_eight_layers_change_one_number():
    few, many = (picture(load(f"gpt2-{layers}"), DEFAULTS).scene for layers in (12, 48))
    assert _words(many.root, "48") == _words(few.root, "12")


def _words(box, layers):
    """Every text outside of totals, with the number of layers taken out."""
    found = []
    for child in box.children:
        rows = child.rows if isinstance(child, Node) else child.title
        said = [re.sub(r" · \S+ in all", "", row.text) for row in rows]
        if isinstance(child, Box) and child.copies == 1:
            said = [text for text in said if not re.fullmatch(r"\S+ params", text)]
        found += [text.replace(f"×{layers}", "×N").replace(f"…{int(layers) - 1}", "…L") for text in said]
        if isinstance(child, Box):
            found += _words(child, layers)
    return found


@pytest.mark.parametrize("name", ITEMS)
def test_other_names_give_the_same_plan(name):
    network = load(name)
    words = {
        part: f"w{index}"
        for index, part in enumerate(dict.fromkeys(part for call in network.calls for part in call.address.split(".")))
        if not part.isdigit()
    }
    renamed = replace(
        network,
        labels=[f"op{op}" for op in range(len(network))],
        calls=[
            replace(call, address=".".join(words.get(part, part) for part in call.address.split(".")))
            for call in network.calls
        ],
    )
    before, after = picture(network, DEFAULTS).scene, picture(renamed, DEFAULTS).scene
    assert [(node.role, node.ops, node.copies) for node in before.nodes()] == [
        (node.role, node.ops, node.copies) for node in after.nodes()
    ]
    assert [box.copies for box in before.boxes()] == [box.copies for box in after.boxes()]
