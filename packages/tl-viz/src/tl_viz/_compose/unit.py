"""What ops stand in: every module, function of the code, and copy of a folded row, drawn or not."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._compose.address import run_address, same_calls
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
    call: int
    """Number of its module call, or of that of its first copy; -1 for what is no module."""
    start: int
    """Place of the first op of that copy."""
    row: bool
    """Whether it is a copy of a row."""
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
        """Name -> how many there are; modules of one op count too, which need not be among these units."""
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

    def class_of(self, unit: Unit | None) -> str:
        """Return the name of a unit, or the class of a module that only holds others; an empty string for the network itself."""
        if unit is None or unit.name or unit.call < 0:
            return "" if unit is None else unit.name
        return self.tree.network.calls[unit.call].class_name

    def address(self, unit: Unit) -> str:
        """Return where a module lives, seen from what is drawn; an empty string for what is none."""
        if unit.call < 0:
            return ""
        found = same_calls(self.tree, unit.call, unit.start, (unit.first,))
        return relative(found[-1], self.tree.network.base)

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
            calls = self._calls(branch, home)
            apart = branch.kind == "module" or any(
                call >= 0 and network.calls[call].class_name in classes for call in calls
            )
            for call in calls:
                name = self._name(branch, call, home, opened=opened)
                self.totals[name] += len(shifts)
                if call in meets.whole:
                    name = ""
                if apart or (name and call < 0):
                    here = shown and call == branch.call
                    self.every += [
                        Unit(
                            name=name, first=branch.first + shift, end=branch.end + shift, call=call, start=branch.first,
                            row=branch.kind == "run", shown=here, closed=here and not opened,
                        )
                        for shift in shifts
                    ]  # fmt: skip
            inner = branch.call if branch.kind == "module" else home
            waiting += [
                (child, shifts, opened, inner)
                for child in branch.children
                if child.call >= 0 or (child.children and child.kind not in NEVER_OPEN)
            ]

    def _calls(self, branch: Branch, home: int) -> list[int]:
        """Return the module calls that a branch stands for, the outermost first; -1 for none."""
        found, call = [branch.call], branch.call
        while call >= 0 and (call := self.tree.network.calls[call].parent) != home and call >= 0:
            found.insert(0, call)
        return found

    def _name(self, branch: Branch, call: int, home: int, *, opened: bool) -> str:
        """Return what a branch, or a module call that it stands for, is called in a module; an empty string where it has no name."""
        network = self.tree.network
        if call >= 0:
            name = network.calls[call].class_name
            return "" if name in CONTAINERS else name
        if branch.kind == "function":
            return f"{branch.name}()"
        named = branch.kind == "run" and opened and not branch.looped
        frame = network.calls[home].address if home >= 0 else network.base
        return run_address(self.tree, branch, frame) if named else ""


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
