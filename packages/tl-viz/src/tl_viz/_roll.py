"""Draws every place of the model once: which edges lead on, and which ones a loop carries to its next round."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_core import Op

Edges = list[dict[int, None]]
"""Layer -> the layers that it reads, in order."""


def roll(ops: list[Op]) -> tuple[list[Op], list[tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """Return the first pass of every layer, what each reads of its own round, and what it reads of the round before.

    An edge is carried where it closes a ring. The layers are returned in an order in which every other edge leads on.
    """
    firsts = [op for op in ops if op.pass_number == 1]
    reads = _edges(ops, firsts)
    ring = _rings(reads)
    order = _order(reads, ring)
    place = {layer: at for at, layer in enumerate(order)}
    onward: list[tuple[int, ...]] = []
    back: dict[int, tuple[int, ...]] = {}
    for at, layer in enumerate(order):
        sources = [place[source] for source in reads[layer]]
        onward.append(tuple([source for source in sources if source < at]))
        carried = tuple([source for source in sources if source >= at])
        if carried:
            back[at] = carried
    return [firsts[layer] for layer in order], onward, back


def _edges(ops: list[Op], firsts: list[Op]) -> Edges:
    place = {op.layer_label: at for at, op in enumerate(firsts)}
    layer_of = {op.label: place[op.layer_label] for op in ops if op.layer_label in place}
    reads: Edges = [{} for _ in firsts]
    for op in ops:
        at = layer_of.get(op.label)
        if at is not None:
            for name in op.parents:
                source = layer_of.get(name)
                if source is not None:
                    reads[at][source] = None
    return reads


def _rings(reads: Edges) -> list[int]:
    """Return a number for each layer that it shares with exactly those it can reach and be reached from (Tarjan)."""
    total = len(reads)
    if all(source < at for at, sources in enumerate(reads) for source in sources):
        return list(range(total))
    number, low, ring = [-1] * total, [0] * total, [-1] * total
    path: list[int] = []
    counter = 0
    for start in range(total):
        if number[start] >= 0:
            continue
        work = [(start, iter(reads[start]))]
        number[start] = low[start] = counter
        counter += 1
        path.append(start)
        while work:
            layer, sources = work[-1]
            for source in sources:
                if number[source] < 0:
                    number[source] = low[source] = counter
                    counter += 1
                    path.append(source)
                    work.append((source, iter(reads[source])))
                    break
                if ring[source] < 0:
                    low[layer] = min(low[layer], number[source])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[layer])
                if low[layer] == number[layer]:
                    _close(path, layer, ring)
    return ring


def _close(path: list[int], layer: int, ring: list[int]) -> None:
    while True:
        member = path.pop()
        ring[member] = layer
        if member == layer:
            return


def _order(reads: Edges, ring: list[int]) -> list[int]:
    """Return the layers so that edges between rings lead on, as near as can be to the order of execution."""
    members: dict[int, list[int]] = {}
    for layer, number in enumerate(ring):
        members.setdefault(number, []).append(layer)
    waiting = dict.fromkeys(members, 0)
    readers: dict[int, list[int]] = {number: [] for number in members}
    for layer, sources in enumerate(reads):
        for source in sources:
            if ring[source] != ring[layer]:
                waiting[ring[layer]] += 1
                readers[ring[source]].append(ring[layer])
    ready = [(members[number][0], number) for number, count in waiting.items() if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, number = heappop(ready)
        order += members[number]
        for reader in readers[number]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, (members[reader][0], reader))
    return order
