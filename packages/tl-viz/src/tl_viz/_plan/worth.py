"""How much a viewer loses when a branch is closed.

Not the number of ops counts but what kinds there are: a box with twelve equal layers hides little more than a box with one. What
has been shown before is cheap to hide, and a box that swallows much of the whole is dear.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._plan.tree import Branch, Tree

VIEWS = frozenset(
    [
        "view",
        "reshape",
        "transpose",
        "permute",
        "contiguous",
        "flatten",
        "unflatten",
        "squeeze",
        "unsqueeze",
        "expand",
        "expand_as",
        "chunk",
        "split",
        "unbind",
        "getitem",
        "__getitem__",
        "t",
        "T",
        "mT",
        "to",
        "type_as",
        "float",
        "half",
        "clone",
        "detach",
        "dropout",
        "identity",
        "size",
        "movedim",
        "swapaxes",
        "view_as",
        "repeat",
        "narrow",
        "select",
        "slice",
        "pad",
        "rearrange",
    ]
)
"""Functions that move numbers without computing any."""

VIEW, POINTWISE, LEARNED, JOIN = 0.15, 0.5, 1.0, 0.7
CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})
"""Classes whose name says nothing about what they hold."""

MOSTLY_FRAMES = 0.2
"""A frame with no larger share of ops of its own is as new as the modules in it."""

SAME_CLASS, SAME_BRANCH = 0.3, 0.1
REPEATED = 0.15
"""How much more a run is worth for each doubling of its copies: what is there often is what the network is made of."""

SWALLOWED = 0.35
"""A closed branch should hide no more than this share of everything."""


@dataclass(slots=True)
class Worth:
    """What closing each branch costs."""

    close: dict[int, float]
    """id of a branch -> cost of closing it."""
    factor: dict[int, float]
    """id of a branch -> how new its content is: 1 for the first of its kind."""
    form: dict[int, int]
    """id of a branch -> a number that it shares with the branches that are equal and folded alike."""
    total: float


def weigh(tree: Tree) -> Worth:
    """Return the cost of closing each branch of a tree that has been signed and folded."""
    order = [tree.root]
    for branch in order:
        order.extend(branch.children)
    form = _forms(order)
    contents: dict[int, dict[int, tuple[float, int]]] = {}
    amount: dict[int, float] = {}
    for branch in reversed(order):
        number = form[id(branch)]
        if number not in contents:
            contents[number] = _content(tree, branch, contents, form)
        whole = sum(worth * (1 + log2(n)) for worth, n in contents[number].values())
        whole = max(whole, *[amount[id(child)] for child in branch.children], 0.0)
        amount[id(branch)] = whole * (1 + REPEATED * log2(branch.copies))
    total = amount[id(tree.root)] or 1.0
    factor = _factors(tree, amount)
    close: dict[int, float] = {}
    for branch in order:
        whole = amount[id(branch)]
        cost = whole * factor[id(branch)]
        if branch.kind != "op":
            cost += 2.0 * max(0.0, cost - SWALLOWED * total)
        if branch.kind == "bundle":
            cost = 0.0
        close[id(branch)] = cost
    return Worth(close, factor, form, total)


def _forms(order: list[Branch]) -> dict[int, int]:
    known: dict[object, int] = {}
    form: dict[int, int] = {}
    for branch in reversed(order):
        inner = tuple([form[id(child)] for child in branch.children])
        key = (branch.kind, branch.copies > 1, branch.loose, inner)
        form[id(branch)] = known.setdefault(key, len(known))
    return form


def _content(
    tree: Tree,
    branch: Branch,
    contents: dict[int, dict[int, tuple[float, int]]],
    form: dict[int, int],
) -> dict[int, tuple[float, int]]:
    """Return kind of leaf -> what one is worth, and how many there are."""
    if branch.kind == "op":
        return {branch.loose: (_leaf_worth(tree, branch), 1)}
    merged: dict[int, tuple[float, int]] = {}
    for child in branch.children:
        for kind, (worth, count) in contents[form[id(child)]].items():
            have = merged.get(kind)
            merged[kind] = (worth, count + have[1]) if have else (worth, count)
    return merged


def _leaf_worth(tree: Tree, branch: Branch) -> float:
    network = tree.network
    function = network.functions[branch.op]
    if network.learned[branch.op]:
        worth = LEARNED
    elif function in VIEWS:
        worth = VIEW
    else:
        worth = POINTWISE
    computed = [at for at in branch.outside if network.roles[tree.op_at[at]] in {"op", "input", "hook"}]
    return worth + (JOIN if len(computed) > 1 else 0.0)


def _factors(tree: Tree, amount: dict[int, float]) -> dict[int, float]:
    """Return how new each branch is, in the order in which a reader meets them."""
    factor: dict[int, float] = {}
    order: list[Branch] = []
    seen_branches: set[int] = set()
    seen_classes: set[str] = set()
    calls = tree.network.calls
    stack: list[tuple[Branch, float]] = [(tree.root, 1.0)]
    while stack:
        branch, inherited = stack.pop()
        own = inherited
        if branch.kind == "module":
            name = calls[branch.call].class_name
            if branch.loose in seen_branches:
                own = min(own, SAME_BRANCH)
            elif name in seen_classes and name not in CONTAINERS:
                own = min(own, SAME_CLASS)
            seen_branches.add(branch.loose)
            seen_classes.add(name)
        factor[id(branch)] = own
        order.append(branch)
        stack.extend((child, own) for child in reversed(branch.children))
    for branch in reversed(order):  # a frame is no newer than the modules it is made of
        inner = [factor[id(child)] for child in branch.children if child.children]
        loose_ops = sum(amount[id(child)] for child in branch.children if not child.children)
        if inner and loose_ops <= MOSTLY_FRAMES * amount[id(branch)]:
            factor[id(branch)] = min(factor[id(branch)], max(inner))
    return factor
