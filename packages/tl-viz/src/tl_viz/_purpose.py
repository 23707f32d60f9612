"""What a join of branches is for, where that can be seen: gates, routers and experts, and the state of a loop."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tl_viz._functions import ARITHMETIC, KEEPING, PRODUCTS

if TYPE_CHECKING:
    from tl_viz._network import Network

CHOSEN, ROUTED, STATEFUL = "with chosen experts", "by router weights", "input with state"
"""Products with weights that a router chose, and with the router's own; what a loop carries with what is new in a round."""

TIMES = frozenset({"mul", "imul", "rmul", "multiply"})
"""Functions that multiply number by number."""
ACTIVATIONS = frozenset({"sigmoid", "silu", "gelu", "tanh", "hardsigmoid", "hardswish", "mish", "softsign"})
"""Functions that open or shut a gate, number by number."""
CHOOSING = KEEPING | ARITHMETIC | frozenset({"getitem", "gather", "index_select"})
"""What may stand between a choice and its use: a scale, a part."""
PICKING = frozenset({"getitem", "index_select", "gather"})
"""Functions that take a part of a parameter, which a tensor says."""


def purposes_of(network: Network) -> dict[int, str]:
    """Return what joins are for, by op: `by silu`. A gate joins branches even where one layer has projected both."""
    return _Purposes(network).found if any(network.learned) and network.joins else {}


class _Purposes:
    """What is known of the ops so far, in the order of execution."""

    def __init__(self, network: Network) -> None:
        self.found: dict[int, str] = {}
        self._network = network
        self._opened: dict[int, int] = {}
        """Op that hands on what an activation gave -> what it hands on; the activation itself -> itself."""
        self._root: list[int] = []
        """What each op is computed from by functions of one tensor, without parameters; itself, where it is computed otherwise."""
        self._chosen: set[int] = set()
        """Ops that hand on what was chosen as the largest."""
        self._picked: set[int] = set()
        """Ops that hand on a part of a parameter that was chosen so."""
        self._stateful: set[int] = set()
        """Ops that give what a loop has carried, mixed with what is new in its round."""
        self._readers = Counter([parent for parents in network.parents for parent in parents])
        for op, function in enumerate(network.functions):
            name = function.rstrip("_")
            self._note(op, name)
            purpose = self._purpose(op, name) if op in network.joins else ""
            if purpose:
                self.found[op] = purpose

    def _note(self, op: int, name: str) -> None:
        network, parents = self._network, self._network.parents[op]
        first = parents[0] if parents else -1
        plain = len(parents) == 1 and not network.learned[op] and op not in network.outputs and op not in network.back
        self._root.append(self._root[first] if plain else op)
        if name in ACTIVATIONS:
            self._opened[op] = op
        elif name in KEEPING and first in self._opened:
            self._opened[op] = first
        if network.learned[op] and name in PICKING:
            self._picked |= set() if self._chosen.isdisjoint(parents) else {op}
        elif name == "topk" or (name in CHOOSING and first in self._chosen):
            self._chosen.add(op)
        elif name in KEEPING and first in self._picked:
            self._picked.add(op)
        if op in network.back or (network.rounds[op] > 1 and not self._stateful.isdisjoint(parents)):
            self._stateful.add(op)

    def _purpose(self, op: int, name: str) -> str:
        parents = self._network.parents[op]
        if name in TIMES:
            opened = [gate for one in parents for other in parents if (gate := self._gate(one, other))]
            if opened:
                return f"by {opened[0]}"
        if op not in self._network.apart:
            return ""
        if name in PRODUCTS and not self._picked.isdisjoint(parents):
            return CHOSEN
        if name in TIMES and not self._chosen.isdisjoint(parents):
            return ROUTED
        return STATEFUL if op in self._stateful else ""

    def _gate(self, op: int, other: int) -> str:
        """Return the activation that an op hands on, where nothing else reads that, and another is not computed from the same."""
        if self._root[op] == self._root[other]:
            return ""
        while self._opened.get(op, op) != op and self._readers[op] == 1:
            op = self._opened[op]
        return self._network.functions[op].rstrip("_") if self._opened.get(op) == op and self._readers[op] == 1 else ""
