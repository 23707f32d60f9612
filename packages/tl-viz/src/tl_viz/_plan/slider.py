"""The plan for a level between 0 and 1: a member of one nested family, chosen so that equal moves save equal shares.

The family has two parts. While every copy of a block is still spelled out, all copies but the first are closed from the inside
out. Then runs are folded, and what is left is closed by weakest link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._plan.prepare import prepare
from tl_viz._plan.segment import cut_wide_levels
from tl_viz._plan.slide import Step, slide
from tl_viz._plan.worth import weigh

if TYPE_CHECKING:
    from tl_viz._network import Network
    from tl_viz._plan.branch import Tree


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the family."""

    tree: Tree
    opened: set[int]
    """ids of what is open before the first step."""
    items: int
    """How many items that shows."""
    steps: list[Step]


def parts(network: Network, *, fold_repeats: bool, depth: int | None) -> list[Part]:
    """Return the parts of the family, the finest first."""
    spelled = prepare(network, fold_repeats=False, depth=depth)
    opened, items, steps = slide(spelled, weigh(spelled), copies="only")
    found = [Part(spelled, opened, items, steps)]
    folded = prepare(network, fold_repeats=fold_repeats, depth=depth)
    cut_wide_levels(folded)
    found.append(Part(folded, *slide(folded, weigh(folded), copies="closed")))
    return found


def at_level(network: Network, level: float, *, fold_repeats: bool, depth: int | None) -> tuple[Tree, set[int]]:
    """Return the tree and the ids of the open branches at a level above 0."""
    found = parts(network, fold_repeats=fold_repeats, depth=depth)
    last = found[-1]
    fewest = last.steps[-1].items if last.steps else last.items
    target = float(len(network)) ** (1 - level) * fewest**level + 1e-9
    for part in found:
        if part.items <= target:
            return part.tree, set(part.opened)
        opened = set(part.opened)
        for step in part.steps:
            opened -= set(step.closed)
            if step.items <= target:
                return part.tree, opened
    return last.tree, set(last.opened).difference(*[step.closed for step in last.steps])
