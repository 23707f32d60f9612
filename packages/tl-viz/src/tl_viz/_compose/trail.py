"""Which visible item every op belongs to, and which edges between ops become lines between items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._names import shape_text
from tl_viz._scene import Edge

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Plan


@dataclass(slots=True)
class Trail:
    """The map from ops to items. Ops are given by their places in the tree."""

    item: list[int]
    """Place -> number of the visible item."""
    keys: list[str]
    """Number of an item -> its key."""
    same: list[int]
    """Place -> the place in the first copy that stands for it."""
    copy_of: list[int]
    """Place -> number of the innermost copy of a run that it stands in, or -1."""
    copies: list[tuple[int, int, int]]
    """Number of a copy -> the run, which copy of it, and the copy of an outer run that it stands in, or -1."""
    looped: list[bool]
    """Run -> whether its copies are calls of one module."""


def follow(plan: Plan, keys: dict[int, str]) -> Trail:
    """Return where every op went. `keys` holds the key of each visible branch by its id."""
    total = len(plan.tree.op_at)
    trail = Trail([-1] * total, [], list(range(total)), [-1] * total, [], [])
    if plan.tree.root.children:
        _visit(plan, plan.tree.root, -1, trail, keys)
    return trail


def _visit(plan: Plan, branch: Branch, outer: int, trail: Trail, keys: dict[int, str]) -> None:
    first, end = branch.first, branch.end
    run = -1
    if branch.copies > 1:
        run = len(trail.looped)
        trail.looped.append(branch.looped)
        trail.copies.append((run, 0, outer))
        outer = len(trail.copies) - 1
    if outer >= 0:
        trail.copy_of[first:end] = [outer] * (end - first)
    if plan.is_open(branch) and branch.children:
        for child in branch.children:
            _visit(plan, child, outer, trail, keys)
    else:
        number = len(trail.keys)
        trail.keys.append(keys[id(branch)])
        trail.item[first:end] = [number] * (end - first)
    for index, start in enumerate(branch.others, start=1):
        size = end - first
        trail.item[start : start + size] = trail.item[first:end]
        trail.same[start : start + size] = trail.same[first:end]
        trail.copies.append((run, index, trail.copies[outer][2]))
        trail.copy_of[start : start + size] = [len(trail.copies) - 1] * size


def draw_edges(plan: Plan, trail: Trail, faint: set[int]) -> tuple[Edge, ...]:
    """Return the lines between items: one for each tensor, and for each pair of items at most one.

    Args:
        plan: the plan that `trail` follows.
        trail: where every op went.
        faint: numbers of the items that no output needs.
    """
    tree = plan.tree
    network = tree.network
    targets: dict[tuple[int, int, str], dict[int, None]] = {}
    pairs: set[tuple[int, int, str]] = set()
    for reader, op in enumerate(tree.op_at):
        for parent in network.parents[op]:
            role = _role(trail, tree.place[parent], reader)
            if role:
                _add(trail, tree.place[parent], reader, role, (targets, pairs))
        for parent in network.back.get(op, ()):
            _add(trail, tree.place[parent], reader, "loop", (targets, pairs))
    edges: list[Edge] = []
    for (source, place, role), readers in targets.items():
        near = tuple(trail.keys[item] for item in readers if item not in faint)
        far = tuple(trail.keys[item] for item in readers if item in faint)
        key = trail.keys[source]
        if role == "loop":
            edges.append(Edge(source=key, targets=near + far, role="loop", label=_carried(plan, place)))
            continue
        if near:
            edges.append(Edge(source=key, targets=near))
        if far:
            edges.append(Edge(source=key, targets=far, role="faint"))
    return tuple(_one_faint(edges))


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


def _carried(plan: Plan, place: int) -> str:
    shape = shape_text(plan.tree.network.shapes[plan.tree.op_at[place]])
    return f"next round {shape}".rstrip()


def _add(
    trail: Trail,
    source: int,
    reader: int,
    role: str,
    found: tuple[dict[tuple[int, int, str], dict[int, None]], set[tuple[int, int, str]]],
) -> None:
    targets, pairs = found
    start, end = trail.item[source], trail.item[reader]
    if start == end and role != "loop":
        return
    pair = (start, end, role)
    if pair in pairs:
        return
    pairs.add(pair)
    targets.setdefault((start, trail.same[source], role), {})[end] = None


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
