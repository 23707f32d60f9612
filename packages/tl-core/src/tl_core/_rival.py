"""Neighbours that part two calls: different sites at one place of the code."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._chain import Chains
    from tl_core._record import OpRecord, Records

Place = tuple[object, int]
"""A code object and an instruction in it, or the kind of a source."""

NOWHERE: Place = ("", -1)
"""Shared by all calls whose place cannot be told: they are rivals if they differ."""


@final
class Rivals:
    """Compares the neighbours of two linked ops."""

    __slots__ = ("_first_link", "_link", "_ops", "_places", "_sites", "roots")

    def __init__(self, records: Records, chains: Chains) -> None:
        self._ops = records.ops
        self._sites = chains.sites
        self._link = chains.link
        self._first_link = list(chains.link)
        self._places: dict[tuple[int, int], Place] = {}
        self.roots = list(range(len(records.ops)))
        """First op of the layer that each op belongs to, as far as known."""

    def among(self, left: Sequence[int], right: Sequence[int], op: int) -> bool:
        """Whether the neighbours `right` of `op` hold a rival of the neighbours `left` of the op before it."""
        link = self._link
        if len(left) == len(right):
            for earlier, later in zip(left, right, strict=True):
                if earlier != later and link[later] != earlier:
                    break
            else:
                return False
        strangers = [one for one in right if not any(self._same(other, one) for other in left)]
        if not strangers:
            return False
        taken = {self._place(other, op) for other in left}
        return any(self._place(one, op) in taken for one in strangers if self._place(one, op) is not None)

    def _same(self, earlier: int, later: int) -> bool:
        if earlier == later or self._link[later] == earlier:
            return True
        if self._first_link[later] == earlier:
            return False  # parted, though the roots are not up to date yet
        return self.roots[earlier] == self.roots[later]

    def _place(self, neighbour: int, op: int) -> Place | None:
        """Where the code that `op` stands in reaches `neighbour`; None for inputs and outputs, which rival nobody."""
        record = self._ops[neighbour]
        if record.call is None:
            return None if record.kind == "input" or record.kind == "output" else (record.kind, 0)
        here = self._site(self._ops[op])
        there = self._site(record)
        known = self._places.get((there, here))
        if known is None:
            known = self._places[there, here] = self._meet(there, here)
        return known

    def _site(self, record: OpRecord) -> int:
        return -1 if record.call is None else self._sites.number(record.call.frames)

    def _meet(self, there: int, here: int) -> Place:
        codes = [frame[0] for frame in self._sites.frames[here]]
        for frame in self._sites.frames[there]:
            for code in codes:
                if frame[0] is code:
                    return frame[0], frame[1]
        return NOWHERE
