"""Where branches join: items that read what two or more others, or copies of others, computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.sums import is_one_call, rounds_of

if TYPE_CHECKING:
    from tl_viz._compose.follow import Trail
    from tl_viz._plan import Branch, Tree


def meeting(tree: Tree, trail: Trail) -> set[int]:
    """Return the numbers of the items that read what different items, or different copies of one, computed.

    Each copy of an item is looked at for itself. What is the same in every run, such as a mask, is not counted.
    """
    network = tree.network
    sources: dict[tuple[int, int], set[tuple[int, int]]] = {}
    """Item and copy -> the items and copies that it reads."""
    for reader, op in enumerate(tree.op_at):
        if tree.fixed[op]:
            continue
        here = (trail.item[reader], trail.copy_of[reader])
        found = sources.setdefault(here, set())
        for parent in network.parents[op]:
            at = tree.place[parent]
            if op in network.back and network.turns.get(op, {}).get(parent) == "first round":
                continue  # later rounds read what the round before left in its stead
            if not tree.fixed[parent] and (trail.item[at], trail.copy_of[at]) != here:
                found.add((trail.item[at], _branch_of(tree, trail, at)))
        for parent in network.back.get(op, ()):
            start = trail.item[tree.place[parent]]
            if start != here[0] or runs_as_one(tree, trail.branch[start]):
                found.add((start, -1))
    return {item for (item, _), found in sources.items() if len(found) > 1 and trail.branch[item].kind != "bundle"}


def _branch_of(tree: Tree, trail: Trail, at: int) -> int:
    """Return the copy that a place stands in; rounds of a loop and outputs of one call are no copies."""
    copy = trail.copy_of[at]
    while copy >= 0:
        run, _, outer = trail.copies[copy]
        if not trail.looped[run] and not is_one_call(tree, trail.stacks[run]):
            return copy
        copy = outer
    return -1


def runs_as_one(tree: Tree, branch: Branch) -> bool:
    """Whether an item is run again as a whole, so that it can read itself; else a loop inside of it stays inside."""
    return not branch.children or rounds_of(tree, branch) > 1
