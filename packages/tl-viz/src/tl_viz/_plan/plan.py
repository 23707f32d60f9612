"""From a network and a wish to a plan: the tree, and which of its branches are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tl_core import collector_paused
from tl_viz._plan.choose import MOST
from tl_viz._plan.even import choose_evenly, too_full
from tl_viz._plan.prepare import prepare
from tl_viz._plan.segment import cut_levels, cut_wide_levels
from tl_viz._plan.slider import at_level
from tl_viz._plan.worth import weigh

if TYPE_CHECKING:
    from tl_viz._network import Network
    from tl_viz._plan.branch import Branch, Tree

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
    with collector_paused():
        return _plan(network, collapse, fold_repeats, depth)


def _plan(network: Network, collapse: Collapse, fold_repeats: bool, depth: int | None) -> Plan:
    if collapse in {"none", 0.0}:
        return _everything(prepare(network, fold_repeats=fold_repeats, depth=depth, bundle=False))
    if collapse == "auto":
        tree = prepare(network, fold_repeats=fold_repeats, depth=depth)
        cut_wide_levels(tree)
        worth = weigh(tree)
        for most in (MOST, 4 * MOST):
            found = choose_evenly(tree, worth, most=most)
            if found is not None:
                full = too_full(tree, worth, found[0])
                if full:  # they do not fit: in pieces they do
                    cut_levels(tree, full)
                    found = choose_evenly(tree, weigh(tree), most=most) or found
                return Plan(tree=tree, opened=frozenset(found[0]), items=found[1], planner="exact")
    level = collapse if isinstance(collapse, float) else 1.0
    tree, opened = at_level(network, level, fold_repeats=fold_repeats, depth=depth)
    return _reachable(tree, opened, "pins" if collapse == "auto" else "nested")


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
