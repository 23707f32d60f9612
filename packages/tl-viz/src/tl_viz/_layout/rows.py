"""Orders the items inside each row so that few lines cross, starting from the order of execution."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._layout.problem import Level
    from tl_viz._layout.ranks import Ranks, Wire

LONG_SPAN = 6
"""A line over more rows than this runs in a lane beside the content."""

SWEEPS = 4


@dataclass(slots=True)
class Lane:
    """A vertical line beside the content. `first` and `last` are gaps: gap g lies above row g."""

    net: int
    source: int
    source_port: int
    first: int
    last: int
    taps: dict[int, list[tuple[int, int]]]
    """Gap -> the items and ports below it that the lane leads to."""
    back: bool = False
    right: bool = False
    """Whether it runs on the right: loops do, and what begins to the right of the main path."""
    x: float = 0.0


@dataclass(slots=True)
class Link:
    """One piece of a net between two neighbouring rows."""

    net: int
    upper: int
    lower: int
    upper_port: int
    lower_port: int
    upper_offset: float = 0.0
    lower_offset: float = 0.0


@dataclass(slots=True)
class Rows:
    """Rows of items and bends. A bend is an invisible item where a long line passes a row."""

    rows: list[list[int]]
    position: list[int]
    links: list[list[Link]]
    """Gap -> links, where gap g lies between rows g-1 and g."""
    bends: int
    """Items from this number on are bends."""
    lanes: list[Lane] = field(default_factory=list[Lane])


def order_rows(level: Level, ranks: Ranks) -> Rows:
    """Return the ordered rows of a level."""
    rows = _populate(level, ranks)
    total = len(rows.position)
    upper: list[list[int]] = [[] for _ in range(total)]
    lower: list[list[int]] = [[] for _ in range(total)]
    for links in rows.links:
        for link in links:
            upper[link.lower].append(link.upper)
            lower[link.upper].append(link.lower)
    if any(len(row) > 1 for row in rows.rows):
        rows.rows = _sweep(rows, upper, lower)
        _renumber(rows)
    _choose_sides(rows, ranks)
    return rows


def _sweep(rows: Rows, upper: list[list[int]], lower: list[list[int]]) -> list[list[int]]:
    """Sort the rows by their neighbours, down and up in turn, and return the order with the fewest crossings."""
    for row in rows.rows[1:]:
        _sort_row(row, upper, rows.position)
    best = _crossings(rows)
    kept = [list(row) for row in rows.rows]
    for sweep in range(SWEEPS):
        if best == 0:
            break
        near = lower if sweep % 2 == 0 else upper
        for row in reversed(rows.rows[:-1]) if sweep % 2 == 0 else rows.rows[1:]:
            _sort_row(row, near, rows.position)
        crossings = _crossings(rows)
        if crossings < best:
            best = crossings
            kept = [list(row) for row in rows.rows]
    return kept


def _renumber(rows: Rows) -> None:
    for row in rows.rows:
        for place, item in enumerate(row):
            rows.position[item] = place


def _choose_sides(rows: Rows, ranks: Ranks) -> None:
    main = {*ranks.main_in, *ranks.main_in.values()}
    for lane in rows.lanes:
        if not lane.back and lane.source not in main:
            row = rows.rows[ranks.rank[lane.source]]
            lane.right = any(item in main for item in row[: rows.position[lane.source]])


def _populate(level: Level, ranks: Ranks) -> Rows:
    size = len(level.slots)
    loose = set(ranks.loose)
    lines: list[list[int]] = [[] for _ in range(ranks.rows)]
    for item in (*range(size, size + level.ins), *range(size)):
        if item not in loose:
            lines[ranks.rank[item]].append(item)
    for item in range(size + level.ins, len(ranks.rank)):
        lines[ranks.rank[item]].append(item)
    rows = Rows(lines, [0] * len(ranks.rank), [[] for _ in range(ranks.rows + 1)], len(ranks.rank))
    for wire in ranks.wires:
        _thread(wire, ranks, rows)
    _renumber(rows)
    return rows


def _thread(wire: Wire, ranks: Ranks, rows: Rows) -> None:
    """Lay one net through the rows: links and bends for what is near, lanes for what is far or runs back."""
    start = ranks.rank[wire.source]
    near: list[tuple[int, int]] = []
    far: dict[int, list[tuple[int, int]]] = {}
    spread = max((ranks.rank[item] for item, _ in wire.forward), default=start) - start
    reach = 1 if wire.hub and spread > 2 else LONG_SPAN
    for item, port in wire.forward:
        if ranks.rank[item] - start <= reach:
            near.append((item, port))
        else:
            far.setdefault(ranks.rank[item], []).append((item, port))
    if far:
        rows.lanes.append(Lane(wire.net, wire.source, wire.source_port, start + 1, max(far), far))
    if wire.back:
        taps: dict[int, list[tuple[int, int]]] = {}
        for item, port in wire.back:
            taps.setdefault(ranks.rank[item], []).append((item, port))
        rows.lanes.append(
            Lane(wire.net, wire.source, wire.source_port, min(taps), start + 1, taps, back=True, right=True)
        )
    near.sort(key=lambda end: ranks.rank[end[0]])
    item, port, row = wire.source, wire.source_port, start
    bends: list[int] = []
    for target, target_port in near:
        while ranks.rank[target] - row > 1:
            bend = len(rows.position)
            rows.position.append(0)
            row += 1
            rows.rows[row].append(bend)
            rows.links[row].append(Link(wire.net, item, bend, port, 0))
            item, port = bend, 0
            bends.append(bend)
        if bends and ranks.main_in.get(target) == wire.source:
            _follow(ranks.main_in, wire.source, bends, target)
        rows.links[row + 1].append(Link(wire.net, item, target, port, target_port))


def _follow(main_in: dict[int, int], source: int, bends: list[int], target: int) -> None:
    """Lead the main path from `source` to `target` over the bends between them."""
    for bend in bends:
        main_in[bend] = source
        source = bend
    main_in[target] = source


def _sort_row(row: list[int], neighbours: list[list[int]], position: list[int]) -> None:
    if len(row) < 2:
        return
    weight: dict[int, float] = {}
    for place, item in enumerate(row):
        near = neighbours[item]
        weight[item] = sum(position[other] for other in near) / len(near) if near else float(place)
    row.sort(key=weight.__getitem__)
    for place, item in enumerate(row):
        position[item] = place


def _crossings(rows: Rows) -> int:
    count = 0
    position = rows.position
    for links in rows.links:
        if len(links) < 2:
            continue
        ends = sorted((position[link.upper], position[link.lower]) for link in links)
        seen: list[int] = []
        for _, low in ends:
            count += len(seen) - bisect_right(seen, low)
            insort(seen, low)
    return count
