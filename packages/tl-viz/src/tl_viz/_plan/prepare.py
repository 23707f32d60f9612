"""From a network to a tree that can be planned: what belongs together gathered, equal branches numbered, runs folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._plan.depth import shut_below
from tl_viz._plan.fold import fold
from tl_viz._plan.sign import sign
from tl_viz._plan.tree import build_tree

if TYPE_CHECKING:
    from tl_viz._network import Network
    from tl_viz._plan.branch import Tree


def prepare(network: Network, *, fold_repeats: bool, depth: int | None, bundle: bool = True) -> Tree:
    """Return the tree of a network.

    Args:
        network: what is drawn.
        fold_repeats: make one branch of each run of equal siblings.
        depth: modules nested deeper than this many levels are emptied, so that they can only be closed.
        bundle: gather dead ends, constants, loops and views.
    """
    tree = build_tree(network, bundle_dead_ends=bundle)
    if fold_repeats or bundle:
        sign(tree)
    if fold_repeats:
        fold(tree)
    if depth is not None:
        shut_below(tree, depth)
    return tree
