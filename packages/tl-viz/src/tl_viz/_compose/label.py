"""What stands in a node and over a frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._measure import shorten, text_width
from tl_viz._names import address_range, amount, count, relative, shape_range, shape_text, summary
from tl_viz._scene import TextRow

if TYPE_CHECKING:
    from tl_viz._network import Network
    from tl_viz._plan import Branch, Tree

TITLE, DETAIL = 11.5, 9.5
WIDEST = 240.0
"""A line of text longer than this is shortened."""
PAD_X, PAD_Y, ROW_GAP = 10.0, 7.0, 3.0
NARROWEST = 56.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Which lines a node has."""

    fields: tuple[str, ...] = ("name", "shape", "params")
    """Out of `name`, `shape`, `params`, `inside`, `ops`."""


def box_size(rows: tuple[TextRow, ...]) -> tuple[float, float]:
    """Return the width and height of a node with these lines."""
    width = max([text_width(row.text, row.size, row.bold) for row in rows], default=0.0)
    height = sum(row.size for row in rows) + ROW_GAP * max(0, len(rows) - 1)
    return max(NARROWEST, width + 2 * PAD_X), height + 2 * PAD_Y


def _row(text: str, *, title: bool = False) -> TextRow:
    size = TITLE if title else DETAIL
    return TextRow(text=shorten(text, WIDEST, size, title), size=size, bold=title, muted=not title)


def node_rows(tree: Tree, branch: Branch, frame: str, wishes: Wishes) -> tuple[TextRow, ...]:
    """Return the lines of a closed branch or a leaf that stands in the frame of the module at `frame`."""
    network = tree.network
    wanted = wishes.fields
    if branch.kind == "bundle":
        return (
            _row(count(_ops(tree, branch), "op"), title=True),
            _row("no effect on the output"),
        )
    title, kind = names(tree, branch, frame)
    rows = [_row(title, title=True)]
    badge = badge_text(tree, branch)
    if kind:
        rows.append(_row(kind))
    if badge:
        rows.append(TextRow(text=badge, size=DETAIL, bold=True))
    if branch.kind != "op":
        rows.append(_row(_inside(tree, branch)))
    facts = [_shape(tree, branch) if "shape" in wanted else ""]
    params = params_of(tree, branch)
    if params and "params" in wanted:
        facts.append(f"{amount(params)} params")
    elif "params" in wanted and branch.kind == "op" and network.learned[branch.op]:
        facts.append("shared params")
    if branch.kind != "op":
        facts.append(count(_ops(tree, branch), "op"))
    if branch.kind == "constants":
        facts.append("read no input")
    text = " · ".join([fact for fact in facts if fact])
    if text:
        rows.append(_row(text))
    if branch.kind == "op" and network.rows:
        rows += [_row(line) for line in network.rows[branch.op]]
    return tuple(rows)


def names(tree: Tree, branch: Branch, frame: str) -> tuple[str, str]:
    """Return the name of a branch, relative to its frame, and what kind of thing it is."""
    network = tree.network
    if branch.kind == "op":
        return _leaf_names(network, branch, frame, tree)
    if branch.kind == "module":
        call = network.calls[branch.call]
        return address_range(
            relative(call.address, frame), relative(_last_address(tree, branch), frame)
        ), call.class_name
    items = [names(tree, child, frame)[0] for child in branch.children]
    if branch.kind == "run":
        return summary(items, most=3), ""
    return (f"{items[0]} … {items[-1]}" if len(items) > 1 else items[0]), ""


def _leaf_names(network: Network, branch: Branch, frame: str, tree: Tree) -> tuple[str, str]:
    function = network.functions[branch.op]
    role = network.roles[branch.op]
    if role != "op" and role != "hook":
        label = network.labels[branch.op]
        return label, "" if label.startswith(role) else role
    if branch.call < 0:
        return function, ""
    call = network.calls[branch.call]
    last = relative(_last_address(tree, branch), frame)
    return address_range(relative(call.address, frame), last), call.class_name


def _last_address(tree: Tree, branch: Branch) -> str:
    """Return the address of the module call that the last copy of a branch stands for."""
    network = tree.network
    call = network.calls[branch.call]
    if not branch.others:
        return call.address
    steps = 0
    at = network.module_of[tree.op_at[branch.first]]
    while at != branch.call and at >= 0:
        at = network.calls[at].parent
        steps += 1
    last = network.module_of[tree.op_at[branch.others[-1]]]
    for _ in range(steps):
        last = network.calls[last].parent
    return network.calls[last].address


def badge_text(tree: Tree, branch: Branch) -> str:
    """Return what says how often a branch is there: `×12`, `≈×6` or `↻500`, with what it means."""
    rounds = _rounds(tree, branch)
    if branch.copies > 1:
        if branch.looped:
            return f"↻{branch.copies} same weights"
        own = " own weights" if params_of(tree, branch) else ""
        if branch.alike:
            return f"×{branch.copies}{own}"
        return f"≈×{branch.copies}{own}, sizes differ"
    return f"↻{rounds}" if rounds > 1 else ""


def _rounds(tree: Tree, branch: Branch) -> int:
    """Return how many passes every op of a branch has, or 1 where they differ."""
    rounds = tree.network.rounds
    first = rounds[tree.op_at[branch.first]] if branch.end > branch.first else 1
    if first == 1:
        return 1
    same = all(rounds[tree.op_at[at]] == first for at in range(branch.first, branch.end))
    return first if same else 1


def _inside(tree: Tree, branch: Branch) -> str:
    """Return what a closed branch holds, by the kinds of its children."""
    if branch.children:
        return summary(_kinds(tree, branch))
    functions = tree.network.functions
    return summary([functions[tree.op_at[at]] for at in range(branch.first, branch.end)])


def _kinds(tree: Tree, branch: Branch) -> list[str]:
    network = tree.network
    kinds: list[str] = []
    for child in branch.children:
        if child.call >= 0:
            inner = [network.calls[child.call].class_name]
        elif child.kind == "op":
            inner = [network.functions[child.op]]
        else:
            inner = _kinds(tree, child)
        kinds += inner * child.copies
    return kinds


def _shape(tree: Tree, branch: Branch) -> str:
    """Return the shape of what a branch gives away last."""
    network = tree.network
    size = branch.end - branch.first
    if not size or branch.kind in {"segment", "constants"}:
        return ""
    at = _outlet(tree, branch.first, branch.end)
    shape = network.shapes[tree.op_at[at]]
    if branch.copies > 1 and not branch.alike:
        last = branch.others[-1]
        return shape_range(shape, network.shapes[tree.op_at[last + at - branch.first]])
    return shape_text(shape)


def _outlet(tree: Tree, first: int, end: int) -> int:
    for at in range(end - 1, first - 1, -1):
        if any(not first <= reader < end for reader in tree.readers[at]):
            return at
    return end - 1


def params_of(tree: Tree, branch: Branch) -> int:
    """Return how many parameter elements a branch holds, all its copies together."""
    params, op_at = tree.network.params, tree.op_at
    return sum(params[op_at[at]] for at in range(branch.first, branch.last_end))


def _ops(tree: Tree, branch: Branch) -> int:
    rounds, op_at = tree.network.rounds, tree.op_at
    return sum(rounds[op_at[at]] for at in range(branch.first, branch.last_end))


ops_of = _ops


def frame_title(tree: Tree, branch: Branch, frame: str) -> tuple[TextRow, ...]:
    """Return the parts of the title of an open branch."""
    name, kind = names(tree, branch, frame)
    parts: list[TextRow] = []
    badge = badge_text(tree, branch)
    if branch.kind == "module":
        parts.append(TextRow(text=shorten(name, WIDEST, TITLE, bold=True), size=TITLE, bold=True))
        parts.append(TextRow(text=kind, size=DETAIL + 0.5, muted=True))
    elif branch.kind == "segment":
        parts.append(TextRow(text=shorten(name, WIDEST, DETAIL), size=DETAIL, muted=True))
    if badge:
        parts.append(TextRow(text=badge, size=DETAIL + 0.5, bold=True))
    return tuple(parts)
