"""Which edges between ops become lines between items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tl_viz._compose.joined import arguments_of
from tl_viz._compose.meet import runs_as_one
from tl_viz._compose.several import Several
from tl_viz._compose.ties import Ties
from tl_viz._names import shape_text
from tl_viz._scene import Edge, EdgeRole

if TYPE_CHECKING:
    from tl_viz._compose.follow import Trail
    from tl_viz._plan import Plan, Tree

GIVEN = ("last (", "last round", "first round", "last copy", "first copy")
"""How texts begin that say where a tensor comes from: they stand once at its lines, and others at every arrow."""


def draw_edges(plan: Plan, trail: Trail, faint: set[int]) -> tuple[Edge, ...]:
    """Return the lines between items: one for each tensor, and for each pair of items at most one.

    Args:
        plan: the plan that `trail` follows.
        trail: where every op went.
        faint: numbers of the items that no output needs.
    """
    tree = plan.tree
    found, carried = _found(tree, trail)
    edges: list[Edge] = []
    for (source, place, role), readers in found.targets.items():
        key = trail.keys[source]
        if role == "loop":
            label = _carried(plan, place, max(carried.number((source, reader)) for reader in readers))
            edges.append(_edge(trail, found, source, list(readers), "loop", label=label))
            continue
        near = [item for item in readers if item not in faint]
        if near:
            edges.append(_edge(trail, found, source, near, "data"))
        if len(near) < len(readers):
            far = tuple(trail.keys[item] for item in readers if item in faint)
            edges.append(Edge(source=key, targets=far, role="faint"))
    return tuple(_one_faint(edges))


def _found(tree: Tree, trail: Trail) -> tuple[_Found, Several]:
    """Return the lines that there are, and how many tensors each carries to the next round of a loop."""
    network = tree.network
    found, ties = _Found(), Ties(tree, trail)
    several, carried = Several(tree, trail), Several(tree, trail)
    for reader, op in enumerate(tree.op_at):
        for parent in network.parents[op]:
            if tree.fixed[op] and not tree.fixed[parent]:
                continue  # only its sizes are read
            role = _role(trail, tree.place[parent], reader)
            if role:
                _add(tree, trail, (tree.place[parent], reader), role, found)
                (several if role == "data" else carried).add(tree.place[parent], reader)
            if role == "data":
                ties.add(tree.place[parent], reader)
        for parent in network.back.get(op, ()):
            start = trail.item[tree.place[parent]]
            if start != trail.item[reader] or runs_as_one(tree, trail.branch[start]):
                _add(tree, trail, (tree.place[parent], reader), "loop", found)
                carried.add(tree.place[parent], reader)
    _drop_lone_slots(found)
    found.ends = several.texts(ties.texts())
    return found, carried


@dataclass(slots=True)
class _Found:
    """The lines met so far."""

    targets: dict[tuple[int, int, str], dict[int, None]] = field(
        default_factory=dict[tuple[int, int, str], dict[int, None]]
    )
    """Item, the place in it that is read, and role -> the items that read it."""
    pairs: set[tuple[int, int, str]] = field(default_factory=set[tuple[int, int, str]])
    slots: dict[tuple[int, int], dict[str, None]] = field(default_factory=dict[tuple[int, int], dict[str, None]])
    """Two items -> which arguments of the second the first is."""
    ends: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])
    """Two items -> which copies or rounds give and read what goes from the first to the second."""


def _drop_lone_slots(found: _Found) -> None:
    """Drop the numbers of arguments where a single line leads to an op: there is nothing to tell apart but `q,k,v`."""
    sources: dict[int, int] = {}
    for start, end, _ in found.pairs:
        if (start, end) in found.slots:
            sources[end] = sources.get(end, 0) + 1
    found.slots = {
        pair: texts
        for pair, texts in found.slots.items()
        if sources.get(pair[1], 0) > 1 or sum(not text.isdigit() for text in texts) > 1
    }


def _edge(trail: Trail, found: _Found, source: int, readers: list[int], role: EdgeRole, *, label: str = "") -> Edge:
    slots = tuple([",".join(found.slots.get((source, reader), ())) for reader in readers]) if found.slots else ()
    ends = tuple([found.ends.get((source, reader), "") for reader in readers]) if role == "data" else ()
    ends = tuple([text if text not in ends[:at] or not _is_given(text) else "" for at, text in enumerate(ends)])
    return Edge(
        source=trail.keys[source],
        targets=tuple([trail.keys[reader] for reader in readers]),
        role=role,
        label=label,
        slots=slots if any(slots) else (),
        ends=ends if any(ends) else (),
    )


def _is_given(text: str) -> bool:
    return text.startswith(GIVEN) or text.endswith(" outputs") or text.startswith("output ")


def _one_faint(edges: list[Edge]) -> list[Edge]:
    """Keep one line to each item that no output needs: where it hangs is enough to know."""
    kept: list[Edge] = []
    hung: set[str] = set()
    for edge in reversed(edges):
        if edge.role == "faint":
            targets = tuple(key for key in edge.targets if key not in hung)
            hung.update(targets)
            if not targets:
                continue
            edge = Edge(source=edge.source, targets=targets, role="faint")
        kept.append(edge)
    return kept[::-1]


def _carried(plan: Plan, place: int, number: int) -> str:
    if number > 1:
        return f"next round, {number} tensors"
    shape = shape_text(plan.tree.network.shapes[plan.tree.op_at[place]])
    return f"next round {shape}".rstrip()


def _add(tree: Tree, trail: Trail, ends: tuple[int, int], role: str, found: _Found) -> None:
    """Note the line from one place to another, once for each pair of items."""
    source, reader = ends
    start, end = trail.item[source], trail.item[reader]
    if start == end and role != "loop":
        return
    slot = _slot(tree, trail, source, reader)
    if slot:
        found.slots.setdefault((start, end), {})[slot] = None
    pair = (start, end, role)
    if pair in found.pairs:
        return
    found.pairs.add(pair)
    found.targets.setdefault((start, trail.same[source], role), {})[end] = None


def _slot(tree: Tree, trail: Trail, source: int, reader: int) -> str:
    """Return which argument of an op a tensor is; an empty string where that does not matter or is not visible."""
    branch = trail.branch[trail.item[reader]]
    if branch.op < 0:
        return ""
    op_at, same = tree.op_at, trail.same
    while op_at[same[reader]] != branch.op:  # a view that leads to the op
        inner = [at for at in tree.readers[reader] if branch.first <= same[at] < branch.end]
        if not inner:
            return ""
        source, reader = reader, inner[0]
    return arguments_of(tree, branch, op_at[reader]).get(op_at[source], "")


def _role(trail: Trail, source: int, reader: int) -> str:
    """Return `data`, `loop`, or an empty string where the edge repeats one that is drawn already."""
    one, other = trail.copy_of[source], trail.copy_of[reader]
    if one == other:
        while other >= 0:
            _, index, outer = trail.copies[other]
            if index:
                return ""
            other = outer
        return "data"
    index_of: dict[int, int] = {}
    while one >= 0:
        run, index, outer = trail.copies[one]
        index_of[run] = index
        one = outer
    while other >= 0:
        run, index, outer = trail.copies[other]
        if run in index_of and index_of[run] != index:
            return "loop" if trail.looped[run] else ""
        other = outer
    return "data"
