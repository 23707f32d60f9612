"""How much a viewer loses when a branch is closed.

Not the number of ops counts but what kinds there are: a box with twelve equal layers hides little more than a box with one. What
has been shown before is cheap to hide, and a box that swallows much of the whole is dear.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from typing import TYPE_CHECKING

from tl_viz._plan.branch import CONTAINERS
from tl_viz._plan.chain import SPLICED
from tl_viz._plan.typical import typical_forms

if TYPE_CHECKING:
    from tl_viz._plan.branch import Branch, Tree

VIEWS = SPLICED | frozenset(
    [
        "chunk", "split", "unbind", "tensor_split", "__getitem__", "dropout", "identity", "size", "repeat", "slice", "pad",
        "rearrange",
    ]
)  # fmt: skip
"""Functions that move numbers without computing any."""

VIEW, POINTWISE, LEARNED, JOIN = 0.15, 0.5, 1.0, 1.0
ARROW, ARROWS = 1.5, 3
"""What it costs that a closed box does not tell which of several tensors enters where, for each but the first; and how many count."""
MOSTLY_FRAMES = 0.2
"""A frame with no larger share of ops of its own is as new as the modules in it."""

NAMED = 0.3
"""A function that holds no parameters helps one that does, and its name tells how."""

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
    contents: dict[int, dict[int, int]]
    """Such a number -> kind of leaf -> how many of it are inside."""
    leaf: dict[int, float]
    """Kind of leaf -> what one is worth."""
    forced: set[int] = field(default_factory=set[int])
    """ids of branches that must not be closed."""
    known: dict[tuple[int, int, float, float], list[float]] = field(
        default_factory=dict[tuple[int, int, float, float], list[float]]
    )
    """Least costs that were found before, by the most items, form, newness and cost of closing."""


def weigh(tree: Tree) -> Worth:
    """Return the cost of closing each branch of a tree that has been signed and folded."""
    order = [tree.root]
    for branch in order:
        order.extend([child for child in branch.children if child.children])
    form = _forms(order)
    leaf: dict[int, float] = {}
    """Kind of leaf -> what one is worth."""
    contents: dict[int, dict[int, int]] = {}
    amount: dict[int, float] = {}
    own_ops: dict[int, float] = {}
    for branch in reversed(order):
        number = form[id(branch)]
        content = contents.get(number)
        if content is None:
            content = contents[number] = _content(tree, branch, contents, form, leaf)
        whole = sum(leaf[kind] * (1 + log2(count)) for kind, count in content.items())
        whole = max([whole, *[amount[id(child)] for child in branch.children if child.children]])
        amount[id(branch)] = whole * (1 + REPEATED * log2(branch.copies))
        own_ops[id(branch)] = sum(leaf[one.loose] for one in map(_named_after, branch.children) if not one.children)
    total = amount[id(tree.root)] or 1.0
    factor = _factors(tree, amount, own_ops)
    close: dict[int, float] = {}
    for branch in order:
        if branch.kind == "chain":  # what it is named after stays visible
            hidden = sum(leaf[child.loose] for child in branch.children if child.op != branch.op)
            close[id(branch)] = hidden * factor[id(branch)]
            continue
        cost = amount[id(branch)] * factor[id(branch)]
        cost += 2.0 * max(0.0, cost - SWALLOWED * total)
        if branch.kind in {"module", "function"}:
            cost += ARROW * factor[id(branch)] * max(0, min(ARROWS, entering(tree, branch) - 1))
        close[id(branch)] = 0.0 if branch.kind == "bundle" else cost
    return Worth(close, factor, form, contents, leaf)


def _named_after(branch: Branch) -> Branch:
    """Return the leaf that a chain is named after, or the branch itself."""
    if branch.kind != "chain":
        return branch
    return next(child for child in branch.children if child.op == branch.op)


def _forms(order: list[Branch]) -> dict[int, int]:
    known: dict[object, int] = {}
    form: dict[int, int] = {}
    for branch in reversed(order):
        inner = tuple(
            [
                form[id(child)] if child.children else (-child.loose if child.copies > 1 else child.loose, child.kind)
                for child in branch.children
            ]
        )
        key = (branch.kind, branch.copies > 1, branch.loose, inner)
        form[id(branch)] = known.setdefault(key, len(known))
    return form


def _content(
    tree: Tree,
    branch: Branch,
    contents: dict[int, dict[int, int]],
    form: dict[int, int],
    leaf: dict[int, float],
) -> dict[int, int]:
    """Return kind of leaf -> how many there are in a branch; note in `leaf` what each kind is worth."""
    merged: dict[int, int] = {}
    for child in branch.children:
        if child.children:
            for kind, count in contents[form[id(child)]].items():
                merged[kind] = merged.get(kind, 0) + count
        else:
            kind = child.loose
            merged[kind] = merged.get(kind, 0) + 1
            if kind not in leaf:
                leaf[kind] = _leaf_worth(tree, child)
    return merged


def _leaf_worth(tree: Tree, branch: Branch) -> float:
    if branch.kind != "op":  # a module that is kept closed
        return LEARNED
    network = tree.network
    function = network.functions[branch.op]
    if tree.fixed[branch.op]:
        return VIEW  # positions, tables and masks, however they are made
    if network.learned[branch.op]:
        worth = LEARNED
    elif function in VIEWS:
        worth = VIEW
    else:
        worth = POINTWISE
    return worth + (JOIN if entering(tree, branch) > 1 else 0.0)


def is_helper(tree: Tree, branch: Branch) -> bool:
    """Whether a branch is a function of the code that holds no parameters."""
    learned = tree.network.learned
    return branch.kind == "function" and not any(learned[op] for op in tree.op_at[branch.first : branch.end])


def entering(tree: Tree, branch: Branch) -> int:
    """Return how many tensors a branch reads from outside, without those that are the same in every run."""
    return sum(not tree.fixed[tree.op_at[at]] for at in branch.outside)


def _factors(tree: Tree, amount: dict[int, float], own_ops: dict[int, float]) -> dict[int, float]:
    """Return how new each branch is, in the order in which a reader meets them."""
    factor: dict[int, float] = {}
    order: list[Branch] = []
    seen_branches: set[int] = set()
    seen_classes: set[str] = set()
    new_class: set[int] = set()
    calls = tree.network.calls
    typical = typical_forms(tree)
    stack: list[tuple[Branch, float]] = [(tree.root, 1.0)]
    while stack:
        branch, inherited = stack.pop()
        own = inherited
        if branch.kind == "module":
            name = calls[branch.call].class_name
            known = name in CONTAINERS or name in seen_classes or branch.loose != typical.get(name, branch.loose)
            if branch.loose in seen_branches:
                own = min(own, SAME_BRANCH)
            elif known and name not in CONTAINERS:
                own = min(own, SAME_CLASS)
            else:
                seen_classes.add(name)
            if not known:
                new_class.add(id(branch))
            seen_branches.add(branch.loose)
        elif branch.kind == "function":
            if is_helper(tree, branch):
                own *= NAMED
            own = min(own, SAME_BRANCH) if branch.loose in seen_branches else own
            seen_branches.add(branch.loose)
        factor[id(branch)] = own
        order.append(branch)
        stack.extend([(child, own) for child in reversed(branch.children) if child.children])
    for branch in reversed(order):  # a frame without a class of its own is no newer than the modules in it
        if id(branch) in new_class:
            continue
        inner = [factor[id(child)] for child in branch.children if child.children and child.kind != "chain"]
        if inner and own_ops[id(branch)] <= MOSTLY_FRAMES * amount[id(branch)]:
            factor[id(branch)] = min(factor[id(branch)], max(inner))
    return factor
