"""From a network and a wish to a plan: the tree, and which of its branches are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tl_viz._plan.choose import MOST, choose
from tl_viz._plan.fold import fold
from tl_viz._plan.segment import cut_wide_levels
from tl_viz._plan.sign import sign
from tl_viz._plan.slide import slide
from tl_viz._plan.tree import Branch, Tree, build_tree
from tl_viz._plan.worth import weigh

if TYPE_CHECKING:
    from tl_viz._network import Network

Collapse = Literal["auto", "none", "max"] | float
"""How much is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which branches of a tree are open. Everything else is one item each."""

    tree: Tree
    opened: frozenset[int]
    """ids of the open branches, the root among them."""
    items: int
    """How many items are visible."""
    planner: str
    """How it was found: `exact`, `nested`, `all` or `pins`."""

    def is_open(self, branch: Branch) -> bool:
        """Whether the inside of a branch is visible."""
        return id(branch) in self.opened


def make_plan(network: Network, collapse: Collapse, *, fold_repeats: bool, depth: int | None = None) -> Plan:
    """Return the plan for a network.

    Args:
        network: what is drawn.
        collapse: `auto` for 12 to 40 items, `none` for all, `max` for the fewest, or a number from 0 (none) to 1 (max).
        fold_repeats: draw a run of equal siblings once.
        depth: modules nested deeper than this many levels are always closed.
    """
    everything = collapse in {"none", 0.0}
    tree = build_tree(network, bundle_dead_ends=not everything)
    if fold_repeats or not everything:
        sign(tree)
    if fold_repeats:
        fold(tree)
    if depth is not None:
        _shut_below(tree, depth)
    if everything:
        return _everything(tree)
    cut_wide_levels(tree)
    worth = weigh(tree)
    if collapse == "auto":
        for most in (MOST, 4 * MOST):
            found = choose(tree, worth, most=most)
            if found is not None:
                return Plan(tree=tree, opened=frozenset(found[0]), items=found[1], planner="exact")
    opened, items, steps = slide(tree, worth)
    share = float(collapse) if isinstance(collapse, (int, float)) else 1.0
    fewest = steps[-1].items if steps else items
    target = items ** (1 - share) * fewest**share
    for step in steps:
        if items <= target + 1e-9:
            break
        opened -= set(step.closed)
        items = step.items
    name = "pins" if collapse == "auto" else "nested"
    return _reachable(tree, opened, name)


def schedule(network: Network, *, fold_repeats: bool = True) -> list[int]:
    """Return how many items each step of the slider shows, from everything open to everything closed."""
    tree = build_tree(network, bundle_dead_ends=True)
    sign(tree)
    if fold_repeats:
        fold(tree)
    cut_wide_levels(tree)
    _, items, steps = slide(tree, weigh(tree))
    return [len(network), *dict.fromkeys([items, *(step.items for step in steps)])]


def _everything(tree: Tree) -> Plan:
    opened = {id(tree.root)}
    items = 0
    waiting = [tree.root]
    while waiting:
        branch = waiting.pop()
        if branch.children:
            opened.add(id(branch))
            waiting.extend(branch.children)
        elif branch is not tree.root:
            items += 1
    return Plan(tree=tree, opened=frozenset(opened), items=items, planner="all")


def _reachable(tree: Tree, opened: set[int], planner: str) -> Plan:
    """Return the plan with only those open branches that stand inside open ones."""
    kept = {id(tree.root)}
    items = 0
    waiting = list(tree.root.children)
    while waiting:
        branch = waiting.pop()
        if id(branch) in opened and branch.children:
            kept.add(id(branch))
            waiting.extend(branch.children)
        else:
            items += 1
    return Plan(tree=tree, opened=frozenset(kept), items=items, planner=planner)


def _shut_below(tree: Tree, depth: int) -> None:
    """Empty every module that stands `depth` modules deep, so that it can only be drawn closed."""
    waiting = [(tree.root, 0)]
    while waiting:
        branch, level = waiting.pop()
        for child in branch.children:
            inner = level + (child.kind == "module")
            if child.kind == "module" and inner >= depth:
                child.children = []
            elif child.children:
                waiting.append((child, inner))
