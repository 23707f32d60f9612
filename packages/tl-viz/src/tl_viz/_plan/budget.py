"""A limit on planning that a user can ask for. Without one the planner never declines: it needs a tenth of a second for 10,000 ops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tl_viz._plan.depth import shut_below
from tl_viz._plan.tree import build_tree

if TYPE_CHECKING:
    from tl_viz._network import Network

COLLAPSE_OPTIMIZER_MAX_OPS = 2_000
"""Under a budget, networks with more visible ops than this get the compact plan."""

PATHOLOGICAL = 20 * COLLAPSE_OPTIMIZER_MAX_OPS
"""Under a budget, networks with more ops than this are not planned at all."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a budget allows."""

    code: Literal["collapse_budget_fallback", "collapse_pathological_skip"]
    message: str


def judge(network: Network, budget_ms: float, depth: int | None) -> Verdict | None:
    """Return why a network is not planned within a budget, or None if it is.

    Args:
        network: what is drawn.
        budget_ms: how many milliseconds planning may be predicted to take.
        depth: modules nested deeper than this count as one op.
    """
    if network.total_ops > PATHOLOGICAL:
        return Verdict(
            "collapse_pathological_skip",
            f"planner_budget: {network.total_ops:,} ops are more than {PATHOLOGICAL:,}, so nothing was planned and the "
            "coarsest picture is drawn. What to do: leave planner_budget out, or draw a part with module=.",
        )
    visible, widest = _measure(network, depth)
    predicted = 0.0095 * visible**1.43 * widest**1.02
    if visible <= COLLAPSE_OPTIMIZER_MAX_OPS and predicted <= budget_ms:
        return None
    return Verdict(
        "collapse_budget_fallback",
        f"planner_budget: {visible:,} visible ops, at most {widest:,} beside each other, are predicted to take "
        f"{predicted:,.0f} ms, and {budget_ms:,.0f} ms are allowed for at most {COLLAPSE_OPTIMIZER_MAX_OPS:,} ops, so the "
        "coarsest picture is drawn. What to do: leave planner_budget out, or draw less with module= or depth=.",
    )


def _measure(network: Network, depth: int | None) -> tuple[int, int]:
    """Return how many items there are when everything is open, and how many the widest frame holds."""
    tree = build_tree(network, bundle_dead_ends=False)
    if depth is not None:
        shut_below(tree, depth)
    visible, widest = 0, 0
    waiting = [tree.root]
    while waiting:
        branch = waiting.pop()
        widest = max(widest, len(branch.children))
        if branch.children:
            waiting.extend(branch.children)
        else:
            visible += 1
    return visible, widest
