"""Decides where on a node each line begins and ends, once the order inside the rows is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._layout.rows import Lane, Link, Rows

if TYPE_CHECKING:
    from tl_viz._layout.problem import Level
    from tl_viz._layout.ranks import Ranks

SPREAD = 14.0
"""Distance between two lines that end at one node."""

CORNER = 12.0
"""Distance that a line keeps from the corners of a node."""
SAME = 0.01

LaneEnds = dict[tuple[int, int], float]
"""(number of the lane, item) -> offset of the lane's end from the centre of the item; -1 - lane for its source."""


def place_ports(level: Level, ranks: Ranks, rows: Rows) -> LaneEnds:
    """Set the offsets of all links, and return those of the lanes."""
    size = len(level.slots)
    arriving: dict[int, list[tuple[float, int, Link | Lane]]] = {}
    leaving: dict[int, list[tuple[float, int, Link | Lane]]] = {}
    for links in rows.links:
        for link in links:
            arriving.setdefault(link.lower, []).append((float(rows.position[link.upper]), link.net, link))
            leaving.setdefault(link.upper, []).append((float(rows.position[link.lower]), link.net, link))
    for lane in rows.lanes:
        side = 1e9 if lane.right else -1e9
        leaving.setdefault(lane.source, []).append((side, lane.net, lane))
        for taps in lane.taps.values():
            for item, _ in taps:
                arriving.setdefault(item, []).append((side, lane.net, lane))
    ends: LaneEnds = {}
    numbers = {id(lane): index for index, lane in enumerate(rows.lanes)}
    for item, lines in arriving.items():
        if item < size:
            _arrive(level, ranks, numbers, item, lines, ends)
    for item, lines in leaving.items():
        if item < size:
            _leave(level, ranks, numbers, item, lines, ends)
    return ends


def _arrive(
    level: Level,
    ranks: Ranks,
    numbers: dict[int, int],
    item: int,
    lines: list[tuple[float, int, Link | Lane]],
    ends: LaneEnds,
) -> None:
    slot = level.slots[item]
    if slot.ins is not None:
        for _, _, line in lines:
            if isinstance(line, Link):
                line.lower_offset = slot.ins[line.lower_port] - slot.width / 2
            else:
                port = next(port for taps in line.taps.values() for other, port in taps if other == item)
                ends[numbers[id(line)], item] = slot.ins[port] - slot.width / 2
        return
    if len(lines) > 1:
        lines.sort(key=lambda entry: entry[:2])
    main = ranks.main_in.get(item)
    offsets = _spread(
        len(lines),
        slot.width / 2,
        next(
            (index for index, (_, _, line) in enumerate(lines) if isinstance(line, Link) and line.upper == main),
            None,
        ),
    )
    for offset, (_, _, line) in zip(offsets, lines, strict=True):
        if isinstance(line, Link):
            line.lower_offset = offset
        else:
            ends[numbers[id(line)], item] = offset


def _leave(
    level: Level,
    ranks: Ranks,
    numbers: dict[int, int],
    item: int,
    lines: list[tuple[float, int, Link | Lane]],
    ends: LaneEnds,
) -> None:
    slot = level.slots[item]
    nets = sorted({net: side for side, net, _ in lines}.items(), key=lambda pair: pair[1])
    main = {line.net for _, _, line in lines if isinstance(line, Link) and ranks.main_in.get(line.lower) == item}
    middle = next((index for index, (net, _) in enumerate(nets) if net in main), None)
    places = dict(zip((net for net, _ in nets), _spread(len(nets), slot.width / 2, middle), strict=True))
    for _, net, line in lines:
        port = line.upper_port if isinstance(line, Link) else line.source_port
        offset = places[net] if slot.outs is None else slot.outs[port] - slot.width / 2
        if isinstance(line, Link):
            line.upper_offset = offset
        else:
            ends[-1 - numbers[id(line)], item] = offset


def slide_ports(level: Level, rows: Rows, x: list[float]) -> None:
    """Let the only line that leaves a node, or enters it, do so beside its middle where the line is straight then."""
    size = len(level.slots)
    gives, reads = [0] * size, [0] * size
    links = [link for links in rows.links for link in links]
    for item, other in [(link.upper, link.lower) for link in links] + [
        (lane.source, item) for lane in rows.lanes for taps in lane.taps.values() for item, _ in taps
    ]:
        if item < size:
            gives[item] += 1
        if other < size:
            reads[other] += 1
    for link in links:
        aside = x[link.lower] + link.lower_offset - x[link.upper] - link.upper_offset
        if abs(aside) < SAME:
            continue
        if abs(link.upper_offset + aside) <= _reach(level, link.upper, gives, reads):
            link.upper_offset += aside
        elif abs(link.lower_offset - aside) <= _reach(level, link.lower, reads, gives):
            link.lower_offset -= aside


def _reach(level: Level, item: int, own: list[int], others: list[int]) -> float:
    """Return how far from its middle the only line on one side of a node may end; less than 0 where there are more, or no node.

    A node without lines on its other side may be round.
    """
    if item >= len(level.slots) or level.slots[item].ins is not None or own[item] != 1:
        return -1.0
    slot = level.slots[item]
    return (slot.narrow or slot.width) / 2 - (CORNER if others[item] else max(CORNER, slot.height / 2))


def _spread(count: int, half: float, middle: int | None) -> list[float]:
    """Return `count` offsets around the centre; the line numbered `middle` meets the centre itself."""
    if count == 1:
        return [0.0]
    centre = (count - 1) / 2 if middle is None else float(middle)
    step = min(SPREAD, (half - 8) / max(centre, count - 1 - centre))
    return [(index - centre) * step for index in range(count)]
