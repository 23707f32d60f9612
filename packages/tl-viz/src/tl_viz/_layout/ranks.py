"""Gives every child of a level its rank: which row it stands in, and which path through the rows is the main one."""

from __future__ import annotations

from dataclasses import dataclass

from tl_viz._layout.problem import OUTSIDE, Level

HUB_READERS = 8
"""A tensor with at least this many readers in one level is a hub: it gets a bus, and ranks nobody."""

ENTERING = 1_000_000
"""Weight of an input: the main path begins at one wherever it can."""


@dataclass(slots=True)
class Wire:
    """One net with its ends as items, split into what runs forward and what runs back."""

    net: int
    source: int
    source_port: int
    forward: list[tuple[int, int]]
    back: list[tuple[int, int]]
    hub: bool


@dataclass(slots=True)
class Ranks:
    """The rows of a level. Items are the children, then the input ports, then the output ports."""

    rank: list[int]
    rows: int
    wires: list[Wire]
    loose: list[int]
    """Children without any line, which stand apart."""
    main_in: dict[int, int]
    """Item on the main path -> the item before it."""


def assign_ranks(level: Level) -> Ranks:
    """Return the rows of a level by longest path, with feeders moved down to their readers."""
    wires = _wires(level)
    size = len(level.slots)
    total = size + level.ins + level.outs
    by_source: list[list[Wire]] = [[] for _ in range(total)]
    touched = [False] * total
    for wire in wires:
        by_source[wire.source].append(wire)
        touched[wire.source] = True
        for item, _ in wire.forward:
            touched[item] = True
        for item, _ in wire.back:
            touched[item] = True
    rank = [1 if level.ins else 0] * total
    for item in range(size, size + level.ins):
        rank[item] = 0
    for item in (*range(size, size + level.ins), *range(size)):
        below = rank[item] + 1
        for wire in by_source[item]:
            for target, _ in wire.forward:
                if rank[target] < below:
                    rank[target] = below
    loose = [item for item in range(size) if not touched[item]]
    _lower_feeders(level, by_source, rank, wires)
    main_in = _main_path(level, by_source, loose)
    _lower_sides(level, wires, rank, main_in)
    rows = 1 + max((rank[item] for item in range(size + level.ins) if touched[item]), default=-1)
    for item in range(size + level.ins, total):
        rank[item] = rows
    if level.outs:
        rows += 1
    return Ranks(rank, rows, wires, loose, main_in)


def _wires(level: Level) -> list[Wire]:
    size = len(level.slots)
    wires: list[Wire] = []
    for index, net in enumerate(level.nets):
        child, port = net.source
        source = size + port if child == OUTSIDE else child
        forward: list[tuple[int, int]] = []
        back: list[tuple[int, int]] = []
        for target, target_port in net.targets:
            if target == OUTSIDE:
                forward.append((size + level.ins + target_port, target_port))
            elif child == OUTSIDE or target > child:
                forward.append((target, target_port))
            else:
                back.append((target, target_port))
        wires.append(Wire(index, source, port, forward, back, len(forward) >= HUB_READERS))
    return wires


def _lower_feeders(level: Level, by_source: list[list[Wire]], rank: list[int], wires: list[Wire]) -> None:
    """Move a child that only hubs or other feeders lead to down to the row just above its first reader."""
    size = len(level.slots)
    feeder = _feeders(level, by_source, wires)
    for item in reversed(range(size)):
        if not feeder[item]:
            continue
        readers = [rank[target] for wire in by_source[item] for target, _ in wire.forward if target < size]
        if readers:
            rank[item] = max(rank[item], min(readers) - 1)


def _lower_sides(level: Level, wires: list[Wire], rank: list[int], main_in: dict[int, int]) -> None:
    """Move a child beside the main path down to its first reader where that makes the lines shorter.

    What it reads comes by anyway where another reads it further down.
    """
    size = len(level.slots)
    leaving: dict[int, list[Wire]] = {}
    arriving: dict[int, list[Wire]] = {}
    for wire in wires:
        leaving.setdefault(wire.source, []).append(wire)
        for item, _ in wire.forward:
            arriving.setdefault(item, []).append(wire)
    main = {*main_in, *main_in.values()}
    for item in reversed(range(size)):
        out = leaving.get(item, ())
        targets = [rank[target] for wire in out for target, _ in wire.forward]
        if item in main or not targets or min(targets) - rank[item] < 2:
            continue
        lowest = min(targets) - 1
        longer = 0
        for wire in arriving.get(item, ()):
            others = [rank[other] for other, _ in wire.forward if other != item]
            longer += max(0, lowest - max([rank[item], *others]))
        if longer < len(out) * (lowest - rank[item]):
            rank[item] = lowest


def _feeders(level: Level, by_source: list[list[Wire]], wires: list[Wire]) -> list[bool]:
    size = len(level.slots)
    feeder = [True] * size
    for wire in wires:
        enters = wire.source >= size or level.slots[wire.source].weight >= ENTERING
        if enters and not wire.hub:
            _unmark(feeder, wire)
    for item in range(size):
        if not feeder[item]:
            for wire in by_source[item]:
                if not wire.hub:
                    _unmark(feeder, wire)
    return feeder


def _unmark(feeder: list[bool], wire: Wire) -> None:
    for target, _ in wire.forward:
        if target < len(feeder):
            feeder[target] = False


def _main_path(level: Level, by_source: list[list[Wire]], loose: list[int]) -> dict[int, int]:
    """Return the heaviest path, as item -> item before it."""
    size = len(level.slots)
    first_out = size + level.ins
    weights = [slot.weight for slot in level.slots] + [0] * (level.ins + level.outs)
    best = list(weights)
    for item in range(size, first_out):
        best[item] = ENTERING
    before: dict[int, int] = {}
    for item in (*range(size, first_out), *range(size)):
        for wire in by_source[item]:
            for target, _ in wire.forward:
                reached = best[item] + weights[target]
                if reached > best[target] or target not in before:
                    best[target] = reached
                    before[target] = item
    if level.outs:
        ends = range(first_out, first_out + level.outs)
    else:
        apart = set(loose)
        ends = [item for item in range(size) if item not in apart]
    end = max(ends, key=lambda item: (best[item], -item), default=-1)
    main: dict[int, int] = {}
    while end in before:
        main[end] = before[end]
        end = before[end]
    return main
