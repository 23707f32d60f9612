"""The tree of module calls with ops as leaves, which the planner opens and closes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tl_viz._network import Network

GROWING = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack"})
"""Functions that read a list, whose length says nothing about what they are."""

NOTHING: list[Branch] = []
"""The children of every leaf."""

Kind = Literal["op", "module", "run", "segment", "bundle", "root"]


class Branch:
    """One node of the tree: a leaf that holds one op, or something that can be opened.

    Written by hand because a network has as many of these as ops: a leaf shares its empty list of children.
    """

    __slots__ = (
        "alike", "call", "children", "copies", "end", "exact", "first", "kind", "last_end", "loose", "looped", "op",
        "others", "outside", "pinned",
    )  # fmt: skip

    def __init__(self, kind: Kind, op: int = -1, call: int = -1, children: list[Branch] | None = None) -> None:
        self.kind: Kind = kind
        self.op = op
        """The op of a leaf."""
        self.call = call
        """The module call that it stands for; also set on a leaf that is the only op of its module."""
        self.children = NOTHING if op >= 0 else ([] if children is None else children)
        self.first = 0
        """Place of its first op in the order of the tree."""
        self.end = 0
        """One past the place of its last op; of the last op of the first copy where there are several."""
        self.outside: tuple[int, ...] = ()
        """Places of the ops outside that it reads, in the order of first use."""
        self.exact = 0
        """Equal for branches that are equal in every respect."""
        self.loose = 0
        """Equal for branches that are equal up to shapes."""
        self.copies = 1
        """How many equal neighbours it stands for, itself included."""
        self.alike = True
        """Whether the copies are equal in every respect."""
        self.looped = False
        """Whether the copies are calls of one module, with the same weights."""
        self.others: tuple[int, ...] = ()
        """Place of the first op of every copy after the first."""
        self.last_end = 0
        """One past the place of the last op of the last copy."""
        self.pinned = False
        """Whether something inside must stay visible."""

    @property
    def size(self) -> int:
        """How many ops one copy holds."""
        return self.end - self.first


@dataclass(slots=True)
class Tree:
    """A network as a tree. Places are op indices in the order of the tree, where every branch is one interval."""

    network: Network
    root: Branch
    place: list[int]
    """Op -> its place."""
    op_at: list[int]
    """Place -> the op."""
    readers: list[list[int]]
    """Place -> places of the ops that read it."""
    growing: list[int]
    """Place -> how many ops before it read a list of any length."""


def build_tree(network: Network, *, bundle_dead_ends: bool) -> Tree:
    """Return the tree of a network.

    Args:
        network: the network as columns.
        bundle_dead_ends: put ops from which no output can be reached into one branch a module.
    """
    root = _hang(network)
    _merge_atoms(root)
    if bundle_dead_ends:
        _bundle(network, root)
        _gather_twins(network, root)
    return _number(network, root)


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


def _bundle(network: Network, root: Branch) -> None:
    """Put what no output needs into one branch for each module."""
    alive = _needed(network)
    if all(alive):
        return
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


def _needed(network: Network) -> list[bool]:
    """Return for each op whether an output, or something that must stay visible, can be reached from it."""
    alive = [role == "output" or op in network.pinned for op, role in enumerate(network.roles)]
    if not any(role == "output" for role in network.roles):
        return [True] * len(alive)
    waiting = [op for op, needed in enumerate(alive) if needed]
    while waiting:
        op = waiting.pop()
        for parent in (*network.parents[op], *network.back.get(op, ())):
            if not alive[parent]:
                alive[parent] = True
                waiting.append(parent)
    return alive


def _gather_twins(network: Network, root: Branch) -> None:
    """Move leaves that read the same tensors and are read by the same siblings beside each other."""
    readers: list[list[int]] = [[] for _ in range(len(network))]
    for op, parents in enumerate(network.parents):
        for parent in parents:
            readers[parent].append(op)
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        waiting.extend(child for child in branch.children if child.children)
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


def leaves(branch: Branch) -> list[Branch]:
    """Return the leaves under `branch` in order, or `branch` itself where it is one."""
    found: list[Branch] = []
    stack = [branch]
    while stack:
        one = stack.pop()
        if one.kind == "op":
            found.append(one)
        else:
            stack.extend(reversed(one.children))
    return found


def _number(network: Network, root: Branch) -> Tree:
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
            branch.outside = tuple(dict.fromkeys(sources))
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
    return Tree(network, root, place, op_at, readers, growing)
