"""Which visible item every op belongs to, and which copy of a stack it stands in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Plan


@dataclass(slots=True)
class Trail:
    """The map from ops to items. Ops are given by their places in the tree."""

    item: list[int]
    """Place -> number of the visible item."""
    same: list[int]
    """Place -> the place in the first copy that stands for it."""
    copy_of: list[int]
    """Place -> number of the innermost copy of a run that it stands in, or -1."""
    copies: list[tuple[int, int, int]]
    """Number of a copy -> the run, which copy of it, and the copy of an outer run that it stands in, or -1."""
    looped: list[bool]
    """Run -> whether its copies are calls of one module."""
    stacks: list[Branch]
    """Run -> the branch whose copies they are."""
    branch: list[Branch]
    """Number of an item -> what it stands for."""
    keys: list[str] = field(default_factory=list[str])
    """Number of an item -> its key, once it has one."""


def follow(plan: Plan) -> Trail:
    """Return where every op went."""
    total = len(plan.tree.op_at)
    trail = Trail([-1] * total, list(range(total)), [-1] * total, [], [], [], [])
    if plan.tree.root.children:
        _visit(plan, plan.tree.root, -1, trail)
    return trail


def _visit(plan: Plan, branch: Branch, outer: int, trail: Trail) -> None:
    first, end = branch.first, branch.end
    run = -1
    if branch.copies > 1:
        run = len(trail.looped)
        trail.looped.append(branch.looped)
        trail.stacks.append(branch)
        trail.copies.append((run, 0, outer))
        outer = len(trail.copies) - 1
    if outer >= 0:
        trail.copy_of[first:end] = [outer] * (end - first)
    if plan.is_open(branch) and branch.children:
        for child in branch.children:
            _visit(plan, child, outer, trail)
    else:
        number = len(trail.branch)
        trail.branch.append(branch)
        trail.item[first:end] = [number] * (end - first)
    for index, start in enumerate(branch.others, start=1):
        size = end - first
        trail.item[start : start + size] = trail.item[first:end]
        trail.same[start : start + size] = trail.same[first:end]
        trail.copies.append((run, index, trail.copies[outer][2]))
        trail.copy_of[start : start + size] = [len(trail.copies) - 1] * size
