"""What ops stand in: every module, function of the code, and copy of a folded row, drawn or not."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._compose.address import addresses_of, run_address
from tl_viz._names import relative
from tl_viz._plan import CONTAINERS, NEVER_OPEN

if TYPE_CHECKING:
    from tl_viz._compose.meet import Meets
    from tl_viz._plan import Branch, Plan


@dataclass(slots=True, eq=False, kw_only=True)
class Unit:
    """One module, one call of a function, or one copy of a row that is drawn once."""

    name: str
    """Its class, `rotate_half()`, or the addresses in a row, `up.0…3, join.0…3`; empty for modules that only hold others."""
    first: int
    """Place of its first op."""
    end: int
    """One past the place of its last op."""
    branch: Branch
    """What stands for it, and for all its copies."""
    shown: bool
    """Whether it is drawn, as a frame or as a box."""
    closed: bool
    """Whether it is drawn as a box."""
    outer: Unit | None = None
    """What it stands in."""
    depth: int = 0
    """In how many others it stands."""


class Units:
    """All of a network, but for what no output depends on."""

    def __init__(self, plan: Plan, meets: Meets) -> None:
        self.tree = plan.tree
        self.every: list[Unit] = []
        """The outer ones before the inner ones, otherwise in the order of execution."""
        self.totals: Counter[str] = Counter()
        """Name -> how many there are; modules of one op, which are none of these units, count too."""
        self.named: dict[str, list[Unit]] = {}
        """Name -> those that have it, in the order of execution."""
        self._find(plan, meets)
        _nest(self.every)
        self._starts = [unit.first for unit in self.every]
        for unit in self.every:
            self.named.setdefault(unit.name, []).append(unit)

    def around(self, op: int) -> list[Unit]:
        """Return what an op stands in, the innermost first."""
        at = self.tree.place[op]
        index = bisect_right(self._starts, at) - 1
        return [unit for unit in outward(self.every[index] if index >= 0 else None) if at < unit.end]

    def address(self, unit: Unit) -> str:
        """Return where a module lives, seen from what is drawn; an empty string for what is none."""
        if unit.branch.call < 0:
            return ""
        return relative(addresses_of(self.tree, unit.branch, (unit.first,))[-1], self.tree.network.base)

    def _find(self, plan: Plan, meets: Meets) -> None:
        network = self.tree.network
        homes = {network.module_of[self.tree.op_at[at]] for at in meets.places} - meets.whole - {-1}
        classes = {network.calls[home].class_name for home in homes}
        waiting = [(self.tree.root, (0,), True, -1)]
        while waiting:
            branch, shifts, shown, home = waiting.pop()
            opened = shown and plan.is_open(branch) and bool(branch.children)
            if branch.copies > 1:
                own = (0, *[start - branch.first for start in branch.others])
                shifts = tuple([outer + inner for outer in shifts for inner in own])
            name = self._name(branch, home, opened=opened)
            self._count(branch, home, name, len(shifts))
            apart = branch.kind in {"op", "chain"} and (name not in classes or branch.call in meets.whole)
            if branch.kind == "module" or (name and not apart):
                self.every += [
                    Unit(
                        name="" if branch.call in meets.whole else name, first=branch.first + shift,
                        end=branch.end + shift, branch=branch, shown=shown, closed=shown and not opened,
                    )
                    for shift in shifts
                ]  # fmt: skip
            inner = branch.call if branch.kind == "module" else home
            waiting += [
                (child, shifts, opened, inner)
                for child in branch.children
                if child.call >= 0 or (child.children and child.kind not in NEVER_OPEN)
            ]

    def _name(self, branch: Branch, home: int, *, opened: bool) -> str:
        """Return what a branch is called that stands in a module; an empty string where it has no name."""
        network = self.tree.network
        if branch.call >= 0:
            name = network.calls[branch.call].class_name
            return "" if name in CONTAINERS else name
        if branch.kind == "function":
            return f"{branch.name}()"
        named = branch.kind == "run" and opened and not branch.looped
        frame = network.calls[home].address if home >= 0 else network.base
        return run_address(self.tree, branch, frame) if named else ""

    def _count(self, branch: Branch, home: int, name: str, number: int) -> None:
        """Count a branch that stands in a module, and the modules between, each of which holds no other."""
        calls, call = self.tree.network.calls, branch.call
        if call < 0:
            self.totals[name] += number
        while call >= 0 and call != home:
            self.totals[calls[call].class_name] += number
            call = calls[call].parent


def outward(unit: Unit | None) -> list[Unit]:
    """Return a unit and what it stands in, the innermost first."""
    found: list[Unit] = []
    while unit is not None:
        found.append(unit)
        unit = unit.outer
    return found


def _nest(units: list[Unit]) -> None:
    """Put units in order, each told what it stands in."""
    units.sort(key=lambda unit: (unit.first, -unit.end))
    around: list[Unit] = []
    for unit in units:
        while around and around[-1].end <= unit.first:
            around.pop()
        if around:
            unit.outer, unit.depth = around[-1], len(around)
        around.append(unit)
