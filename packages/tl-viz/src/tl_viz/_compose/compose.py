"""Builds the scene of a plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tl_viz._compose.address import address_of
from tl_viz._compose.around import Around
from tl_viz._compose.branches import joins_clauses
from tl_viz._compose.follow import follow
from tl_viz._compose.heavy import heaviest
from tl_viz._compose.inner import joins_text
from tl_viz._compose.joined import arguments_of
from tl_viz._compose.label import Wishes, box_size, frame_title, names, node_rows
from tl_viz._compose.made import made_of
from tl_viz._compose.meet import Meets, meeting, meets_in
from tl_viz._compose.noun import noun_of
from tl_viz._compose.sums import COMPUTED, calls_of, is_one_call, ops_of, ops_text, params_text, rounds_of
from tl_viz._compose.trail import draw_edges
from tl_viz._names import amount, count
from tl_viz._plan import Likeness, find_likenesses
from tl_viz._scene import Box, JoinKind, Node, NodeRole, Scene
from tl_viz._theme import Theme, blend

if TYPE_CHECKING:
    from tl_viz._network import Network
    from tl_viz._plan import Branch, Plan

BIGGEST = 2.0
"""How much larger than usual the node with the largest value is under `size_by=`."""


@dataclass(slots=True)
class _Work:
    plan: Plan
    theme: Theme
    wishes: Wishes
    frames: bool
    meets: Meets
    keys: dict[int, str] = field(default_factory=dict[int, str])
    titles: dict[int, str] = field(default_factory=dict[int, str])
    """Title of each box and frame, by the id of its branch."""
    used: set[str] = field(default_factory=set[str])
    faint: set[str] = field(default_factory=set[str])
    joins: dict[int, JoinKind] = field(default_factory=dict[int, JoinKind])
    """id of a visible branch in which two or more tensors meet -> what meets there."""
    tints: tuple[float, float] = (0.0, 1.0)
    largest: float = 0.0
    likenesses: dict[int, Likeness] = field(default_factory=dict[int, Likeness])


def compose(plan: Plan, theme: Theme, wishes: Wishes, *, frames: bool = True) -> Scene:
    """Return the scene of a plan.

    Args:
        plan: which branches are open.
        theme: only its colour scale is used here.
        wishes: which lines of text a node has.
        frames: draw a frame around what an open module holds.
    """
    meets, trail = meets_in(plan), follow(plan)
    work = _Work(
        plan, theme, wishes, frames, meets,
        joins={id(trail.branch[item]): kind for item, kind in meeting(meets, trail).items()},
        likenesses=find_likenesses(plan),
    )  # fmt: skip
    _scales(work)
    root = plan.tree.root
    children: list[Node | Box] = []
    for child in root.children:
        children += _item(work, child, Around(frame=plan.tree.network.base))
    trail.keys = [work.keys[id(branch)] for branch in trail.branch]
    faint = {number for number, key in enumerate(trail.keys) if key in work.faint}
    edges = draw_edges(plan, trail, faint)
    box = Box(key="", role="root", title=(), children=tuple(children))
    made = made_of(plan.tree.network)
    said = joins_clauses(plan, meets, made)
    heavy = heaviest(plan, work.titles)
    return Scene(root=box, edges=edges, made=made, heavy=heavy, joins=said, notes=_notes(plan, work))


def _scales(work: _Work) -> None:
    network = work.plan.tree.network
    if network.tints:
        sums = _visible_sums(work.plan, network.tints)
        work.tints = (min(sums), max(sums))
    if network.sizes:
        work.largest = max(_visible_sums(work.plan, network.sizes))


def _visible_sums(plan: Plan, values: dict[int, float]) -> list[float]:
    sums: list[float] = []
    waiting = list(plan.tree.root.children)
    while waiting:
        branch = waiting.pop()
        if plan.is_open(branch) and branch.children:
            waiting.extend(branch.children)
        else:
            sums.append(_sum(plan, branch, values))
    return sums or [0.0]


def _sum(plan: Plan, branch: Branch, values: dict[int, float]) -> float:
    op_at = plan.tree.op_at
    return sum(values.get(op_at[at], 0.0) for at in range(branch.first, branch.last_end))


def _item(work: _Work, branch: Branch, around: Around) -> list[Node | Box]:
    """Return the node of a closed branch, or the frame of an open one; without frames, its content."""
    if not (work.plan.is_open(branch) and branch.children):
        return [_node(work, branch, around)]
    calls = work.plan.tree.network.calls
    bare = branch.copies == 1 and not work.frames
    inner = around.into(
        branch,
        calls[branch.call].address if branch.kind == "module" else around.frame,
        around.rounds if bare else max(around.rounds, rounds_of(work.plan.tree, branch)),
        noun_of(work.plan.tree, branch, around.noun),
    )
    children: list[Node | Box] = []
    for child in branch.children:
        children += _item(work, child, inner)
    if bare:
        return children
    call = calls[branch.call] if branch.kind == "module" else None
    title = frame_title(work.plan.tree, branch, work.wishes, around)
    work.titles[id(branch)] = title[0].text if title else ""
    role = (
        "module" if branch.kind in {"module", "function"} else ("run" if branch.kind in {"run", "loop"} else "segment")
    )
    box = Box(
        key=_key(work, branch),
        role=role,
        title=title,
        children=tuple(children),
        copies=branch.copies,
        tooltip=_tooltip(work, branch, around),
        link=call.link if call else "",
    )
    return [box]


def _node(work: _Work, branch: Branch, around: Around) -> Node:
    tree = work.plan.tree
    network = tree.network
    inner = joins_text(work.meets, branch, around.shifts)
    rows = node_rows(tree, branch, work.wishes, around, work.likenesses.get(id(branch)), inner)
    role = _role(network, branch)
    several = len(branch.outside) > 1 or branch.op in network.back  # a lone line says nothing about its argument
    slots = arguments_of(tree, branch, branch.op) if several else None
    joins = work.joins.get(id(branch))
    width, height = box_size(rows, slots, role=role, joins=bool(joins))
    if work.largest > 0:
        scale = 1 + (BIGGEST - 1) * _sum(work.plan, branch, network.sizes) / work.largest
        width, height = width * scale, height * scale
    key = _key(work, branch)
    work.keys[id(branch)] = key
    work.titles[id(branch)] = rows[0].text if rows else ""
    if role in {"bundle", "stop"}:
        work.faint.add(key)
    places = range(branch.first, branch.last_end)
    return Node(
        key=key,
        role=role,
        rows=rows,
        width=round(width, 1),
        height=round(height, 1),
        ops=ops_of(tree, branch) * around.copies,
        first=_first_label(network, tree.op_at, branch),
        copies=1 if is_one_call(tree, branch) else branch.copies,
        tooltip=_tooltip(work, branch, around),
        link=_link(network, branch),
        tint=_tint(work, branch),
        marked=any(tree.op_at[at] in network.marked for at in places) if network.marked else False,
        joins=joins,
        learned=branch.kind != "bundle" and any(network.learned[tree.op_at[at]] for at in places),
    )


def _first_label(network: Network, op_at: list[int], branch: Branch) -> str:
    if branch.op >= 0:
        return network.labels[branch.op]
    return network.labels[op_at[branch.first]] if branch.end > branch.first else ""


def _role(network: Network, branch: Branch) -> NodeRole:
    if branch.op >= 0:
        return network.roles[branch.op]
    return "bundle" if branch.kind == "bundle" else "module"


def _tint(work: _Work, branch: Branch) -> str:
    tints = work.plan.tree.network.tints
    if not tints:
        return ""
    low, high = work.tints
    value = _sum(work.plan, branch, tints)
    share = (value - low) / (high - low) if high > low else 0.0
    return blend(*work.theme.scale, min(1.0, max(0.0, share)))


def _link(network: Network, branch: Branch) -> str:
    if branch.op >= 0:
        return network.links[branch.op] if network.links else ""
    return network.calls[branch.call].link if branch.call >= 0 else ""


def _key(work: _Work, branch: Branch) -> str:
    """Return a key that says what the item is, and that no other item of the picture has."""
    network = work.plan.tree.network
    if branch.op >= 0:
        base = network.labels[branch.op]
    elif branch.kind == "module":
        call = network.calls[branch.call]
        base = f"{call.address}:{call.number}"
    else:
        first = work.plan.tree.op_at[branch.first] if branch.end > branch.first else 0
        base = f"{branch.kind}:{network.labels[first]}"
    key, number = base, 2
    while key in work.used:
        key, number = f"{base}#{number}", number + 1
    work.used.add(key)
    return key


def _tooltip(work: _Work, branch: Branch, around: Around) -> str:
    tree = work.plan.tree
    network = tree.network
    lines: list[str] = []
    top = replace(around, frame="")
    if branch.call >= 0:
        lines.append(f"{address_of(tree, branch, '')} · {network.calls[branch.call].class_name}")
    if branch.op >= 0:
        lines.append(f"{network.labels[branch.op]} · {network.functions[branch.op]}")
        if network.tips:
            lines.append(network.tips[branch.op])
    elif branch.kind in {"segment", "constants", "run"}:
        lines.append(names(tree, branch, top)[0])
    computes = branch.op < 0 or network.roles[branch.op] in COMPUTED
    facts = [
        ops_text(tree, branch, around.copies) if computes else "",
        params_text(tree, branch, around.shifts),
    ]
    lines.append(" · ".join([fact for fact in facts if fact]))
    return "\n".join([line for line in lines if line])


def _notes(plan: Plan, work: _Work) -> tuple[str, ...]:
    """Return the lines under the picture: how much is drawn, and what is not."""
    network = plan.tree.network
    total = calls_of(plan.tree, 0, len(plan.tree.op_at))
    notes = [f"{count(total, 'op')} in {count(plan.items, 'item')}"]
    if network.ending:
        notes.insert(0, network.ending)
    notes += [f"not drawn: {_unseen(why, number)}" for why, number in network.unseen.items()]
    if network.tints:
        low, high = (amount(value) for value in work.tints)
        notes.append(f"colour: {work.wishes.colour or 'value'} from {low} (pale) to {high} (strong)")
    if network.sizes:
        notes.append(f"size: {work.wishes.size or 'value'} up to {amount(work.largest)}, at twice the usual size")
    return tuple(notes)


def _unseen(why: str, number: int) -> str:
    """Return what is not drawn, such as `106 buffers`; ops are not what a place where a tensor is kept is called."""
    if why in {"buffers", "constants"}:
        return count(number, why.removesuffix("s"))
    return f"{count(number, 'op')} {why}"
