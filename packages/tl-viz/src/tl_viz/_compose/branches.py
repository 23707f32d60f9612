"""What is said of joins in the lines under the title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.held import Held
from tl_viz._compose.unit import Units
from tl_viz._scene import IN_CLOSED, NO_BRANCHES

if TYPE_CHECKING:
    from tl_viz._compose.meet import Meets, Sort
    from tl_viz._compose.spread import Place
    from tl_viz._plan import Plan

MOST_CLAUSES, MOST_INSIDE = 6, 3
"""So many clauses are said of what is drawn, and of what closed boxes hold."""


def joins_clauses(plan: Plan, meets: Meets, made: str, drawn: set[Sort]) -> tuple[str, ...]:
    """Return where branches join, a clause for each place: `add ×2 in each GPT2Block`.

    A place is the innermost module or function around an op that is drawn, as a frame or as a box, or that is a block of the
    network. Blocks come first, then other modules of which there are many, those with nothing but arithmetic last, and outer ones
    before inner ones. What has no box of its own, and no like that has one, comes after `in closed boxes:`: attention, products
    and lists first, and sums, products and masks of numbers in one word.

    Args:
        plan: what is drawn.
        meets: the ops at which they join.
        made: what is said of the blocks of the network.
        drawn: sorts of ops that have a box of their own; where there are none, all are told of.
    """
    ops = list(meets.between(0, len(meets.tree.op_at)))
    if not ops:
        return (NO_BRANCHES,)
    blocks = [part.partition(" ×")[0] for part in made.split(" · ")]
    units = Units(plan, meets)
    known = {*blocks, *[unit.name for unit in units.every if unit.shown]} - {""}
    told = [op for op in ops if not drawn or meets.sort(op) in drawn]
    has_box = set(told)

    held = Held(meets, units, known, told)

    def importance(place: Place) -> tuple[int, bool, bool, int]:
        own = units.named.get(place.kind, ())
        depth = min((unit.depth for unit in own), default=0)
        rank = blocks.index(place.kind) if place.kind in blocks else len(blocks)
        return rank, units.totals[place.kind] < 2, held.computes(place), depth

    clauses = held.clauses(sorted(held.names, key=importance), MOST_CLAUSES)
    closed = Held(meets, units, known, [op for op in ops if op not in has_box], in_short=True)
    inside = closed.clauses(sorted(closed.names, key=closed.weight), MOST_INSIDE)
    if inside:
        inside[0] = f"{IN_CLOSED}{inside[0]}"
    return tuple(clauses + inside)
