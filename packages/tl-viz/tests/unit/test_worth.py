"""What is worth showing: joins, and which of several tensors enters where; what is the same in every run is worth little."""

from __future__ import annotations

import re

import pytest
from columns import DEFAULTS, load, names
from recorder import Recorder
from said import all_rows

from tl_viz._compose.inside import MOVES
from tl_viz._draw import picture
from tl_viz._plan import CONTAINERS, VIEWS, make_plan
from tl_viz._plan.prepare import prepare
from tl_viz._plan.worth import weigh
from tl_viz._read import read


def links(drawing):
    """First line of the boxes at both ends of every line."""
    name = {node.key: node.rows[0].text for node in drawing.scene.nodes()}
    return {(name[edge.source], name[target]) for edge in drawing.scene.edges for target in edge.targets}


def masked(run, x):
    """Append a mask that reads the sizes of `x` alone, and an addition that reads it."""
    mask = run.op("new_zeros", x)
    for _ in range(3):
        mask = run.op("setitem", mask)
    mask = run.op("eq", run.op("sub", mask), shape=(8,))
    return run.op("add", x, mask)


def test_what_is_made_from_sizes_is_one_box_without_a_line_to_it():
    run = Recorder()
    drawing = run.done(masked(run, run.op("exp", run.input()))).draw()
    box = next(row for row in all_rows(drawing) if row[0].startswith("new_zeros"))
    assert box[-1].endswith("reads no input value")
    assert not any(reader == box[0] for _, reader in links(drawing))
    assert (box[0], "add") in links(drawing)


def test_one_op_that_reads_sizes_says_so():
    run = Recorder()
    x = run.input()
    drawing = run.done(run.op("gru_cell", run.op("exp", x), run.op("new_zeros", x))).draw()
    assert ["new_zeros", "(1, 8) · reads no input value"] in all_rows(drawing)
    assert ("x", "new_zeros") not in links(drawing)


def test_what_is_drawn_at_random_is_not_the_same_in_every_run():
    run = Recorder()
    noise = run.op("exp", run.op("randn"))
    drawing = run.done(run.op("add", run.input(), noise)).draw()
    assert [row[0] for row in all_rows(drawing)] == ["randn", "exp", "x", "add", "output_1"]


def closing(entering):
    """What it costs to close a module in which `entering` tensors from outside meet, and two that differ only in that."""
    run = Recorder()
    x = run.input()
    for index in range(40):  # so much else that no module is a large share of everything
        x = run.op(f"f{index}", x)
    given = [run.op(f"g{index}", x) for index in range(entering)]
    with run.module("mix", "Mix"):
        y = run.op("neg", given[0])
        for index, other in enumerate(given[1:]):
            y = run.op(f"join{index}", y, other)
    tree = prepare(read(run.done(run.op("relu", y)), DEFAULTS), fold_repeats=False, depth=None)
    branch = next(child for child in tree.root.children if child.call >= 0)
    return weigh(tree).close[id(branch)]


def test_a_box_with_several_arrows_is_dearer_to_close():
    """An op that joins two tensors is worth 0.5 + 1; each arrow after the first costs 1.5 more, up to three."""
    assert closing(2) == 0.5 + 1.5 + 1.5
    assert closing(3) == 0.5 + 2 * 1.5 + 2 * 1.5
    assert closing(6) == 0.5 + 5 * 1.5 + 3 * 1.5


def test_a_picture_shows_a_join_where_there_is_one():
    """A block of eleven equal layers is cheap to close; but the only addition of the network is in it."""
    run = Recorder()
    x = run.input()
    for index in range(12):
        x = run.op(f"f{index}", x)
    with run.module("block", "Block"):
        y = x
        for index in range(11):
            y = run.layer(f"block.{index}", "Linear", "linear", y, size=(8, 8))
            y = run.op("relu" if index % 3 else "tanh", y)
        x = run.op("add", x, y)
    drawing = run.done(run.op("log", x)).draw(fold_repeats=False)
    assert any(row[0] == "add" for row in all_rows(drawing))


def test_two_stages_of_unlike_sizes_are_spelled_out():
    def stages(sizes):
        run = Recorder()
        x = run.input()
        for number, size in enumerate(sizes):
            for name in ("block", "merge"):
                home = f"{name}{number}"
                with run.module(home, name.title()):
                    x = run.layer(f"{home}.a", "Linear", "linear", x, shape=(1, size), size=(size, size))
                    x = run.op("relu" if name == "block" else "exp", x, shape=(1, size))
        return [box.copies for box in run.done(x).draw(collapse="none", fold_repeats=True).scene.boxes()]

    assert max(stages([8, 8])) == 2
    assert max(stages([8, 16])) == 1
    assert max(stages([8, 16, 32])) == 3


def test_swin_can_be_counted():
    """2, 2, 6 and 2 blocks, in a frame or in a closed box each."""
    drawing = picture(load("swin"), DEFAULTS)
    said = [part.text for box in drawing.scene.boxes() for part in box.title]
    said += [text for row in all_rows(drawing) for text in row]
    found = [re.search(r"SwinTransformerBlock ×(\d+)", text) for text in said]
    assert [one[1] for one in found if one] == ["2", "2", "6", "2"]


def test_collectives_stay_visible_and_their_namesakes_do_not():
    """`gather` of one tensor has the name of a collective; twelve closed modules with one each stay closed."""
    run = Recorder()
    x = run.input()
    for index in range(12):
        with run.module(f"m{index}", f"M{index}"):
            for part in range(8):
                x = run.op(f"f{index}_{part}", x)
            x = run.op("gather", x)
    with run.module("last", "Last"):
        x = run.op("all_reduce", run.op("exp", x))
    drawn = [row[0] for row in all_rows(run.done(x).draw())]
    assert "all_reduce" in drawn
    assert len(drawn) <= 40


@pytest.mark.parametrize("name", names())
def test_every_kind_of_op_is_drawn_or_named_or_in_a_box_that_is_named_after_what_it_does(name):
    network = load(name)
    plan = make_plan(network, "auto", fold_repeats=True)
    drawn, said = set(), " ".join(text for row in all_rows(picture(network, DEFAULTS)) for text in row).lower()
    hidden = set()
    waiting = [(branch, -1) for branch in plan.tree.root.children]
    while waiting:
        branch, home = waiting.pop()
        home = branch.call if branch.kind == "module" else home
        if plan.is_open(branch) and branch.children:
            waiting += [(child, home) for child in branch.children]
        elif branch.op >= 0:
            drawn.add(network.functions[branch.op])
        elif branch.kind not in {"bundle", "function"}:
            hidden |= {
                network.functions[op]
                for op in plan.tree.op_at[branch.first : branch.end]
                if not is_named(network, network.module_of[op], home, branch.kind == "module")
            }
    assert [one for one in hidden - VIEWS - MOVES - drawn if one not in said] == []


def is_named(network, call, home, with_home):
    """Whether an op in a module call stands in a module whose class says what it is, below `home` or in it."""
    while call >= 0:
        if call == home and not with_home:
            return False
        if network.calls[call].class_name not in CONTAINERS:
            return True
        if call == home:
            return False
        call = network.calls[call].parent
    return False
