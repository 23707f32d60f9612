"""Gathers what belongs together before anything is planned: what no output needs, constants, and twins."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tl_viz._plan.branch import Branch, leaves
from tl_viz._plan.chain import SPLICED, join_chains
from tl_viz._plan.function import gather_functions
from tl_viz._plan.loop import gather_loops

if TYPE_CHECKING:
    from tl_viz._network import Network


def gather(network: Network, root: Branch, fixed: list[bool]) -> None:
    """Put dead ends, constants and loops into branches of their own, twins beside each other, and views to their ops.

    Args:
        network: the network.
        root: the root of its tree.
        fixed: whether each op gives the same in every run.
    """
    _bundle(network, root)
    _gather_constants(network, root, fixed)
    readers: list[list[int]] = [[] for _ in range(len(network))]
    for op, parents in enumerate(network.parents):
        for parent in parents if len(parents) < 2 else dict.fromkeys(parents):
            readers[parent].append(op)
    _gather_twins(network, root, readers)
    gather_loops(network, root)
    join_chains(network, root, readers)
    gather_functions(network, root)


def _bundle(network: Network, root: Branch) -> None:
    """Put what no output needs into one branch for each module."""
    alive = _needed(network)
    if all(alive):
        return
    _spare_siblings(network, alive)
    order: list[Branch] = [root]
    for branch in order:
        order.extend(child for child in branch.children if child.kind == "module")
    dead: set[int] = set()
    for branch in reversed(order):
        gone = [child for child in branch.children if (child.kind == "op" and not alive[child.op]) or id(child) in dead]
        if len(gone) == len(branch.children) and branch is not root:
            dead.add(id(branch))
        elif len(gone) > 1:
            # At the place of the last of them, so that everything they read stands before them.
            at = branch.children.index(gone[-1]) - len(gone) + 1
            apart = {id(child) for child in gone}
            rest = [child for child in branch.children if id(child) not in apart]
            rest.insert(at, Branch("bundle", children=gone))
            branch.children = rest


def _spare_siblings(network: Network, alive: list[bool]) -> None:
    """Count an output that nobody reads as needed where its call has another that is: it stays with that one."""
    if not network.made_by:
        return
    made = {network.made_by[op] for op, needed in enumerate(alive) if needed}
    read = {parent for parents in (*network.parents, *network.back.values()) for parent in parents}
    for op, call in enumerate(network.made_by):
        if call and call in made and op not in read:
            alive[op] = True


def _needed(network: Network) -> list[bool]:
    """Return for each op whether an output, or something that shall be visible, can be reached from it."""
    alive = [role == "output" or op in network.pinned or op in network.islands for op, role in enumerate(network.roles)]
    if not any(role == "output" for role in network.roles):
        return [True] * len(alive)
    waiting = [op for op, needed in enumerate(alive) if needed]
    parents, back = network.parents, network.back
    while waiting:
        op = waiting.pop()
        for parent in (*parents[op], *back[op]) if op in back else parents[op]:
            if not alive[parent]:
                alive[parent] = True
                waiting.append(parent)
    return alive


def _gather_twins(network: Network, root: Branch, readers: list[list[int]]) -> None:
    """Move leaves that read the same tensors and are read by the same siblings beside each other."""
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        waiting.extend([child for child in branch.children if child.children])
        if len(branch.children) < 4:
            continue
        groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        for index, child in enumerate(branch.children):
            if child.kind == "op" and network.parents[child.op]:
                key = (network.functions[child.op], network.parents[child.op])
                groups.setdefault(key, []).append(index)
        for members in groups.values():
            if len(members) > 2 and members[-1] - members[0] >= len(members):
                _gather(branch, members, readers)


def _gather(branch: Branch, members: list[int], readers: list[list[int]]) -> None:
    owner: dict[int, int] = {}
    for index, child in enumerate(branch.children):
        for leaf in leaves(child):
            owner[leaf.op] = index
    groups: dict[tuple[int, ...], list[Branch]] = {}
    for index in members:
        child = branch.children[index]
        key = tuple(sorted({owner.get(reader, -1) for reader in readers[child.op]}))
        groups.setdefault(key, []).append(child)
    for twins in groups.values():
        if len(twins) > 2:
            apart = {id(child) for child in twins}
            at = branch.children.index(twins[0])
            rest = [child for child in branch.children if id(child) not in apart]
            rest[at:at] = twins
            branch.children = rest


def _gather_constants(network: Network, root: Branch, fixed: list[bool]) -> None:
    """Put neighbouring ops that depend on no input and read no parameter into one branch."""
    apart = network.pinned | network.islands
    own = [one and network.roles[op] == "op" and op not in apart for op, one in enumerate(fixed)]
    if not any(own):
        return
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        if branch.kind == "bundle":
            continue
        branch.children = _with_segments(network, branch.children, own, whole=branch is not root)
        waiting.extend([child for child in branch.children if child.children and child.kind != "constants"])


def _with_segments(network: Network, children: list[Branch], fixed: list[bool], *, whole: bool) -> list[Branch]:
    if whole and all(child.kind == "op" and fixed[child.op] for child in children):
        return children  # the module is the frame around them already
    result: list[Branch] = []
    run: list[Branch] = []
    for child in [*children, None]:
        if child is not None and child.kind == "op" and child.call < 0 and fixed[child.op]:
            run.append(child)
            continue
        together = len(run) > 1 and not _is_view_of_one(network, run)
        result += [Branch("constants", children=run)] if together else run
        run = []
        if child is not None:
            result.append(child)
    return result


def _is_view_of_one(network: Network, run: list[Branch]) -> bool:
    """Whether ops are views of each other, so that they belong to what made the first or reads the last."""
    return all(network.functions[child.op] in SPLICED for child in run) and all(
        network.parents[child.op] == (above.op,) for above, child in pairwise(run)
    )
