"""The legend explains the signs that a picture uses, and no others; they are worked out here from the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from columns import DEFAULTS, load, names
from nets import chain, transformer
from recorder import Recorder

from tl_viz._display import MARGIN, Bar, Words
from tl_viz._draw import picture
from tl_viz._measure import text_width
from tl_viz._plan import make_plan
from tl_viz._theme import DARK
from tl_viz._write.pdf import to_pdf

LINES = {"joins", "carried", "faint", "ends", "tensors", "parts", "arguments", "bridge"}
"""Signs at lines, which the plan does not tell."""


def legend(drawing):
    """Key -> what it says."""
    found = {}
    for group in drawing._display.groups:
        if group.kind == "legend":
            *_, words = (shape for shape in group.shapes if isinstance(shape, Words))
            found[group.key.removeprefix("legend-")] = words.text
    return found


def visible(plan):
    """Yield every branch that is drawn, and whether it is a frame."""
    waiting = list(plan.tree.root.children)
    while waiting:
        branch = waiting.pop()
        framed = bool(branch.children) and plan.is_open(branch)
        yield branch, framed
        if framed:
            waiting.extend(branch.children)


def one_call(network, op_at, branch):
    """Whether copies are the outputs of one call, which are no copies."""
    calls = {network.made_by[op_at[at]] for at in (branch.first, *branch.others)} if network.made_by else {0}
    return len(calls) == 1 and calls != {0}


def _is_tied(network):
    """Whether two modules read the same parameter."""
    homes = {}
    for op, addresses in network.weights.items():
        for address in addresses:
            homes.setdefault(address, set()).add(network.calls[network.module_of[op]].address)
    return any(len(modules) > 1 for modules in homes.values())


def expected(network, mode):
    """Return the signs of boxes and badges that a picture must explain, from the plan and the columns alone."""
    plan = make_plan(network, mode, fold_repeats=mode != "none")
    op_at, found = plan.tree.op_at, {"tied"} if _is_tied(network) else set()
    branches = network.apart
    for branch, framed in visible(plan):
        ops = [op_at[at] for at in range(branch.first, branch.last_end)]
        if not framed and branch.kind != "bundle" and any(network.learned[op] for op in ops):
            found.add("tinted")
        if not framed and branch.op < 0:
            found.add("dead" if branch.kind == "bundle" else "closed")
            if branch.kind != "bundle" and any(op in branches for op in ops):
                found.add("inside")
        if branch.op in network.joins and branch.op not in branches and not framed:
            found.add("one")
        if framed and branch.kind in {"segment", "constants", "chain"}:
            found.add("piece")
        if branch.copies > 1 and (framed or not one_call(network, op_at, branch)):
            found.add("stack")
            if branch.op < 0 or network.roles[branch.op] == "op":
                found.add("rounds" if branch.looped else "copies" if branch.alike else "near")
    return found


@pytest.mark.parametrize("mode", ["auto", "none", "max"])
@pytest.mark.parametrize("name", names())
def test_the_legend_has_the_signs_of_the_plan(name, mode):
    network = load(name)
    drawing = picture(network, replace(DEFAULTS, collapse=mode, fold_repeats=mode != "none"))
    plain = set(legend(drawing)) - LINES
    if network.back or any(call.number > 1 for call in network.calls):  # a place that is run again need not be a stack
        plain, wanted = plain - {"rounds"}, expected(network, mode) - {"rounds"}
    else:
        wanted = expected(network, mode)
    assert plain == wanted


@pytest.mark.parametrize("name", names())
def test_signs_at_lines_are_explained_where_there_are_any(name):
    drawing = picture(load(name), DEFAULTS)
    edges, said = drawing.scene.edges, set(legend(drawing))
    assert ("carried" in said) == any(edge.role == "loop" for edge in edges)
    assert bool(said & {"faint", "dead"}) == any(edge.role == "faint" for edge in edges)
    assert ("arguments" in said) == any(any(edge.slots) for edge in edges)
    texts = {text for edge in edges for text in edge.ends if text}
    assert ("tensors" in said) == any(" tensors" in text for text in texts)
    assert ("parts" in said) == any(text.endswith(" parts") for text in texts)
    assert ("ends" in said) == any(not text.endswith((" tensors", " parts")) for text in texts)
    assert ("joins" in said) == any(node.joins == "branches" for node in drawing.scene.nodes())
    crossed = {
        min(y - low, high - y, x - left, right - x)
        for edge, x, low, high in _pieces(drawing, upright=True)
        for other, y, left, right in _pieces(drawing, upright=False)
        if edge != other and low < y < high and left < x < right
    }
    assert "bridge" in said or max(crossed, default=0) < 9  # too near to a corner for a bridge
    assert "bridge" not in said or crossed


def _pieces(drawing, *, upright):
    for line in drawing.geometry.lines:
        for (x, y), (to_x, to_y) in zip(line.points, line.points[1:], strict=False):
            if upright and x == to_x:
                yield line.edge, x, min(y, to_y), max(y, to_y)
            elif not upright and y == to_y:
                yield line.edge, y, min(x, to_x), max(x, to_x)


def test_a_picture_without_signs_has_no_legend():
    run = Recorder()
    drawing = run.done(run.op("relu", run.input())).draw()
    assert legend(drawing) == {}
    note = next(group for group in drawing._display.groups if group.key == "note-0").shapes[0]
    assert (
        drawing.height == note.y - 4 + 10.5 + 6 + 6
    )  # it stands 4 below the picture; the next note would be 16.5 further


def test_a_transformer_with_dead_ends():
    said = legend(transformer(12).draw(depth=2))
    # The closed blocks are a stack with weights, three ops reach no output, and one mask enters every block.
    keys = ["tinted", "joins", "closed", "stack", "copies", "inside", "dead", "ends"]
    assert [key for key in said if key != "bridge"] == keys
    assert said["copies"] == "N copies, own weights each"


def test_copies_without_weights_have_none_of_their_own():
    run = Recorder()
    x = run.input()
    for index in range(5):
        with run.module(f"block.{index}", "Block"):
            for step in range(9):
                x = run.op(f"step_{step}", x)
    said = legend(run.done(x).draw(depth=1))
    assert said == {"closed": "closed, more inside", "stack": "several alike, drawn once", "copies": "N copies"}


def test_letters_of_attention_are_spelled_out():
    run = Recorder()
    q, k, v = (run.layer(name, "Linear", "linear", run.input(address=name), size=(8, 8)) for name in ("a", "b", "c"))
    said = legend(run.done(run.op("scaled_dot_product_attention", q, k, v)).draw())
    assert said["arguments"] == "at an arrow: which argument: query, key, value"


def test_highlights_constants_buffers_edits_and_pieces():
    run = Recorder()
    y = run.op("mul", run.input(), run.buffer("scale"))
    trace = run.done(run.op("relu", y, edited=True))
    assert list(legend(trace.draw(show_buffers=True))) == ["marked", "held"]
    assert legend(trace.draw(show_buffers=True))["held"] == "buffer"
    assert list(legend(trace.draw(intervention_mode="as_node"))) == ["hook"]
    assert "piece" in legend(chain(60).draw())


def test_colours_of_numbers_replace_the_tint_that_is_explained():
    run = Recorder()
    trace = run.done(run.layer("fc", "Linear", "linear", run.input(), size=(8, 8)))
    assert list(legend(trace.draw())) == ["tinted"]
    assert legend(trace.draw(color_by="time")) == {}


def _extent(group):
    found = []
    for shape in group.shapes:
        if isinstance(shape, Words):
            assert shape.width == text_width(shape.text, shape.size, shape.bold)
            found += [(shape.x, shape.y - shape.size), (shape.x + shape.width, shape.y + 2)]
        elif isinstance(shape, Bar):
            found += [(shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height)]
        else:
            found += [point for line in shape.lines for point in line]
    xs, ys = zip(*found, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


@pytest.mark.parametrize("direction", ["topdown", "leftright"])
@pytest.mark.parametrize("name", names())
def test_the_legend_stays_inside_and_in_three_rows(name, direction):
    drawing = picture(load(name), replace(DEFAULTS, direction=direction))
    groups = [group for group in drawing._display.groups if group.kind == "legend"]
    places = [_extent(group) for group in groups]
    note = max(group.shapes[0].y for group in drawing._display.groups if group.kind == "note")
    for left, top, right, bottom in places:
        assert left >= MARGIN
        assert right <= drawing.width - MARGIN + 1e-6
        assert note < top
        assert bottom <= drawing.height
    for index, (left, top, right, bottom) in enumerate(places):
        for x, y, to_x, to_y in places[:index]:
            assert left >= to_x or right <= x or top >= to_y or bottom <= y
    middles = {group.shapes[-1].y for group in groups}
    assert 1 <= len(middles) <= 3


def test_the_legend_is_no_item_and_in_every_format_but_dot():
    drawing = transformer(12).draw(theme=DARK, depth=2)
    assert drawing.collapse_plan.items == sum(1 for _ in drawing.scene.nodes())
    assert "closed, more inside" in drawing.svg
    assert "closed, more inside" in drawing._repr_svg_()
    assert b"closed, more inside" in to_pdf(drawing._display)
    assert "closed, more inside" not in drawing.dot
    assert transformer(12).draw(theme=DARK, depth=2).svg == drawing.svg


def test_a_parameter_of_another_module_is_explained():
    run = Recorder()
    x = run.layer("embed", "Embedding", "embedding", run.input(), size=(8, 8))
    with run.module("head", "Head"):
        x = run.op("linear", x, params=[("embed.weight", (8, 8))])
    drawing = run.done(x).draw()
    assert any("= embed.weight" in row.text for node in drawing.scene.nodes() for row in node.rows)
    assert legend(drawing)["tied"] == "same parameter as, counted there"
    (words, *_) = next(group for group in drawing._display.groups if group.key == "legend-tied").shapes
    assert (words.text, words.bold) == ("= name", False)
