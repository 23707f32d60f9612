"""Calls that repeat one place of the model, linked each to the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tl_core._record import Frames, ModuleRecord, OpRecord, Records

SiteKey = tuple[str, int, int, int]
"""Function, output position, module and call site."""


@final
class CallSites:
    """Call sites by content, numbered from 0."""

    __slots__ = ("_by_content", "_by_identity", "_cuts", "_inner", "frames")

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_content: dict[tuple[object, ...], int] = {}
        self._inner: dict[tuple[int, int], int] = {}
        self._cuts: dict[tuple[int, ...], int] = {}
        self.frames: list[Frames] = []
        """Frames of each site."""

    def number(self, frames: Frames) -> int:
        """Number of a call site; equal frames have equal numbers."""
        known = self._by_identity.get(id(frames))
        if known is None:
            known = self._by_identity[id(frames)] = self._intern(frames)
        return known

    def _intern(self, frames: Frames) -> int:
        # a code object hashes its bytecode and equals its copies; its identity is quicker and says more
        content = tuple([frame if isinstance(frame[0], str) else (id(frame[0]), frame[1]) for frame in frames])
        known = self._by_content.get(content)
        if known is None:
            known = self._by_content[content] = len(self.frames)
            self.frames.append(frames)
        return known

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


@final
class Chains:
    """Each op's link to the op before it at the same place."""

    __slots__ = ("_again", "_anchors", "link", "loose", "sites")

    def __init__(self, records: Records) -> None:
        self.sites = CallSites()
        """The call sites of the run."""
        self.link = [-1] * len(records.ops)
        """The op before at the same place; -1 where an op begins a layer."""
        self._anchors = anchor_calls(records)
        calls: dict[int, list[int]] = {}
        for call in records.module_calls:
            if self._anchors[call.index] == call.index:
                calls.setdefault(call.module.index, []).append(call.index)
        self._again: dict[int, list[tuple[int, SiteKey]]] = {
            call: [] for group in calls.values() if len(group) > 1 for call in group
        }
        loops = self._link_within_calls(records.ops)
        for group in calls.values():
            if len(group) > 1:
                self._link_between_calls(group, loops)
        self.loose = sorted(loops)
        """Ops linked within one call of a module, ascending: they may be loops over different things."""

    def _link_within_calls(self, ops: Sequence[OpRecord]) -> set[int]:
        last: dict[object, int] = {}
        loops: set[int] = set()
        number, anchors, again, link = self.sites.number, self._anchors, self._again, self.link
        for index, op in enumerate(ops):
            call = op.call
            if call is None:
                if not op.address or op.kind == "input" or op.kind == "output":
                    continue
                key: object = (op.kind, op.address)
                within = False
            else:
                where = op.module
                module = -1 if where is None else where.module.index
                within = not call.params
                if within:
                    anchor = -1 if where is None else anchors[where.index]
                    site = (call.name, op.position, module, number(call.frames))
                    if anchor in again:
                        again[anchor].append((index, site))
                    key = (anchor, site)
                else:
                    key = (call.name, op.position, module, call.params)
            before = last.get(key)
            if before is not None:
                link[index] = before
                if within:
                    loops.add(index)
            last[key] = index
        return loops

    def _link_between_calls(self, calls: Sequence[int], loops: set[int]) -> None:
        """Link the k-th op at a site in one call of a module with the k-th in the call before."""
        seen: dict[object, int] = {}
        link, sites = self.link, self.sites
        for call in calls:
            inside = self._again[call]
            if not inside:
                continue
            depth = sites.shared_depth(tuple([site[3] for _, site in inside]))
            ordinals: dict[SiteKey, int] = {}
            alike: dict[SiteKey, int] = {}
            counts: dict[SiteKey, int] = {}
            for index, site in inside:
                name, position, module, full = site
                place = (name, position, module, sites.inside(full, depth))
                count = counts.get(site, 0)
                counts[site] = count + 1
                if count == 0:
                    ordinals[site] = alike.get(place, 0)
                    alike[place] = ordinals[site] + 1
                key = (place, ordinals[site], count)
                before = seen.get(key)
                if before is not None:
                    link[index] = before
                    loops.discard(index)
                seen[key] = index


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


def stateful_modules(modules: Iterable[ModuleRecord]) -> set[int]:
    """Modules that hold parameters or buffers, or contain one that does."""
    parents: dict[int, list[int]] = {}
    stack: list[int] = []
    for module in modules:
        for child in module.children:
            parents.setdefault(child, []).append(module.index)
        if module.params or module.buffers:
            stack.append(module.index)
    found: set[int] = set()
    while stack:
        module_index = stack.pop()
        if module_index not in found:
            found.add(module_index)
            stack.extend(parents.get(module_index, ()))
    return found
