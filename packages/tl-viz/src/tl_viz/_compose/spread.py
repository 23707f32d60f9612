"""In which modules, functions and copies some ops stand, in words: `in each GPT2Block`, `in all but the first Layer of each Block`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tl_viz._compose.unit import outward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_viz._compose.unit import Unit, Units

FEW = 4
"""So many are named by their addresses; where there are more, they are counted."""

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
    if unit.branch.kind == "run":
        return Place(f" in each of {total:,} copies of ", unit.name, "", unit.name, total)
    return Place(" in each " if total > 1 else " in ", unit.name, "", unit.name, total)


def _some(units: Units, some: list[Unit], number: int) -> list[tuple[Place, int]]:
    """Return which of the units of a kind are meant, and how many ops each of them holds: by a rule, by addresses, or by number."""
    name = some[0].name
    place = _by_rule(units, some)
    if place is not None:
        return [(place, number)]
    inside = Counter([next((unit for unit in outward(one) if unit.closed), one) for one in some])
    addresses = [units.address(box) for box in inside] if len(inside) <= FEW else [""]
    if not all(addresses):
        return [(Place(f" in {len(some):,} of {units.totals[name]:,} ", name, "", name, len(some)), number)]
    found: dict[int, list[str]] = {}
    for address, times in zip(addresses, inside.values(), strict=True):
        found.setdefault(times, []).append(address)
    return [(Place(" in ", ", ".join(those), "", name, len(those)), number * times) for times, those in found.items()]


def _by_rule(units: Units, some: list[Unit]) -> Place | None:
    """Return where units stand that are the first, or the last, or all others, of what they stand in."""
    name = some[0].name
    if len(units.named[name]) < units.totals[name]:
        return None
    groups: dict[Unit | None, list[Unit]] = {}
    for unit in units.named[name]:
        groups.setdefault(next((one for one in outward(unit.outer) if one.name), None), []).append(unit)
    around = {"" if unit is None else unit.name for unit in groups}
    several = len(groups) > 1
    if several and (len(around) > 1 or units.totals[min(around)] > len(groups)):
        return None
    rules = {
        "all but the first ": slice(1, None), "all but the last ": slice(-1), "the first ": slice(1), "the last ": slice(-1, None)
    }  # fmt: skip
    after = f" of each {around.pop()}" if several else ""
    meant = set(some)
    for words, part in rules.items():
        if min(map(len, groups.values())) > 1 and {unit for group in groups.values() for unit in group[part]} == meant:
            return Place(f" in {words}", name, after, name, len(some))
    return None
