"""Says by a rule which of the modules of a class are meant: all but the first of each block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.unit import outward
from tl_viz._plan import CONTAINERS

if TYPE_CHECKING:
    from tl_viz._compose.unit import Unit, Units

RULES = {
    "each ": slice(None),
    "the first ": slice(1),
    "the last ": slice(-1, None),
    "all but the first ": slice(1, None),
    "all but the last ": slice(-1),
}
"""What is said of modules of a class -> which they are of those that one other module holds."""


def rule_of(units: Units, some: list[Unit]) -> tuple[str, str] | None:
    """Return what is said of some units before and after their name, where a rule says which they are: `the first `, ` of each Block`.

    What they stand in is a module or function, or a module that only holds others.
    """
    every = units.named[some[0].name]
    if len(every) < units.totals[some[0].name]:
        return None
    for containers in (False, True):
        groups: dict[Unit | None, list[Unit]] = {}
        for unit in every:
            outer = next((one for one in outward(unit.outer) if containers or one.name), None)
            groups.setdefault(outer, []).append(unit)
        after, around = _holders(units, groups, set(some), containers=containers)
        for words, part in RULES.items():
            if {unit for own in around for unit in own[part]} == set(some):
                return words, after
    return None


def _holders(
    units: Units, groups: dict[Unit | None, list[Unit]], meant: set[Unit], *, containers: bool
) -> tuple[str, list[list[Unit]]]:
    """Return how to speak of the modules of one class that hold all units that are meant, and what each holds; nothing for other units."""
    if len(groups) == 1:
        return "", [*groups.values()]
    holders = {units.class_of(outer) for outer, own in groups.items() if not meant.isdisjoint(own)}
    holder = holders.pop()
    around = [own for outer, own in groups.items() if units.class_of(outer) == holder]
    if holders or not holder or (holder in CONTAINERS) != containers:
        return "", []
    if containers:
        return f" of each {holder}", around if len(around) > 1 else []
    several = len(around) > 1
    return f" of each {holder}" if several else f" of {holder}", around if units.totals[holder] == len(around) else []
