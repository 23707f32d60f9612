"""Orders the items inside each row so that few lines cross, starting from the order of execution."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tl_viz._layout.problem import Freedom

if TYPE_CHECKING:
    from tl_viz._layout.problem import Level, Order
    from tl_viz._layout.ranks import Ranks, Wire

LONG_SPAN = 6
"""A line over more rows than this runs in a lane beside the content."""

SWEEPS = 4

Near = list[tuple[int, float]]
"""Neighbours of an item in the next row, each with where on it the line ends: from -0.5, its left edge, to 0.5."""


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
    """Whether it runs on the right."""
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
    lean: dict[int, int] = field(default_factory=dict[int, int])
    """Port of the frame -> where it should stand among the ports on its side."""


def order_rows(level: Level, ranks: Ranks) -> Rows:
    """Return the ordered rows of a level."""
    rows = _populate(level, ranks)
    if level.choice.order != "run":
        _rearrange(rows, ranks, level.choice.order)
    total = len(rows.position)
    upper: list[Near] = [[] for _ in range(total)]
    lower: list[Near] = [[] for _ in range(total)]
    _aim(level, rows)
    for links in rows.links:
        for link in links:
            upper[link.lower].append((link.upper, link.upper_offset))
            lower[link.upper].append((link.lower, link.lower_offset))
    if any(len(row) > 1 for row in rows.rows):
        _sweep(rows, upper, lower)
    _choose_sides(rows, level.choice.order == "mirrored")
    for net, right in level.choice.sides:
        _lead(rows, ranks, net, right)
    if level.choice.sides:
        _renumber(rows)
    return rows


def _aim(level: Level, rows: Rows) -> None:
    """Note where on a frame each line ends, in shares of its width, and where the ports of this frame should stand."""
    size = len(level.slots)
    for links in rows.links:
        for link in links:
            outs = level.slots[link.upper].outs if link.upper < size else None
            ins = level.slots[link.lower].ins if link.lower < size else None
            if outs is not None:
                link.upper_offset = outs[link.upper_port] / level.slots[link.upper].width - 0.5
            if ins is not None:
                link.lower_offset = ins[link.lower_port] / level.slots[link.lower].width - 0.5
    rows.lean = dict(enumerate(level.above, size)) | dict(enumerate(level.below, size + level.ins))


def _sweep(rows: Rows, upper: list[Near], lower: list[Near]) -> None:
    """Sort the rows by their neighbours, down and up in turn, and keep the order with the fewest crossings."""
    for row in rows.rows if rows.lean else rows.rows[1:]:
        _sort_row(row, upper, rows)
    best = _crossings(rows)
    kept = [list(row) for row in rows.rows]
    for sweep in range(SWEEPS):
        if best == 0:
            break
        near = lower if sweep % 2 == 0 else upper
        upward = sweep % 2 == 0
        for row in reversed(rows.rows if rows.lean else rows.rows[:-1]) if upward else rows.rows[not rows.lean :]:
            _sort_row(row, near, rows)
        crossings = _crossings(rows)
        if crossings < best:
            best = crossings
            kept = [list(row) for row in rows.rows]
    rows.rows = kept
    _renumber(rows)


def _renumber(rows: Rows) -> None:
    for row in rows.rows:
        for place, item in enumerate(row):
            rows.position[item] = place


def _rearrange(rows: Rows, ranks: Ranks, order: Order) -> None:
    """Turn every row round, or put what is on the main path in its middle."""
    main = {*ranks.main_in, *ranks.main_in.values()}
    for number, row in enumerate(rows.rows):
        middle = next((item for item in row if item in main), -1)
        if order == "mirrored":
            row.reverse()
        elif middle >= 0:
            beside = [item for item in row if item != middle]
            half = len(beside) // 2
            rows.rows[number] = [*beside[:half], middle, *beside[half:]]
    _renumber(rows)


def _lead(rows: Rows, ranks: Ranks, net: int, right: bool) -> None:
    """Lead the line of a net along one side of the main path."""
    main = {*ranks.main_in, *ranks.main_in.values()}
    for lane in rows.lanes:
        if lane.net == net:
            lane.right = right
    for number, links in enumerate(rows.links):
        for link in links:
            if link.net == net and link.lower >= rows.bends and link.lower not in main:
                row = rows.rows[number]
                row.remove(link.lower)
                middle = next((place for place, item in enumerate(row) if item in main), len(row) * right)
                row.insert(middle + right, link.lower)


def freedom(rows: Rows, ranks: Ranks) -> Freedom | None:
    """Return what can be chosen in a level whose rows are ordered; None where everything stands below each other."""
    if not rows.lanes and all(len(row) < 2 for row in rows.rows):
        return None
    main = {*ranks.main_in, *ranks.main_in.values()}
    right: dict[int, bool] = {lane.net: lane.right for lane in rows.lanes}
    for number, links in enumerate(rows.links):
        for link in links:
            if link.lower >= rows.bends and link.lower not in main:
                middle = next((item for item in rows.rows[number] if item in main), None)
                right[link.net] = middle is None or rows.position[link.lower] > rows.position[middle]
    around = [
        right[wire.net]
        for wire in ranks.wires
        if wire.net in right and wire.source in main and any(item in main for item, _ in wire.forward)
    ]
    return Freedom(tuple(right.items()), min(sum(around), len(around) - sum(around)))


def _choose_sides(rows: Rows, mirrored: bool) -> None:
    """Lead every lane along the side on which it crosses fewer lines: on the right where both are alike, or else on the left."""
    for lane in rows.lanes:
        left = right = 0
        at = rows.position[lane.source]
        for link in rows.links[lane.last if lane.back else lane.first]:
            if link.net != lane.net:
                left += rows.position[link.upper] < at
                right += rows.position[link.upper] > at
        for gap, taps in lane.taps.items():
            at = min(rows.position[item] for item, _ in taps)
            end = max(rows.position[item] for item, _ in taps)
            for link in rows.links[gap]:
                if link.net != lane.net:
                    left += rows.position[link.lower] < end
                    right += rows.position[link.lower] > at
        lane.right = right < left + (not mirrored)


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


def _sort_row(row: list[int], neighbours: list[Near], rows: Rows) -> None:
    if len(row) < 2:
        return
    position, lean = rows.position, rows.lean
    weight: dict[int, float] = {}
    for place, item in enumerate(row):
        near = neighbours[item]
        weight[item] = (
            sum(position[other] + aside for other, aside in near) / len(near) if near else lean.get(item, float(place))
        )
    row.sort(key=weight.__getitem__)
    for place, item in enumerate(row):
        position[item] = place


def _crossings(rows: Rows) -> int:
    count = 0
    position = rows.position
    for links in rows.links:
        if len(links) < 2:
            continue
        count += _inversions(
            [(position[link.upper] + link.upper_offset, position[link.lower] + link.lower_offset) for link in links]
        )
    for row in (rows.rows[0], rows.rows[-1]) if rows.lean else ():
        if row and row[0] in rows.lean:
            count += _inversions([(rows.lean[item], position[item]) for item in row])
    return count


def _inversions(pairs: list[tuple[float, float]]) -> int:
    """Return how many lines cross, each given by its upper and its lower end."""
    count = 0
    seen: list[float] = []
    for _, low in sorted(pairs):
        count += len(seen) - bisect_right(seen, low)
        insort(seen, low)
    return count
