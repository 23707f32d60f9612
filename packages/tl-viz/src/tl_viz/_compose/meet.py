"""Where tensors meet: ops that read two or more of them, and the items in which these ops stand."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._compose.attend import attending
from tl_viz._compose.sums import rounds_of
from tl_viz._plan import SMALL, SPLICED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_viz._compose.follow import Trail
    from tl_viz._plan import Branch, Plan, Tree
    from tl_viz._scene import JoinKind


@dataclass(frozen=True, slots=True)
class Meets:
    """The ops of a network at which tensors meet, but for those that no output depends on."""

    tree: Tree
    places: list[int]
    """Places of these ops, ascending."""
    whole: frozenset[int]
    """Module calls of one op, which are called by the name of their class."""
    attending: frozenset[int]
    """Products of attention that is written out."""

    def between(self, first: int, end: int) -> Iterator[int]:
        """Yield those from a place on and before another, only one of each call with several outputs."""
        made_by, op_at = self.tree.network.made_by, self.tree.op_at
        met: set[int] = set()
        for at in self.places[bisect_left(self.places, first) : bisect_left(self.places, end)]:
            call = made_by[op_at[at]] if made_by else 0
            if call not in met:
                yield op_at[at]
            if call:
                met.add(call)

    def name(self, op: int) -> str:
        """Return what the box of an op is called: its function, or the class of the module that it is."""
        network = self.tree.network
        call = network.module_of[op]
        return network.calls[call].class_name if call in self.whole else network.functions[op]


def meets_in(plan: Plan) -> Meets:
    """Return the ops at which tensors meet in the network of a plan."""
    tree = plan.tree
    network = tree.network
    if not network.joins:
        return Meets(tree, [], frozenset(), frozenset())
    places = sorted([tree.place[op] for op in network.joins])
    dead = list(_bundled(tree.root, (0,)))
    if dead:
        places = [at for at in places if not any(first <= at < end for first, end in dead)]
    views = plan.planner != "all" and len(network) > SMALL
    whole = _whole_modules(tree, places, views=views)
    return Meets(tree, places, whole, attending(network))


def _bundled(branch: Branch, shifts: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield the places of ops that no output depends on, from the first to one past the last."""
    if branch.copies > 1:
        own = (0, *[start - branch.first for start in branch.others])
        shifts = tuple([outer + inner for outer in shifts for inner in own])
    if branch.kind == "bundle":
        yield from [(branch.first + shift, branch.end + shift) for shift in shifts]
        return
    for child in branch.children:
        if child.children:
            yield from _bundled(child, shifts)


def _whole_modules(tree: Tree, places: list[int], *, views: bool) -> frozenset[int]:
    """Return the calls of modules that hold one call of a function each, out of those of some ops; views are not counted."""
    network = tree.network
    asked = {network.module_of[tree.op_at[at]] for at in places} - {-1}
    held: dict[int, set[int]] = {call: set() for call in asked}
    for op, call in enumerate(network.module_of):
        if call in held and not (views and network.functions[op] in SPLICED):
            made = network.made_by[op] if network.made_by else 0
            held[call].add(made or -op - 1)
    outer = {call.parent for call in network.calls}
    return frozenset([call for call, made in held.items() if len(made) == 1 and call not in outer])


def meeting(meets: Meets, trail: Trail) -> dict[int, JoinKind]:
    """Return the numbers of the items at which tensors meet, and what meets there.

    A closed box is one of them where branches join inside of it and several tensors enter it.
    """
    found: dict[int, JoinKind] = {}
    for at in meets.places:
        item = trail.item[at]
        if meets.tree.op_at[at] in meets.tree.network.apart:
            found[item] = "branches"
        elif trail.branch[item].op >= 0:
            found.setdefault(item, "branch")
    closed = {item for item in found if trail.branch[item].op < 0}
    left_out = closed and closed - _entered(meets.tree, trail, closed)
    return {item: kind for item, kind in found.items() if item not in left_out}


def _entered(tree: Tree, trail: Trail, closed: set[int]) -> set[int]:
    """Return those of some items that read two or more tensors from outside of them, each copy looked at for itself."""
    network = tree.network
    read: dict[tuple[int, int], set[int]] = {}
    for reader, op in enumerate(tree.op_at):
        item = trail.item[reader]
        if item not in closed:
            continue
        here = (item, trail.copy_of[reader])
        for parent in network.parents[op]:
            at = tree.place[parent]
            if (trail.item[at], trail.copy_of[at]) == here or network.roles[parent] in {"buffer", "constant"}:
                continue
            if tree.fixed[op] and not tree.fixed[parent]:
                continue  # only its sizes are read
            if op in network.back and network.turns.get(op, {}).get(parent) == "first round":
                continue  # later rounds read what the round before left in its stead
            read.setdefault(here, set()).add(at)
        for parent in network.back.get(op, ()):
            at = tree.place[parent]
            if trail.item[at] != item or runs_as_one(tree, trail.branch[item]):
                read.setdefault(here, set()).add(at)
    return {item for (item, _), tensors in read.items() if len(tensors) > 1}


def runs_as_one(tree: Tree, branch: Branch) -> bool:
    """Whether an item is run again as a whole, so that it can read itself; else a loop inside of it stays inside."""
    return not branch.children or rounds_of(tree, branch) > 1
