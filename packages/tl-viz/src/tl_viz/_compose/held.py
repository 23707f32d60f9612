"""What joins in which place: the ops of a network gathered by the modules, functions and copies that are known to a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.inside import ARITHMETIC, ATTENTION, PRODUCTS
from tl_viz._compose.joined import SHORT
from tl_viz._compose.spread import Place, Way, spread
from tl_viz._names import summary
from tl_viz._plan import GROWING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_viz._compose.meet import Meets
    from tl_viz._compose.unit import Unit, Units

MOST_KINDS = 5
"""So many kinds of joins are named in one place; the others are counted."""

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

    def __init__(
        self, meets: Meets, units: Units, known: set[str], ops: Iterable[int], *, in_short: bool = False
    ) -> None:
        """Gather ops.

        Args:
            meets: the ops at which branches join.
            units: what they stand in.
            known: names of modules, functions and rows that a reader knows, from the picture or from the line above.
            ops: those that are told of.
            in_short: whether several kinds of sums, products, comparisons and masks of numbers in one place are called `arithmetic`.
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
        for own in self.names.values() if in_short else ():
            for rounds, names in own.items():
                own[rounds] = _in_short(names)

    def number(self, place: Place) -> int:
        """Return how often branches join in a place, all such places together."""
        return place.times * sum(joins * len(names) for (joins, _), names in self.names[place].items())

    def weight(self, place: Place) -> tuple[bool, int, int]:
        """Return what sorts places by what joins there: attention first, then products of matrices and lists, and masks last."""
        names = {name for own in self.names[place].values() for name in own}
        attends = tuple({SHORT.get(name, name) for name in ATTENTION})
        ranks = (any(name.startswith(attends) for name in names), bool(names & PRODUCTS), bool(names & GROWING), True)
        return place not in self.moving, ranks.index(True), -self.number(place)

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
        """Return what comes before and after the name of a place: `add ×2 in each `, and `, and mul in each of its 12 rounds`."""
        texts = {rounds: summary(names, MOST_KINDS) for rounds, names in self.names[place].items()}
        (first, text), *others = sorted(texts.items(), key=lambda one: one[0][1] > 1)
        before = place.before
        if first[1] > 1:
            before = f" in {_rounds(first, ' ')}{f' of {before[4:]}' if before else ''}"
        more = [f", and {text} in {_rounds(rounds, ' its ')}" for rounds, text in others]
        return f"{text}{before}", f"{place.after}{''.join(more)}"


def _in_short(names: list[str]) -> list[str]:
    """Return names of joins, several kinds of arithmetic among them under one name."""
    kinds = {name for name in names if _computes(name)}
    return ["arithmetic" if name in kinds else name for name in names] if len(kinds) > 1 else names


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
