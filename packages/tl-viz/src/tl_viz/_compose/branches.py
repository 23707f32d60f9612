"""What is said of joins in the lines under the title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.held import Held
from tl_viz._compose.unit import Units
from tl_viz._scene import NO_BRANCHES

if TYPE_CHECKING:
    from tl_viz._compose.meet import Meets
    from tl_viz._compose.spread import Place
    from tl_viz._compose.unit import Unit
    from tl_viz._plan import Plan

MOST_CLAUSES = 6
"""So many clauses are said; what is in others is counted."""


def joins_clauses(plan: Plan, meets: Meets, made: str) -> tuple[str, ...]:
    """Return where branches join, a clause for each place: `add ×2 in each GPT2Block`.

    A place is the innermost module or function around an op that is drawn, as a frame or as a box, or that is a block of the
    network. Blocks come first, then other modules of which there are many, those with nothing but arithmetic last, and outer ones
    before inner ones. Where tensors of one branch meet, nothing is said.

    Args:
        plan: what is drawn.
        meets: the ops at which tensors meet.
        made: what is said of the blocks of the network.
    """
    ops = [op for op in meets.between(0, len(meets.tree.op_at)) if op in meets.tree.network.apart]
    if not ops:
        return (NO_BRANCHES,)
    blocks = [part.partition(" ×")[0] for part in made.split(" · ")]
    units = Units(plan, meets)
    known = {*blocks, *[unit.name for unit in units.every if _is_place(unit)]} - {""}
    held = Held(meets, units, known, ops)

    def importance(place: Place) -> tuple[int, bool, bool, int]:
        own = units.named.get(place.kind, ())
        depth = min((unit.depth for unit in own), default=0)
        rank = blocks.index(place.kind) if place.kind in blocks else len(blocks)
        return rank, units.totals[place.kind] < 2, held.computes(place), depth

    return tuple(held.clauses(sorted(held.names, key=importance), MOST_CLAUSES))


def _is_place(unit: Unit) -> bool:
    """Whether a reader finds what stands in a unit by its name: a frame, a module, a row; a function that is closed is in a frame."""
    return unit.shown and not (unit.closed and unit.call < 0)
