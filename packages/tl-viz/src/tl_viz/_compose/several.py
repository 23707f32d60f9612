"""How many tensors a line carries: `3 tensors`, `1…6 tensors`, with which copies or rounds they belong to; or `4 parts` of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tl_viz._compose.ties import BEFORE

if TYPE_CHECKING:
    from tl_viz._compose.follow import Trail
    from tl_viz._plan import Tree

PARTS = frozenset(["getitem", "select", "narrow"])
"""Views that take a part of a tensor."""

Pair = tuple[int, int]
"""Numbers of two items."""

Reader = tuple[int, str]
"""A copy of an item, and which rounds of a loop read, where not all do."""

ALL = re.compile(r"all [\d,]+(?: (\w+))?")
OUTPUTS = re.compile(r"[\d,]+ outputs")
ROUNDS = re.compile(r"(?:all )?(\d+)(?: of \d+)? rounds")


class Several:
    """The tensors of all lines, counted for each copy of what reads them; only where there are several, one by one."""

    def __init__(self, tree: Tree, trail: Trail) -> None:
        self.tree = tree
        self.trail = trail
        self.lone: dict[Pair, tuple[int, Reader]] = {}
        """Two items -> the only tensor met so far, and what reads it."""
        self.more: dict[Pair, dict[Reader, dict[int, int]]] = {}
        """Two items -> what reads -> the tensors that it reads, and in how many rounds of a loop each was made."""

    def add(self, source: int, reader: int) -> None:
        """Note a tensor that goes from one place to another."""
        trail, tree = self.trail, self.tree
        pair = (trail.item[source], trail.item[reader])
        op, parent = tree.op_at[reader], tree.op_at[source]
        copy = -1 if tree.network.roles[op] == "output" else trail.copy_of[reader]
        made, read = self._rounds(op, parent) if tree.network.turns else (1, "")
        known = self.lone.setdefault(pair, (source, (copy, read)))
        if known == (source, (copy, read)) and made == 1:
            return
        self.more.setdefault(pair, {known[1]: {known[0]: 1}}).setdefault((copy, read), {})[source] = made

    def _rounds(self, op: int, parent: int) -> tuple[int, str]:
        """Return in how many rounds of a loop a tensor was made that is read outside of it, and which rounds read it if not all do."""
        network = self.tree.network
        text = network.turns.get(op, {}).get(parent, "")
        if network.rounds[parent] < network.rounds[op]:
            return 1, text if text != "every round" else ""
        found = ROUNDS.fullmatch(text)
        return (int(found[1]) if found else 1), ""

    def number(self, pair: Pair) -> int:
        """Return how many tensors the copy reads, in the round, that reads most."""
        always: dict[int, int] = {}
        once: dict[int, int] = {}
        for (copy, read), tensors in self.more.get(pair, {}).items():
            if read:
                once[copy] = max(once.get(copy, 0), sum(tensors.values()))
            else:
                always[copy] = sum(tensors.values())
        return max([always.get(copy, 0) + once.get(copy, 0) for copy in always | once], default=1)

    def texts(self, ends: dict[Pair, str]) -> dict[Pair, str]:
        """Return what stands at the lines, with how many tensors they carry.

        Args:
            ends: two items -> which copies or rounds give and read what goes from the first to the second.
        """
        found = dict(ends)
        for pair in self.more:
            number = self.number(pair)
            if number > 1:
                found[pair] = _with_number(f"{number:,} tensors", ends.get(pair, ""))
        for pair in self.lone.keys() - found.keys():
            number = self._parts(pair[1])
            if number > 1:
                found[pair] = f"{number} parts"
        for pair, text in ends.items():
            if text == BEFORE:
                found[pair] = f"{self._span(pair[1])}, {text.removeprefix('and ')}"
        return found

    def _parts(self, item: int) -> int:
        """Return how many parts of the only tensor that enters an item its op reads, where it reads nothing else."""
        branch, network = self.trail.branch[item], self.tree.network
        if branch.kind != "chain" or len(branch.outside) != 1:
            return 0
        views = {child.op for child in branch.children}
        parts: set[int] = set()
        for op in network.parents[branch.op]:
            while op in views and network.functions[op] not in PARTS and network.parents[op]:
                op = network.parents[op][0]
            if op not in views or not network.parents[op]:
                return 0
            parts.add(op)
        return len(parts)

    def _span(self, item: int) -> str:
        """Return how many tensors the first and the last copy of an item read, which reads all copies before it."""
        parents, op_at = self.tree.network.parents, self.tree.op_at
        places = [at for at, one in enumerate(self.trail.item) if one == item]
        numbers = [len(set(parents[op_at[at]])) for at in places]
        return f"{min(numbers)}…{max(numbers)} tensors"


def _with_number(number: str, text: str) -> str:
    """Return a text after a number of tensors, without what says that number in other words."""
    first, *rest = text.split(", ")
    every = ALL.fullmatch(first)
    if every and every[1] == "copies":
        first = "" if rest else first
    elif every:
        first = f"all {every[1]}" if every[1] and not rest else ""
    elif OUTPUTS.fullmatch(first):
        first = ""
    return ", ".join([part for part in (number, first, *rest) if part])
