"""The tree of module calls with ops as leaves, which the planner opens and closes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tl_viz._network import Network

GROWING = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack"})
"""Functions that read a list, whose length says nothing about what they are."""

WIDEST = 28
"""A level with more items than this is cut."""

PIECE = 12
"""How many items a piece of such a level should have, and how many pieces a level."""

CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})
"""Classes whose name says nothing about what they hold."""

NOTHING: list[Branch] = []
"""The children of every leaf."""

Kind = Literal["op", "module", "function", "run", "segment", "constants", "bundle", "chain", "loop", "root"]


NEVER_OPEN = frozenset({"bundle", "chain", "constants"})
"""Kinds of branches that a plan shows as one item, whatever room there is."""


class Branch:
    """One node of the tree: a leaf that holds one op, or something that can be opened.

    Written by hand because a network has as many of these as ops: a leaf shares its empty list of children.
    """

    __slots__ = (
        "alike", "call", "children", "copies", "dense", "end", "exact", "first", "kind", "last_end", "loose", "looped", "op",
        "name", "others", "outside", "pinned",
    )  # fmt: skip

    def __init__(self, kind: Kind, op: int = -1, call: int = -1, children: list[Branch] | None = None) -> None:
        self.kind: Kind = kind
        self.op = op
        """The op of a leaf; of a chain the one that the others belong to."""
        self.call = call
        """The module call that it stands for; also set on a leaf that is the only op of its module."""
        self.children = NOTHING if op >= 0 else ([] if children is None else children)
        self.name = ""
        """Name of the function that it stands for."""
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
        self.dense = False
        """Whether each copy reads all copies before it."""
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
    """Place -> places of the ops that read it, ascending."""
    growing: list[int]
    """Place -> how many ops before it read a list of any length."""
    fixed: list[bool]
    """Op -> whether it depends on no number of an input and on no parameter."""


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
