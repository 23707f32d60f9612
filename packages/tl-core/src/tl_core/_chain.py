"""Calls that repeat one place of the model, linked each to the one before."""

from __future__ import annotations

from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, cast, final

from tl_core._source import twins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._record import Frame, Frames, ModuleRecord, OpRecord, Records

Place = tuple[int, int, int]
"""Module call, module and call site."""
Spot = tuple[str, int, int, int, int]
"""Function, output position, module, call site and order within what one instruction calls."""


@final
class CallSites:
    """Call sites by content, numbered from 0."""

    __slots__ = ("_below", "_by_content", "_by_identity", "_cuts", "_equal", "_inner", "_same", "_twins", "frames")

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_content: dict[tuple[int, ...], int] = {}
        self._same: dict[int, Frame] = {}
        """By identity of a frame, the one that stands for all equal to it."""
        self._equal: dict[object, Frame] = {}
        """The same by content."""
        self._inner: dict[tuple[int, int], int] = {}
        self._below: dict[tuple[int, int], int] = {}
        self._cuts: dict[tuple[int, ...], int] = {}
        self._twins: dict[int, dict[int, int]] = {}
        self.frames: list[Frames] = []
        """Frames of each site."""

    def number(self, frames: Frames) -> int:
        """Number of a call site; equal frames have equal numbers."""
        known = self._by_identity.get(id(frames))
        if known is None:
            known = self._by_identity[id(frames)] = self._intern(frames)
        return known

    def _intern(self, frames: Frames) -> int:
        same = self._same
        once = tuple([same.get(id(frame)) or self._first_equal(frame) for frame in frames])
        content = tuple(map(id, once))
        known = self._by_content.get(content)
        if known is None:
            known = self._by_content[content] = len(self.frames)
            self.frames.append(cast("Frames", once))
        return known

    def _first_equal(self, frame: Frame) -> Frame:
        """The first frame met that equals this one; an instruction that Python compiled twice is the first of the two."""
        if len(frame) == 2:
            code, offset = frame
            # a code object hashes its bytecode and equals its copies; its identity is quicker and says more
            known = self._twins.get(id(code))
            if known is None:
                known = self._twins[id(code)] = twins(code)
            offset = known.get(offset, offset)
            content: object = (id(code), offset)
            found = self._equal.setdefault(content, frame if offset == frame[1] else (code, offset))
        else:
            found = self._equal.setdefault(frame, frame)
        self._same[id(frame)] = self._same[id(found)] = found
        return found

    def shared_depth(self, sites: tuple[int, ...]) -> int:
        """How many of the outermost frames all `sites` share: the way to the module call that they stand in."""
        known = self._cuts.get(sites)
        if known is None:
            known = self._cuts[sites] = self._measure(sorted(set(sites)))
        return known

    def _measure(self, sites: Sequence[int]) -> int:
        shared = self.frames[sites[0]][::-1]
        for site in sites[1:]:
            depth = 0
            for one, other in zip(shared, self.frames[site][::-1], strict=False):
                if one[0] is not other[0] or one[1] != other[1]:
                    break
                depth += 1
            shared = shared[:depth]
        return len(shared)

    def inside(self, site: int, depth: int) -> int:
        """Number of the part of a call site that remains without its `depth` outermost frames."""
        known = self._inner.get((site, depth))
        if known is None:
            frames = self.frames[site]
            known = self._inner[site, depth] = self._intern(frames[: len(frames) - depth])
        return known

    def below(self, site: int, outer: Frames) -> int:
        """How many of the outermost frames of a call site are those of `outer`, which may be cut off there."""
        key = (site, self.number(outer))
        known = self._below.get(key)
        if known is None:
            frames, outer = self.frames[site], self.frames[key[1]]
            depth = min(len(frames), len(outer))
            while frames[len(frames) - depth :] != outer[:depth]:
                depth -= 1
            known = self._below[key] = depth
        return known


@final
class Chains:
    """Each op's link to the op before it at the same place."""

    __slots__ = ("_anchors", "_calls", "_mixed", "_ops", "_spots", "bound", "link", "loose", "order", "sites")

    def __init__(self, records: Records) -> None:
        self.sites = CallSites()
        """The call sites of the run."""
        self.link = [-1] * len(records.ops)
        """The op before at the same place; -1 where an op begins a layer."""
        self.order = [0] * len(records.ops)
        """Position of each op in a round of what is called at its place."""
        self._ops = records.ops
        self._calls = records.module_calls
        self._anchors = anchor_calls(records)
        self._mixed: set[Place] = set()
        """Places at which more than one thing is called."""
        repeated = _repeated(records, self._anchors)
        self._spots: dict[int, list[tuple[int, Spot]]] = {call: [] for calls in repeated for call in calls}
        loops = self._link_within_calls(self._collect())
        self.bound: list[int] = []
        """Ops linked to an earlier call of their module: they share its layer whatever stands around."""
        for calls in repeated:
            self._link_between_calls(calls, loops)
        self.loose = [op for op, loose in enumerate(loops) if loose]
        """Ops linked within one call of a module, ascending: they may be loops over different things."""

    def _collect(self) -> list[tuple[Place, list[int]]]:
        """Link ops with parameters, buffers and constants; gather what else is called at each place.

        Returns:
            Places at which something may repeat, each with all its ops, with or without parameters, in order.
        """
        sources: dict[tuple[str, str], int] = {}
        by_module: dict[int, list[int]] = {}
        for index, op in enumerate(self._ops):
            if op.call is not None:
                where = op.module
                module = -1 if where is None else where.module.index
                group = by_module.get(module)
                if group is None:
                    by_module[module] = [index]
                else:
                    group.append(index)
            elif op.address and op.kind != "input" and op.kind != "output":
                key = (op.kind, op.address)
                self.link[index] = sources.get(key, -1)
                sources[key] = index
        places: list[tuple[Place, list[int]]] = []
        spots = self._spots
        for module, group in by_module.items():
            # a single op repeats nothing, but it shows how far a call that comes again has come
            if len(group) > 1 or (spots and self.place_of(self._ops[group[0]])[0] in spots):
                self._part(module, group, places)
        places.sort(key=_first_op)
        return places

    def _part(self, module: int, group: Sequence[int], places: list[tuple[Place, list[int]]]) -> None:
        """Link what one module calls with parameters, and part all that it calls by its own calls and by call sites."""
        ops, anchors, number, mixed = self._ops, self._anchors, self.sites.number, self._mixed
        last: dict[tuple[str, int, tuple[int, ...]], int] = {}
        found: dict[Place, list[int]] = {}
        for index in group:
            op = ops[index]
            call, where = op.call, op.module
            assert call is not None
            place = (-1 if where is None else anchors[where.index], module, number(call.frames))
            others = found.get(place)
            if others is None:
                found[place] = [index]
            else:
                if place not in mixed and not _alike(ops[others[-1]], op):
                    mixed.add(place)
                others.append(index)
            if call.params:
                key = (call.name, op.position, call.params)
                self.link[index] = last.get(key, -1)
                last[key] = index
        places.extend(found.items())

    def _link_within_calls(self, gathered: Sequence[tuple[Place, Sequence[int]]]) -> bytearray:
        """Link ops without parameters to the round before, where what is called at a place comes in rounds.

        Returns:
            1 for each op that was linked.
        """
        loops = bytearray(len(self._ops))
        for place, group in gathered:
            spots = self._spots.get(place[0])
            if len(group) == 1 and spots is None:
                continue
            if place in self._mixed:
                self._link_rounds(place, group, spots, loops)
                continue
            name, position, params = self._called(group[0])
            if params:
                continue
            for before, op in pairwise(group):
                self.link[op] = before
                loops[op] = 1
            if spots is not None:
                spot = (name, position, *place[1:], 0)
                spots.extend([(op, spot) for op in group])
        return loops

    def _link_rounds(
        self, place: Place, group: Sequence[int], spots: list[tuple[int, Spot]] | None, loops: bytearray
    ) -> None:
        """Link what is called at one place where that are several things."""
        called = [self._called(op) for op in group]
        length = period(called)
        for order, op in enumerate(group):
            name, position, params = called[order]
            if params:
                continue
            if length > 1:
                self.order[op] = order % length
            if order >= length:
                self.link[op] = group[order - length]
                loops[op] = 1
            if spots is not None:
                spots.append((op, (name, position, *place[1:], order % length)))

    def place_of(self, op: OpRecord) -> tuple[int, int]:
        """The module call that an op's site belongs to, and the innermost module around it; -1 for none."""
        where = op.module
        return (-1, -1) if where is None else (self._anchors[where.index], where.module.index)

    def site_of(self, op: OpRecord) -> int:
        """Number of an op's call site; -1 for sources and outputs."""
        return -1 if op.call is None else self.sites.number(op.call.frames)

    def _called(self, op: int) -> tuple[str, int, tuple[int, ...]]:
        """What was called: function, output position and parameters."""
        record = self._ops[op]
        call = record.call
        return (record.kind, 0, ()) if call is None else (call.name, record.position, call.params)

    def _link_between_calls(self, calls: Sequence[int], loops: bytearray) -> None:
        """Link the k-th op at a spot in one call of a module with the k-th in the call before."""
        seen: dict[object, int] = {}
        link = self.link
        for index, key in self._keyed(calls):
            before = seen.get(key)
            if before is not None:
                link[index] = before
                loops[index] = 0
                self.bound.append(index)
            seen[key] = index

    def _keyed(self, calls: Sequence[int]) -> list[tuple[int, object]]:
        """The ops inside some calls of one module, each with what it shares with the same op of another call."""
        sites = self.sites
        keyed: list[tuple[int, object]] = []
        last, nested = -1, False
        for call in calls:
            inside = self._spots[call]
            if not inside:
                continue
            nested |= min(inside)[0] < last
            last = max(last, max(inside)[0])
            outer = self._calls[call].site
            shared = sites.shared_depth(tuple([spot[3] for _, spot in inside])) if outer is None else 0
            counts: dict[Spot, int] = {}
            for index, spot in inside:
                name, position, module, full, order = spot
                count = counts[spot] = counts.get(spot, 0) + 1
                depth = sites.below(full, outer) if outer else shared
                keyed.append((index, (name, position, module, sites.inside(full, depth), order, count)))
        if nested:  # a module that calls itself: what an inner call does is over before the outer one goes on
            keyed.sort(key=itemgetter(0))
        return keyed


def _first_op(place: tuple[Place, list[int]]) -> int:
    return place[1][0]


def _alike(one: OpRecord, other: OpRecord) -> bool:
    """Whether two computed ops are the same output of the same function with the same parameters."""
    left, right = one.call, other.call
    assert left is not None
    assert right is not None
    return left.name == right.name and one.position == other.position and left.params == right.params


def _repeated(records: Records, anchors: Sequence[int]) -> list[list[int]]:
    """Calls of the modules that hold something and were called more than once."""
    made = records.module_calls
    calls: dict[int, list[int]] = {call.module.index: [] for call in made if call.number > 1}
    if calls:
        for call in made:
            if call.module.index in calls and anchors[call.index] == call.index:
                calls[call.module.index].append(call.index)
    return [group for group in calls.values() if len(group) > 1]


def period(tokens: Sequence[object]) -> int:
    """Length of the round that `tokens` repeat at least twice (the last round may break off); else their number.

    One instruction of the user's code calls one function, over and over in a loop. A function of the framework that is
    written in Python, and a module of the framework, make many calls below one instruction of the user's code: then the
    whole sequence is one round.
    """
    if tokens.count(tokens[0]) == len(tokens):
        return 1
    borders = [0] * len(tokens)
    width = 0
    for index in range(1, len(tokens)):
        while width and tokens[index] != tokens[width]:
            width = borders[width - 1]
        if tokens[index] == tokens[width]:
            width += 1
        borders[index] = width
    length = len(tokens) - borders[-1]
    return length if 2 * length <= len(tokens) else len(tokens)


def anchor_calls(records: Records) -> list[int]:
    """For each module call, the innermost call around it whose module has parameters or buffers; -1 for none.

    A module without any (an activation, a dropout) is a function by another name: calling it twice repeats nothing.
    """
    stateful = stateful_modules(records.modules)
    anchors: list[int] = []
    for call in records.module_calls:
        if call.module.index in stateful:
            anchors.append(call.index)
        else:
            anchors.append(-1 if call.parent is None else anchors[call.parent.index])
    return anchors


def stateful_modules(modules: Sequence[ModuleRecord]) -> set[int]:
    """Modules that hold parameters or buffers, or contain one that does."""
    found: set[int] = set()
    before, upwards = -1, True
    while upwards and len(found) > before:  # children come after their parents, but for shared ones
        before, upwards = len(found), False
        for module in reversed(modules):
            children = module.children
            if module.params or module.buffers or (children and not found.isdisjoint(children)):
                found.add(module.index)
            elif children and min(children) < module.index:
                upwards = True
    return found
