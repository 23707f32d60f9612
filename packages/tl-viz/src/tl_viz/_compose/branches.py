"""What is said of joins in the lines under the title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.held import Held
from tl_viz._compose.inside import ATTENTION, PRODUCTS
from tl_viz._compose.unit import Units
from tl_viz._plan import GROWING
from tl_viz._scene import IN_CLOSED, NO_BRANCHES

if TYPE_CHECKING:
    from tl_viz._compose.meet import Meets, Sort
    from tl_viz._compose.spread import Place
    from tl_viz._plan import Plan

MOST_CLAUSES = 6
"""So many clauses are said; what is in others is counted."""


def joins_clauses(plan: Plan, meets: Meets, made: str, drawn: set[Sort]) -> tuple[str, ...]:
    """Return where branches join, a clause for each place: `add ×2 in each GPT2Block`.

    A place is the innermost module or function around an op that is drawn, as a frame or as a box, or that is a block of the
    network. Blocks come first, then other modules of which there are many, those with nothing but arithmetic last, and outer ones
    before inner ones. What stands at no bar, and no like that does, is counted after `in closed boxes:`, but for what a
    network is known by: attention and products of matrices, lists, and what a block itself does.

    Args:
        plan: what is drawn.
        meets: the ops at which they join.
        made: what is said of the blocks of the network.
        drawn: sorts of ops that have a bar, or stand in a closed box with one; where there are none, all are told of.
    """
    ops = list(meets.between(0, len(meets.tree.op_at)))
    if not ops:
        return (NO_BRANCHES,)
    blocks = [part.partition(" ×")[0] for part in made.split(" · ")]
    units = Units(plan, meets)
    known = {*blocks, *[unit.name for unit in units.every if unit.shown]} - {""}
    told = [op for op in ops if not drawn or meets.sort(op) in drawn or _matters(meets, units, blocks, op)]
    held = Held(meets, units, known, told)

    def importance(place: Place) -> tuple[int, bool, bool, int]:
        own = units.named.get(place.kind, ())
        depth = min((unit.depth for unit in own), default=0)
        rank = blocks.index(place.kind) if place.kind in blocks else len(blocks)
        return rank, units.totals[place.kind] < 2, held.computes(place), depth

    clauses = held.clauses(sorted(held.names, key=importance), MOST_CLAUSES)
    rest = set(ops).difference(told)
    if rest:
        clauses.append(f"{IN_CLOSED}{Held(meets, units, known, [op for op in ops if op in rest]).in_short()}")
    return tuple(clauses)


def _matters(meets: Meets, units: Units, blocks: list[str], op: int) -> bool:
    """Whether an op is told of though only closed boxes hold its like: attention, a product of matrices, a list, a sum in a block."""
    name, owner, within = meets.sort(op)
    joins = name in ATTENTION or name in PRODUCTS or op in units.attending
    return joins or owner in blocks or (name in GROWING and not within)
