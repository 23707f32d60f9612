"""Whatever the network, the picture is honest: counts add up, pins are visible, lines reach what they should."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from clauses import told
from columns import DEFAULTS
from hypothesis import given, settings
from hypothesis import strategies as st
from quality import all_faults, overflowing_labels, same_names, schedule

from tl_viz._compose.meet import meets_in
from tl_viz._draw import picture
from tl_viz._network import Call, Network
from tl_viz._plan import make_plan
from tl_viz._scene import NO_BRANCHES

FUNCTIONS = ("linear", "relu", "add", "view", "transpose", "cat", "matmul")
CLASSES = ("Block", "Linear", "Sequential", "Attention")


@st.composite
def networks(draw):
    """Draw a network with nested modules, repeated blocks, dead ends, constants, loops and pins."""
    calls, functions, parents, homes = [], ["input"], [()], [-1]

    def op(home):
        functions.append(draw(st.sampled_from(FUNCTIONS)))
        last = len(parents) - 1
        near = draw(st.lists(st.integers(max(0, last - 6), last), min_size=0, max_size=3, unique=True))
        parents.append(tuple(near))
        homes.append(home)

    def body(home, address, depth):
        for index in range(draw(st.integers(1, 4))):
            if depth and draw(st.booleans()):
                at = f"{address}.{index}" if address else f"m{index}"
                calls.append(Call(address=at, number=1, class_name=draw(st.sampled_from(CLASSES)), parent=home))
                copies = draw(st.sampled_from([1, 1, 3, 5]))
                call = len(calls) - 1
                start = len(functions)
                body(call, at, depth - 1)
                repeat(call, start, copies - 1, at)
            else:
                op(home)

    def repeat(call, start, copies, at):
        """Append equal copies of the last module, each reading the one before it."""
        size = len(functions) - start
        last_call = len(calls)
        inner = calls[call:last_call]
        for copy in range(1, copies + 1):
            shift, moved = copy * size, len(calls)
            for one in inner:
                parent = one.parent if one is inner[0] else one.parent - call + moved
                calls.append(replace(one, address=f"{one.address}_{copy}", parent=parent))
            for index in range(size):
                functions.append(functions[start + index])
                parents.append(tuple(p + shift if p >= start else p for p in parents[start + index]))
                homes.append(homes[start + index] - call + moved)

    body(-1, "", 3)
    count = len(functions)
    functions.append("output")
    parents.append((count - 1,))
    homes.append(-1)
    total = count + 1
    learned = [name == "linear" for name in functions]
    back = {}
    if draw(st.integers(0, 3)) == 0:
        op_index = draw(st.integers(1, count - 1))
        back = {op_index: (draw(st.integers(op_index, count - 1)),)}
    pins = draw(st.sets(st.integers(1, count - 1), max_size=2)) if count > 1 else set()
    return Network(
        name="Random",
        labels=[f"{name}_{index}" for index, name in enumerate(functions)],
        functions=functions,
        parents=parents,
        module_of=homes,
        calls=calls,
        roles=["input", *["op"] * (total - 2), "output"],
        shapes=[(2, 3)] * total,
        params=[7 * one for one in learned],
        learned=learned,
        rounds=[1] * total,
        back=back,
        pinned=frozenset(pins),
        marked=frozenset(pins),
    )


@settings(max_examples=100)
@given(
    network=networks(),
    mode=st.sampled_from(["auto", "none", "max", 0.3, 0.7]),
    fold=st.booleans(),
    room=st.sampled_from([0, 40]),
)
def test_every_picture_is_honest(network, mode, fold, room):
    with patch("tl_viz._plan.chain.SMALL", room):  # 0: views are joined in small networks too
        drawing = picture(network, replace(DEFAULTS, collapse=mode, fold_repeats=fold))
    nodes = list(drawing.scene.nodes())
    assert sum(node.ops for node in nodes) == network.total_ops
    assert drawing.collapse_plan.items == len(nodes)
    assert same_names(drawing.scene) == []
    assert overflowing_labels(drawing._display) == []
    assert all_faults(drawing.scene, drawing.geometry) == []
    labels = {network.labels[op] for op in network.pinned}
    assert labels <= {node.first for node in nodes if node.ops == 1}


@settings(max_examples=60)
@given(network=networks())
def test_reading_order_is_kept_between_items(network):
    """Two items are joined exactly where an op of one reads an op of the other, with everything drawn."""
    scene = picture(network, replace(DEFAULTS, collapse="none", fold_repeats=False)).scene
    drawn = {(edge.source, target) for edge in scene.edges for target in edge.targets if edge.role != "loop"}
    read = {
        (network.labels[parent], network.labels[op]) for op, parents in enumerate(network.parents) for parent in parents
    }
    assert drawn == read


@settings(max_examples=40)
@given(network=networks())
def test_the_slider_only_ever_closes(network):
    counts = schedule(network)
    assert counts == sorted(counts, reverse=True)
    seen = [picture(network, replace(DEFAULTS, collapse=level / 8)).collapse_plan.items for level in range(1, 9)]
    assert seen == sorted(seen, reverse=True)


@settings(max_examples=200)
@given(network=networks(), mode=st.sampled_from(["auto", "none", "max", 0.3, 0.7]), fold=st.booleans())
def test_what_is_said_of_joins_adds_up(network, mode, fold):
    joins = {op: 1 for op, parents in enumerate(network.parents) if len(parents) > 1}
    network = replace(network, joins=joins, apart=frozenset([op for op in joins if op % 3]))
    plan = make_plan(network, mode, fold_repeats=fold)
    meets = meets_in(plan)
    ops = [op for op in meets.between(0, len(network)) if op in network.apart]
    left_out = {plan.tree.op_at[at] for at in range(len(network))} - kept(plan)
    clauses = picture(network, replace(DEFAULTS, collapse=mode, fold_repeats=fold)).scene.joins
    assert sum(told(network, clause, left_out) for clause in clauses if clause != NO_BRANCHES) == len(ops), clauses


def kept(plan):
    """Return the ops that are in no bundle of what no output depends on."""
    found, waiting = set(), [(plan.tree.root, (0,))]
    while waiting:
        branch, shifts = waiting.pop()
        if branch.copies > 1:
            shifts = [outer + start - branch.first for outer in shifts for start in (branch.first, *branch.others)]
        if not branch.children:
            found |= {plan.tree.op_at[at + shift] for at in range(branch.first, branch.end) for shift in shifts}
        elif branch.kind != "bundle":
            waiting += [(child, shifts) for child in branch.children]
    return found
