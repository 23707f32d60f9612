"""What joins in which place: the ops of a network gathered by the modules, functions and copies that are known to a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.inside import ARITHMETIC, ATTENTION, PRODUCTS
from tl_viz._compose.joined import SHORT
from tl_viz._compose.spread import Place, Way, spread
from tl_viz._names import summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_viz._compose.meet import Meets
    from tl_viz._compose.unit import Unit, Units

MOST_KINDS = 5
"""So many kinds of joins are named in one place; the others are counted."""

MOST_JOINS, FEW_KINDS = 5, 2
"""Where there are more joins in one place, of more kinds, most are only counted: the picture shows them, and nobody reads so many."""

ATTENDS = tuple([SHORT.get(name, name) for name in sorted(ATTENTION)])
"""How names of attention begin."""

MOST_NAMES = 3
"""So many of the places are named that hold what is only counted."""

ROLES = {
    **SHORT,
    "lstm": "input with state",
    "gru": "input with state",
    "rnn_tanh": "input with state",
    "rnn_relu": "input with state",
}
"""What meets in an op, where its name does not say so."""

Rounds = tuple[int, int]
"""In how many rounds branches join at an op, and how many rounds it ran."""


class Held:
    """What joins where."""

    def __init__(self, meets: Meets, units: Units, known: set[str], ops: Iterable[int]) -> None:
        """Gather ops.

        Args:
            meets: the ops at which branches join.
            units: what they stand in.
            known: names of modules, functions and rows that a reader knows, from the picture or from the line above.
            ops: those that are told of.
        """
        self.names: dict[Place, dict[Rounds, list[str]]] = {}
        """Where ops stand -> rounds -> what they are called, each as often as it is in one of these places."""
        self.moving: set[Place] = set()
        """Where numbers of the input, or parameters, go into one of them."""
        network, fixed = meets.tree.network, meets.tree.fixed
        alike: dict[tuple[str, tuple[str, ...], Rounds, bool], list[Way]] = {}
        for op in ops:
            way, name = _way(units.around(op), known), meets.name(op)
            if op in units.attending:
                name = f"attention {name}"
            rounds = (network.joins[op], network.rounds[op])
            key = ROLES.get(name, name), tuple([unit.name for unit in way]), rounds, fixed[op]
            alike.setdefault(key, []).append(way)
        for (name, _, rounds, still), ways in alike.items():
            for place, number in spread(units, ways):
                self.names.setdefault(place, {}).setdefault(rounds, []).extend([name] * number)
                self.moving |= set() if still else {place}

    def number(self, place: Place) -> int:
        """Return how often branches join in a place, all such places together."""
        return place.times * sum(joins * len(names) for (joins, _), names in self.names[place].items())

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

    def in_short(self) -> str:
        """Return how often branches join in all places together, and which these are: `24 more in GPT2MLP`."""
        places = sorted(self.names, key=lambda place: (place not in self.moving, -self.number(place)))
        names = [*dict.fromkeys([place.name for place in places])]
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        where = f" in {', '.join(names[:MOST_NAMES])}{more}" if all(names) else ""
        return f"{sum(map(self.number, places)):,} more{where}"

    def _words(self, place: Place) -> tuple[str, str]:
        """Return what comes before and after the name of a place: `add ×2 in each `, and `, and mul in each of its 12 rounds`."""
        texts = {rounds: _told(names, place) for rounds, names in self.names[place].items()}
        (first, text), *others = sorted(texts.items(), key=lambda one: one[0][1] > 1)
        before = place.before
        if first[1] > 1:
            before = f" in {_rounds(first, ' ')}{f' of {before[4:]}' if before else ''}"
        more = [f", and {text} in {_rounds(rounds, ' its ')}" for rounds, text in others]
        return f"{text}{before}", f"{place.after}{''.join(more)}"


def _told(names: list[str], place: Place) -> str:
    """Return what joins in one place; where that would be an inventory, attention and products of matrices, and how many others."""
    if not place.name or len(names) <= MOST_JOINS or len(set(names)) <= FEW_KINDS:
        return summary(names, MOST_KINDS)
    main = [name for name in names if name in PRODUCTS or name.startswith(ATTENDS)]
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


def _rounds(rounds: Rounds, of: str) -> str:
    joins, all_of_them = rounds
    return f"each of{of}{joins:,} rounds" if joins == all_of_them else f"{joins:,} of{of}{all_of_them:,} rounds"
