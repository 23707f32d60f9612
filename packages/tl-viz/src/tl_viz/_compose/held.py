"""What joins in which place: the ops of a network gathered by the modules, functions and copies that are known to a reader."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from tl_viz._compose.joined import SHORT
from tl_viz._compose.spread import EACH, Place, Way, spread
from tl_viz._functions import ARITHMETIC, ATTENTION, PRODUCTS, SEQUENCES
from tl_viz._names import summary
from tl_viz._purpose import STATEFUL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_viz._compose.meet import Meets
    from tl_viz._compose.unit import Unit, Units

MOST_KINDS = 5
"""So many kinds of joins are named in one place; the others are counted."""

MOST_NAMED = 5
"""Where there are more around a loop and in it, each time is only counted."""

MOST_JOINS, FEW_KINDS = 4, 2
"""Where there are more joins in one place, of more kinds, most are only counted: the picture shows them, and nobody reads so many."""

KNOWN = PRODUCTS.union([SHORT.get(name, name) for name in ATTENTION])
"""Names that are told of in any case, as are those that say more than the function."""

AT_END = " at the end of each "
"""What comes before the name of a place where the last op of each is meant."""

ROLES = {**SHORT, **dict.fromkeys(SEQUENCES, STATEFUL)}
"""What meets in an op, where its name does not say so."""


class Part(NamedTuple):
    """When ops run of what a place holds."""

    phase: int
    """0 before any loop that is in it, 1 in one, 2 after one."""
    joins: int
    """In how many rounds branches join at them."""
    rounds: int
    """How many rounds they run."""


class Held:
    """What joins where."""

    def __init__(self, meets: Meets, units: Units, known: set[str], ops: Iterable[int]) -> None:
        """Gather ops.

        Args:
            meets: the ops at which tensors meet.
            units: what they stand in.
            known: names of modules, functions and rows that a reader knows, from the picture or from the line above.
            ops: those that are told of.
        """
        self.names: dict[Place, dict[Part, list[str]]] = {}
        """Where ops stand -> when they run -> what they are called, each as often as it is in one of these places."""
        network, ops = meets.tree.network, list(ops)
        looped = [meets.tree.place[op] for op in ops if network.rounds[op] > 1]
        self.within: set[Place] = set()
        """Those in which anything comes after one of them."""
        alike: dict[tuple[str, tuple[str, ...], Part], list[tuple[int, Way]]] = {}
        for op in ops:
            way = _way(units.around(op), known)
            part = Part(_phase(meets, op, way, looped), network.joins[op], network.rounds[op])
            key = join_name(meets, op), tuple([unit.name for unit in way]), part
            alike.setdefault(key, []).append((op, way))
        for (name, _, part), found in alike.items():
            for place, number in spread(units, [way for _, way in found]):
                self.names.setdefault(place, {}).setdefault(part, []).extend([name] * number)
                if not all(_is_last(meets.tree.place[op], way, place) for op, way in found):
                    self.within.add(place)

    def number(self, place: Place) -> int:
        """Return how often branches join in a place, all such places together."""
        return place.times * sum(part.joins * len(names) for part, names in self.names[place].items())

    def computes(self, place: Place) -> bool:
        """Whether nothing joins in a place but in arithmetic, number by number."""
        return all(_computes(name) for own in self.names[place].values() for name in own)

    def clauses(self, places: list[Place], most: int) -> list[str]:
        """Return what is said of places, in their order: so many clauses, and how often branches join in all others."""
        said: dict[tuple[str, str, str], list[Place]] = {}
        """What joins, and how often it is there -> places of which both are true."""
        for place in places:
            before, after = self._words(place)
            said.setdefault((before, after, place.before), []).append(place)
        clauses = [
            f"{before}{', '.join([place.name for place in own])}{after}" for (before, after, _), own in said.items()
        ]
        rest = [place for own in [*said.values()][most:] for place in own]
        return [*clauses[:most], f"and {sum(map(self.number, rest)):,} more"] if rest else clauses

    def _words(self, place: Place) -> tuple[str, str]:
        """Return what comes before and after the name of a place: `add ×2 in each `, or `in each ` and `: mul before its loop, ...`."""
        names = self.names[place]
        if len(names) > 1:
            few = sum(map(len, names.values())) <= MOST_NAMED
            parts = ", ".join([_when(part, names[part], named=few) for part in sorted(names)])
            return (place.before[1:], f"{place.after}: {parts}") if place.name else (parts, "")
        ((part, own),) = names.items()
        before = AT_END if place.before == EACH and place not in self.within else place.before
        if part.rounds > 1:
            before = f" in {_rounds(part)}{f' of {place.before[4:]}' if place.before else ''}"
        return f"{_told(own, place)}{before}", place.after


def join_name(meets: Meets, op: int) -> str:
    """Return what a join is called: its function, and what that is for; in an op that says nothing of it, what meets."""
    name, purpose = meets.name(op), meets.tree.network.purposes.get(op, STATEFUL)
    if op in meets.attending:
        return f"attention {name}"
    return ROLES.get(name, name) if purpose == STATEFUL else f"{name} {purpose}"


def _when(part: Part, names: list[str], *, named: bool) -> str:
    """Return what joins before a loop, in its rounds or after it: `2 in each of 12 rounds (mul, add)`; without names where there are many."""
    when = ("before its loop", f"in {_rounds(part)}", "after it")[part.phase]
    if len(names) == 1 and named:
        return f"{names[0]} {when}"
    return f"{len(names)} {when}{f' ({summary(names, MOST_KINDS)})' if named else ''}"


def _is_inventory(names: list[str]) -> bool:
    return len(names) > MOST_JOINS and len(set(names)) > FEW_KINDS


def _told(names: list[str], place: Place) -> str:
    """Return what joins in one place; where that would be an inventory, attention and products of matrices, and how many others."""
    if not (place.name and _is_inventory(names)):
        return summary(names, MOST_KINDS)
    main = [name for name in names if name in KNOWN or " " in name]
    rest = len(names) - len(main)
    if not main or not rest:
        return summary(main, MOST_KINDS) or f"{rest} times"
    return f"{summary(main, len(main))} and {rest} more"


def _computes(name: str) -> bool:
    return name.rstrip("_") in ARITHMETIC


def _way(around: list[Unit], known: set[str]) -> Way:
    """Return what an op stands in, from the innermost that is known inwards; the innermost of all where none is."""
    named = [unit for unit in around if unit.name]
    at = next((index for index, unit in enumerate(named) if unit.name in known), 0)
    return tuple(named[at::-1])


def _is_last(at: int, way: Way, place: Place) -> bool:
    """Whether an op is the last one of what a place is named after."""
    return any(unit.name == place.kind and at == unit.end - 1 for unit in way)


def _phase(meets: Meets, op: int, way: Way, looped: list[int]) -> int:
    """Whether an op runs before any loop in what it stands in, in one, or after one; `looped` are the places of those that do."""
    if meets.tree.network.rounds[op] > 1:
        return 1
    start = bisect_left(looped, way[0].first if way else 0)
    return 2 if start < len(looped) and looped[start] < meets.tree.place[op] else 0


def _rounds(part: Part) -> str:
    return (
        f"each of {part.joins:,} rounds" if part.joins == part.rounds else f"{part.joins:,} of {part.rounds:,} rounds"
    )
