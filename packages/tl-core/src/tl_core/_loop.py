"""Loops that run over different things, taken apart.

`for block in self.blocks: x = x + block(x)` comes to one place of the code again and again, and each time something else
stands beside it. So the calls at a place are coloured, all alike at first, and parted by evidence: *at this place next
to the call stands that colour*. Parting calls gives evidence against their neighbours, so the calls are visited
forwards, looking at what they read, and backwards, looking at what reads them, until no colour is split any more.

Only what belongs to the same round of the loop is evidence: a parent that is younger than the call before at this place,
a child that is older than the call after it. What a loop takes from a list that was there before is data, like the rows
of `x[:, t]`; buffers and constants are not data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tl_core._chain import CallSites, Chains
    from tl_core._edge import Edges
    from tl_core._record import OpRecord

PLACE_BITS = 24
"""Room for the number of a place beside a colour, so that one int keys both: dicts of ints cost the collector nothing."""
MASK = (1 << PLACE_BITS) - 1


@final
class Loops:
    """Colours the ops of a run: equal colours are passes of one layer."""

    __slots__ = (
        "_after", "_before", "_bound", "_children", "_fresh", "_link", "_members", "_ops", "_parents", "_places", "color",
    )  # fmt: skip

    def __init__(self, ops: Sequence[OpRecord], chains: Chains, edges: Edges) -> None:
        self._ops = ops
        self._places = _Places(chains.sites)
        self._link = link = chains.link
        self._parents = edges.parent_rows()
        self._children = edges.child_rows()
        self._before = [-1] * len(ops)
        """The call before, at the same place in the same call of a module."""
        self._after = [-1] * len(ops)
        for op in chains.loose:
            self._before[op] = link[op]
            self._after[link[op]] = op
        self._bound = bytearray(len(ops))
        """1 for each pass of what an earlier call of its module did: its colour follows from that."""
        for op in chains.bound:
            self._bound[op] = self._before[op] < 0
        self._members = [
            op for op, (before, after) in enumerate(zip(self._before, self._after, strict=True))
            if before >= 0 or after >= 0 or self._bound[op]
        ]  # fmt: skip
        """Ops whose colour may change."""
        self.color = list(link)
        """By op, a number that it shares with the other passes of its layer."""
        for op, earlier in enumerate(link):
            self.color[op] = op if earlier < 0 else self.color[earlier]
        self._fresh = len(link)

    def part(self) -> None:
        """Split colours until everything fits, seen from the parents and from the children."""
        forwards, quiet = True, 0
        while quiet < 2:
            before = self._fresh
            self._visit(forwards=forwards)
            if self._fresh > before:
                quiet = 0
                self._forget_singles()
            else:
                quiet += 1
            forwards = not forwards

    def contradict(self, one: int, other: int) -> bool:
        """Whether different colours stand at one place next to two calls of one site."""
        for forwards, last_of in ((True, self._before), (False, self._after)):
            near = self._near(forwards=forwards)
            found = [self._evidence(op, near(op), last_of[op], forwards=forwards) for op in (one, other)]
            if any(found[1].get(place, color) != color for place, color in found[0].items()):
                return True
        return False

    def _forget_singles(self) -> None:
        """Leave out ops that share their colour with nobody any more."""
        counts: dict[int, int] = {}
        for op in self._members:
            counts[self.color[op]] = counts.get(self.color[op], 0) + 1
        self._members = [op for op in self._members if counts[self.color[op]] > 1 or self._bound[op]]

    def _visit(self, *, forwards: bool) -> None:
        """Split colours by what the calls read, or by what reads them."""
        color, origin = self.color, list(self.color)
        last_of = self._before if forwards else self._after
        split = _Split(self._fresh)
        near, bound = self._near(forwards=forwards), self._bound
        for op in self._members if forwards else reversed(self._members):
            if bound[op]:
                if forwards:
                    color[op] = color[self._link[op]]
                split.keep(color[op])
                continue
            last = last_of[op]
            known = last >= 0 and origin[last] == origin[op]
            if known:
                left, right = near(last), near(op)
                if len(left) == len(right):
                    for one, other in zip(left, right, strict=True):
                        if one != other and color[one] != color[other]:
                            break
                    else:
                        color[op] = color[last]
                        continue
            evidence = self._evidence(op, near(op), last, forwards=forwards)
            color[op] = split.choose(color[op], color[last] if known else -1, evidence)
        self._fresh = split.fresh

    def _near(self, *, forwards: bool) -> Callable[[int], Sequence[int]]:
        """What tells the ops that an op reads, or those that read it."""
        starts, targets = self._parents if forwards else self._children
        return lambda op: targets[starts[op] : starts[op + 1]]

    def _evidence(self, op: int, near: Sequence[int], last: int, *, forwards: bool) -> dict[int, int]:
        """Colours of the neighbours in the same round, by place."""
        found: dict[int, int] = {}
        for neighbour in near:
            record = self._ops[neighbour]
            if record.call is None:
                if record.kind == "input" or record.kind == "output":
                    continue
                place = -1 if record.kind == "buffer" else -2
            elif last >= 0 and (neighbour <= last if forwards else neighbour >= last):
                continue  # of another round, or from before the loop
            else:
                place = self._places.meet(record, self._ops[op])
            color = self.color[neighbour]
            if found.setdefault(place, color) != color:
                found[place] = self._places.mixture(found[place], color)
        return found


@final
class _Split:
    """What one visit knows of the calls that it has put together: of a colour before the visit, some keep it, others
    get a fresh one."""

    __slots__ = ("_by_evidence", "_kept", "_known", "fresh")

    def __init__(self, fresh: int) -> None:
        self.fresh = fresh
        """The next colour to give out."""
        self._kept: set[int] = set()
        self._known: dict[int, int] = {}
        """By new colour and place: colour of the neighbours there."""
        self._by_evidence: dict[tuple[int, int], int] = {}
        """By old colour with place, and colour of the neighbours there: the new colour."""

    def keep(self, color: int) -> None:
        """Note that some call keeps its colour."""
        self._kept.add(color)

    def choose(self, old: int, last: int, evidence: dict[int, int]) -> int:
        """Colour of a call: that of calls with the same evidence, else that of the call before, else a fresh one."""
        new = self._find(old, last, evidence)
        if new < 0:
            if old not in self._kept or (last < 0 and self._fits(old, evidence)):
                new = old
                self._kept.add(old)
            else:
                new = self.fresh
                self.fresh += 1
        for place, color in evidence.items():
            self._known[new << PLACE_BITS | place & MASK] = color
            self._by_evidence[old << PLACE_BITS | place & MASK, color] = new
        return new

    def _find(self, old: int, last: int, evidence: dict[int, int]) -> int:
        for place, color in evidence.items():
            new = self._by_evidence.get((old << PLACE_BITS | place & MASK, color))
            if new is not None and self._fits(new, evidence):
                return new
        return last if last >= 0 and self._fits(last, evidence) else -1

    def _fits(self, new: int, evidence: dict[int, int]) -> bool:
        """Whether nothing contradicts what is known of the others."""
        known = self._known
        for place, color in evidence.items():  # noqa: SIM110  # as above
            if known.get(new << PLACE_BITS | place & MASK, color) != color:
                return False
        return True


@final
class _Places:
    """Where the code that a call stands in reaches another call, as numbers."""

    __slots__ = ("_met", "_numbers", "_numbers_of_sets", "_sets", "_sites")

    def __init__(self, sites: CallSites) -> None:
        self._sites = sites
        self._met: dict[tuple[int, int], int] = {}
        self._numbers: dict[object, int] = {}
        self._sets: list[frozenset[int]] = []
        self._numbers_of_sets: dict[frozenset[int], int] = {}

    def meet(self, there: OpRecord, here: OpRecord) -> int:
        """Number of the instruction at which the innermost function common to both call sites reaches `there`."""
        sites = self._sites
        pair = (
            -1 if there.call is None else sites.number(there.call.frames),
            -1 if here.call is None else sites.number(here.call.frames),
        )
        known = self._met.get(pair)
        if known is None:
            known = self._met[pair] = self._numbers.setdefault(self._common(*pair), len(self._numbers))
        return known

    def _common(self, there: int, here: int) -> object:
        codes = [frame[0] for frame in self._sites.frames[here]]
        for frame in self._sites.frames[there]:
            for code in codes:
                if frame[0] is code:
                    return id(code), frame[1]
        return None  # one place for all calls that have nothing in common with this one

    def mixture(self, one: int, other: int) -> int:
        """A number, below zero, for a set of colours at one place."""
        colors = self._parts(one) | self._parts(other)
        number = self._numbers_of_sets.setdefault(colors, -1 - len(self._sets))
        if -number > len(self._sets):
            self._sets.append(colors)
        return number

    def _parts(self, color: int) -> frozenset[int]:
        return self._sets[-1 - color] if color < 0 else frozenset((color,))
