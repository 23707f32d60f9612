"""What stands in a node and over a frame."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tl_viz._measure import SLOT_SIZE, shorten, text_width
from tl_viz._names import address_range, amount, count, relative, shape_range, shape_text, summary
from tl_viz._plan import CONTAINERS, VIEWS
from tl_viz._scene import TextRow

if TYPE_CHECKING:
    from tl_viz._network import Network
    from tl_viz._plan import Branch, Tree

TITLE, DETAIL = 11.5, 9.5
WIDEST = 240.0
"""A line of text longer than this is shortened."""
PAD_X, PAD_Y, ROW_GAP = 10.0, 7.0, 3.0
NARROWEST = 56.0
PORT_ROOM = 8.0
"""How far apart the names of arguments stand at least."""
LISTED = 4
"""Up to this many copies are named one by one, where their names are words and not numbers."""
SLOT_PAD = 3.0
"""How much higher above and below its text a node is that names its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """Which lines a node has."""

    fields: tuple[str, ...] = ("name", "shape", "params")
    """Out of `name`, `shape`, `params`, `inside`, `ops`."""
    colour: str = ""
    """What the colours stand for, in the words of the user."""
    size: str = ""
    """What the sizes stand for."""


def box_size(rows: tuple[TextRow, ...], slots: dict[int, str] | None = None) -> tuple[float, float]:
    """Return the width and height of a node with these lines, and with the names of its arguments along its edge."""
    width = max([text_width(row.text, row.size, row.bold) for row in rows], default=0.0)
    height = sum(row.size for row in rows) + ROW_GAP * max(0, len(rows) - 1)
    pad_x, pad_y = PAD_X, PAD_Y
    if slots:
        pad_x = max(PAD_X, 5 + max(text_width(text, SLOT_SIZE) for text in slots.values()))
        pad_y += SLOT_PAD
    beside = 2 * PORT_ROOM * len(slots) if slots else 0.0  # sideways, arguments stand below each other
    return max(NARROWEST, width + 2 * pad_x), max(height + 2 * pad_y, beside)


def _row(text: str, *, title: bool = False) -> TextRow:
    size = TITLE if title else DETAIL
    return TextRow(text=shorten(text, WIDEST, size, title), size=size, bold=title, muted=not title)


def node_rows(tree: Tree, branch: Branch, frame: str, wishes: Wishes, *, around: int = 1) -> tuple[TextRow, ...]:
    """Return the lines of a closed branch or a leaf.

    Args:
        tree: the network.
        branch: what the node stands for.
        frame: address of the module in whose frame it stands.
        wishes: which lines are wanted.
        around: how many passes a frame around it speaks of already.
    """
    network = tree.network
    if branch.kind == "bundle":
        return (
            _row(count(ops_of(tree, branch), "op"), title=True),
            _row("no effect on the output"),
        )
    title, kind = names(tree, branch, frame)
    rows = [_row(title, title=True)]
    badge = badge_text(tree, branch, around=around)
    if kind:
        rows.append(_row(kind))
    if badge:
        rows.append(TextRow(text=badge, size=DETAIL, bold=True))
    if branch.kind == "chain":
        rows += [_row(line) for line in _joined(tree, branch)]
    elif branch.kind != "op" and _inside(tree, branch) != title:
        rows.append(_row(_inside(tree, branch)))
    text = " · ".join(_facts(tree, branch, wishes.fields))
    if text:
        rows.append(_row(text))
    if branch.op >= 0 and network.roles[branch.op] == "stop":
        rows += [_row(network.places[branch.op])]
    if branch.op >= 0 and network.rows:
        rows += [_row(line) for line in network.rows[branch.op]]
    return tuple(rows)


def _facts(tree: Tree, branch: Branch, wanted: tuple[str, ...]) -> list[str]:
    """Return what stands in the last line of a node."""
    facts = [_shape(tree, branch) if "shape" in wanted else ""]
    params = params_of(tree, branch)
    if params and "params" in wanted:
        facts.append(f"{amount(params)} params")
    elif "params" in wanted and branch.op >= 0 and tree.network.learned[branch.op]:
        facts.append("shared params")
    if branch.op < 0:
        facts.append(count(ops_of(tree, branch), "op"))
    if branch.kind == "constants":
        facts.append("read no input")
    return [fact for fact in facts if fact]


def _joined(tree: Tree, branch: Branch) -> list[str]:
    """Return what else a chain holds: the views before and after its op, and the outputs that nobody reads."""
    functions, parents = tree.network.functions, tree.network.parents
    at = next(index for index, child in enumerate(branch.children) if child.op == branch.op)
    leads = [child.op for child in branch.children[:at]]
    before = [functions[op] for op in leads]
    if any(parents[op] != (above,) for above, op in pairwise(leads)):  # they lead to it side by side
        before = [summary(before, most=2)]
    after = [functions[child.op] for child in branch.children[at + 1 :] if tree.readers[child.first]]
    unread = len(branch.children) - 1 - len(leads) - len(after)
    most = 2 if before and after else 3
    lines = [" → ".join([*_few(before, most), "…", *_few(after, most)])] if before or after else []
    return [*lines, f"+ {count(unread, 'output')} that nothing reads"] if unread else lines


def _few(functions: list[str], most: int) -> list[str]:
    return functions if len(functions) <= most else [*functions[: most - 1], f"{len(functions) - most + 1} more"]


def names(tree: Tree, branch: Branch, frame: str) -> tuple[str, str]:
    """Return the name of a branch, relative to its frame, and what kind of thing it is."""
    network = tree.network
    if branch.op >= 0:
        return _leaf_names(network, branch, frame, tree)
    if branch.kind == "module":
        return _address(tree, branch, frame), network.calls[branch.call].class_name
    items = [names(tree, child, frame)[0] for child in branch.children]
    if branch.kind == "run" or len(set(items)) == 1:
        return summary(items, most=3), ""
    return (f"{items[0]} … {items[-1]}" if len(items) > 1 else items[0]), ""


def _leaf_names(network: Network, branch: Branch, frame: str, tree: Tree) -> tuple[str, str]:
    role = network.roles[branch.op]
    if role == "stop":
        home = network.module_of[branch.op]
        where = f"{network.calls[home].address} · {network.calls[home].class_name}" if home >= 0 else network.name
        return network.functions[branch.op], f"the run ended in {where}"
    if role not in {"op", "hook"}:
        label = network.labels[branch.op]
        first = network.places.get(branch.op, label)
        last = network.places.get(tree.op_at[branch.others[-1]], first) if branch.others else first
        return address_range(first, last), "" if first.startswith(role) else role
    if branch.call < 0:
        weights = [relative(address, frame) for address in network.weights.get(branch.op, ())]
        return network.functions[branch.op], summary(weights, most=2)
    return _address(tree, branch, frame), network.calls[branch.call].class_name


def _address(tree: Tree, branch: Branch, frame: str, others: tuple[int, ...] = ()) -> str:
    """Return the address of the module call that a branch stands for, with those of its copies, relative to its frame.

    `others` are the places of the copies where it is the run around the branch that is folded.
    """
    network = tree.network
    first = network.calls[branch.call].address
    others = branch.others or others
    if not others:
        return relative(first, frame)
    steps = 0
    at = network.module_of[tree.op_at[branch.first]]
    while at != branch.call and at >= 0:
        at = network.calls[at].parent
        steps += 1
    found = [first]
    for start in others if len(others) < LISTED else others[-1:]:
        call = network.module_of[tree.op_at[start]]
        for _ in range(steps):
            call = network.calls[call].parent
        found.append(network.calls[call].address)
    names = [relative(address, frame) for address in dict.fromkeys(found)]
    if len(names) > 1 and len(others) < LISTED and not any(name[-1].isdigit() for name in names):
        return ", ".join(names)
    return address_range(names[0], names[-1])


def badge_text(tree: Tree, branch: Branch, *, around: int = 1) -> str:
    """Return what says how often a branch is there: `×12`, `≈×6` or `↻500`, with what it means.

    `around` is the number of passes that a frame around it speaks of already.
    """
    rounds = rounds_of(tree, branch)
    if branch.copies > 1:
        if branch.looped:
            return f"↻{branch.copies} same weights"
        own = " own weights" if params_of(tree, branch) else ""
        if branch.dense:  # which is why their sizes differ
            return f"{'' if branch.alike else '≈'}×{branch.copies}{own}, each reads all before"
        return f"×{branch.copies}{own}" if branch.alike else f"≈×{branch.copies}{own}, sizes differ"
    return f"↻{rounds}" if rounds > 1 and rounds != around else ""


def rounds_of(tree: Tree, branch: Branch) -> int:
    """Return how many passes every op of a branch has, or 1 where they differ."""
    rounds = tree.network.rounds
    first = rounds[tree.op_at[branch.first]] if branch.end > branch.first else 1
    if first == 1:
        return 1
    same = all(rounds[tree.op_at[at]] == first for at in range(branch.first, branch.end))
    return first if same else 1


def _inside(tree: Tree, branch: Branch) -> str:
    """Return what a closed branch holds, by the kinds of its children."""
    functions = tree.network.functions
    kinds = (
        _kinds(tree, branch)
        if branch.children
        else [functions[tree.op_at[at]] for at in range(branch.first, branch.end)]
    )
    return summary(sorted(kinds, key=lambda kind: kind in VIEWS))  # what computes comes first


def _kinds(tree: Tree, branch: Branch) -> list[str]:
    network = tree.network
    kinds: list[str] = []
    for child in branch.children:
        name = network.calls[child.call].class_name if child.call >= 0 else ""
        if name and not (name in CONTAINERS and child.children):
            inner = [name]
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


def ops_of(tree: Tree, branch: Branch) -> int:
    """Return how many ops a branch holds, all its copies and passes together."""
    rounds, op_at = tree.network.rounds, tree.op_at
    return sum(rounds[op_at[at]] for at in range(branch.first, branch.last_end))


def frame_title(tree: Tree, branch: Branch, frame: str, *, around: int = 1) -> tuple[TextRow, ...]:
    """Return the parts of the title of an open branch; for `around` see `badge_text`."""
    name, kind = names(tree, branch, frame)
    parts: list[TextRow] = []
    badge = badge_text(tree, branch, around=around)
    if branch.kind == "module":
        parts.append(TextRow(text=shorten(name, WIDEST, TITLE, bold=True), size=TITLE, bold=True))
        parts.append(TextRow(text=kind, size=DETAIL + 0.5, muted=True))
    elif branch.kind == "segment":
        parts.append(TextRow(text=shorten(name, WIDEST, DETAIL), size=DETAIL, muted=True))
    elif branch.kind == "loop":
        parts.append(TextRow(text="loop", size=DETAIL + 0.5, muted=True))
    elif branch.kind == "run" and not branch.looped:
        inner = [
            _address(tree, child, frame, tuple([start + child.first - branch.first for start in branch.others]))
            for child in branch.children
            if child.call >= 0
        ]
        parts.append(TextRow(text=shorten(", ".join(inner), WIDEST, DETAIL), size=DETAIL, muted=True))
    if badge:
        parts.append(TextRow(text=badge, size=DETAIL + 0.5, bold=True))
    return tuple(parts)
