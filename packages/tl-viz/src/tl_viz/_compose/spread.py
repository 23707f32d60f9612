"""In which modules, functions and copies some ops stand, in words: `in each GPT2Block`, `in all but the first Layer of each Block`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tl_viz._compose.rule import rule_of
from tl_viz._compose.unit import outward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_viz._compose.unit import Unit, Units

EACH = " in each "
"""What comes before the name of modules or functions of which none is left out."""

FEW, NUMBERED = 4, 8
"""So many modules are named by their addresses; so many where only the numbers at the end differ."""

Way = tuple["Unit", ...]
"""What an op stands in and is told of: first what is known to the reader, then what stands inside of that and is not."""


class Place(NamedTuple):
    """Where ops stand."""

    before: str
    """What comes before the name: `in each `."""
    name: str
    """Class of modules, function, or addresses; empty for the network itself."""
    after: str
    """What comes after it: ` of each Block`."""
    kind: str
    """Class of modules, function, or addresses of a row."""
    times: int
    """How many of these there are."""


NOWHERE = Place("", "", "", "", 1)
"""In the network itself."""


def spread(units: Units, ways: Sequence[Way]) -> list[tuple[Place, int]]:
    """Return where some ops of one name stand, and how many of them in each of these.

    Args:
        units: all modules and functions of the network.
        ways: what each of the ops stands in, the same names for each.
    """
    if not ways[0]:
        return [(NOWHERE, len(ways))]
    for level, unit in enumerate(ways[0]):
        held = Counter([way[level] for way in ways])
        if len(held) == units.totals[unit.name] and len(set(held.values())) == 1:
            return [(_each(unit, len(held)), held[unit])]
    found: list[tuple[Place, int]] = []
    held = Counter([way[-1] for way in ways])
    for number in dict.fromkeys(held.values()):
        found += _some(units, [unit for unit, own in held.items() if own == number], number)
    return found


def _each(unit: Unit, total: int) -> Place:
    if unit.row:
        return Place(f" in each of the {total:,} steps of ", unit.name, "", unit.name, total)
    return Place(EACH if total > 1 else " in ", unit.name, "", unit.name, total)


def _some(units: Units, some: list[Unit], number: int) -> list[tuple[Place, int]]:
    """Return which of the units of a kind are meant, and how many ops each of them holds: by a rule, by addresses, or by number."""
    name = some[0].name
    rule = rule_of(units, some)
    if rule:
        return [(Place(f" in {rule[0]}", name, rule[1], name, len(some)), number)]
    inside = Counter([next((unit for unit in outward(one) if unit.closed), one) for one in some])
    found: list[tuple[Place, int]] = []
    for times in dict.fromkeys(inside.values()):
        those = [box for box, own in inside.items() if own == times]
        found.append((Place(" in ", _listed(units, those), "", name, len(those)), number * times))
    if all(place.name for place, _ in found):
        return found
    meant = set(some)
    others = [unit for unit in units.named[name] if unit not in meant]
    text = _listed(units, others) if len(some) + len(others) == units.totals[name] else ""
    if text:
        return [(Place(" in all ", name, f" but {text}", name, len(some)), number)]
    return [(Place(f" in {len(some):,} of {units.totals[name]:,} ", name, "", name, len(some)), number)]


def _listed(units: Units, some: list[Unit]) -> str:
    """Return the addresses of modules, as `features.3, 5, 6` where they can be; an empty string where they are too many or have none."""
    addresses = [units.address(unit) for unit in some] if len(some) <= NUMBERED else [""]
    heads, tails = {one.rpartition(".")[0] for one in addresses}, [one.rpartition(".")[2] for one in addresses]
    if len(some) > 2 and len(heads) == 1 and "" not in heads and all(tail.isdigit() for tail in tails):
        return f"{heads.pop()}.{', '.join(tails)}"
    return ", ".join(addresses) if all(addresses) and len(some) <= FEW else ""
