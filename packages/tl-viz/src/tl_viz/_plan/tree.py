"""Builds the tree of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._plan.branch import GROWING, Branch, Tree
from tl_viz._plan.bundle import gather
from tl_viz._plan.fixed import fixed_ops

if TYPE_CHECKING:
    from tl_viz._network import Network


def build_tree(network: Network, *, bundle_dead_ends: bool) -> Tree:
    """Return the tree of a network.

    Args:
        network: the network as columns.
        bundle_dead_ends: put ops from which no output can be reached into one branch a module.
    """
    root, fixed = _hang(network), fixed_ops(network)
    _merge_atoms(root)
    if bundle_dead_ends:
        gather(network, root, fixed)
    return _number(network, root, fixed)


def _hang(network: Network) -> Branch:
    """Hang every op under its innermost module call, siblings in the order of execution."""
    root = Branch("root")
    branches: dict[int, Branch] = {-1: root}
    calls = network.calls
    for op, call in enumerate(network.module_of):
        branch = branches.get(call)
        if branch is None:
            path: list[int] = []
            while call not in branches:
                path.append(call)
                call = calls[call].parent
            branch = branches[call]
            for inner in reversed(path):
                child = Branch("module", call=inner)
                branches[inner] = child
                branch.children.append(child)
                branch = child
        branch.children.append(Branch("op", op))
    return root


def _merge_atoms(root: Branch) -> None:
    """Make a module that holds a single op one leaf with that op."""
    order: list[Branch] = [root]
    for branch in order:
        order.extend(child for child in branch.children if child.kind == "module")
    for branch in reversed(order):
        for index, child in enumerate(branch.children):
            if child.kind == "module" and len(child.children) == 1:
                only = child.children[0]
                if only.kind == "op":
                    branch.children[index] = Branch("op", op=only.op, call=only.call if only.call >= 0 else child.call)


def _number(network: Network, root: Branch, fixed: list[bool]) -> Tree:
    """Give every branch its interval of places, and what it reads from outside of it."""
    op_at: list[int] = []
    order: list[Branch] = []
    stack = [root]
    while stack:
        branch = stack.pop()
        order.append(branch)
        branch.first = len(op_at)
        if branch.kind == "op":
            op_at.append(branch.op)
        else:
            stack.extend(reversed(branch.children))
    place = [0] * len(op_at)
    for at, op in enumerate(op_at):
        place[op] = at
    readers: list[list[int]] = [[] for _ in op_at]
    for at, op in enumerate(op_at):
        for parent in network.parents[op]:
            readers[place[parent]].append(at)
    pinned = network.pinned
    for branch in reversed(order):
        if branch.kind == "op":
            branch.end = branch.first + 1
            sources = [place[parent] for parent in network.parents[branch.op]]
            branch.outside = tuple(sources if len(sources) < 2 else dict.fromkeys(sources))
            branch.pinned = branch.op in pinned
        else:
            children = branch.children
            branch.end = children[-1].end if children else branch.first
            first, end = branch.first, branch.end
            branch.outside = tuple(
                dict.fromkeys([at for child in children for at in child.outside if not first <= at < end])
            )
            branch.pinned = any(child.pinned for child in children)
        branch.last_end = branch.end
    growing = [0]
    for op in op_at:
        growing.append(growing[-1] + (network.functions[op] in GROWING))
    return Tree(network, root, place, op_at, readers, growing, fixed)
