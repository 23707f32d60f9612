"""Sets several items of the main path beside one high frame, instead of one that stands in a gap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tl_viz._layout.problem import OUTSIDE, Level, Net, Path, Placed, Slot
from tl_viz._layout.route import INNER

if TYPE_CHECKING:
    from tl_viz._layout.problem import Sides
    from tl_viz._layout.ranks import Ranks

OVER = 12.0
"""So much higher than what it stands beside a stack may be."""


@dataclass(frozen=True, slots=True)
class Stacked:
    """A level in which chains of nodes are one node each."""

    level: Level
    members: list[list[int]]
    """Child of the new level -> the children that it stands for, from top to bottom."""
    nets: list[int]
    """Net of the new level -> the net that it is."""
    inner: dict[int, list[int]]
    """Child of the new level -> the nets between its members."""


def stack_chains(level: Level, ranks: Ranks) -> Stacked | None:
    """Return the level with chains stacked that fit beside something higher in their first row; None if there are none."""
    size = len(level.slots)
    rows: list[list[int]] = [[] for _ in range(ranks.rows)]
    loose = set(ranks.loose)
    for item in range(size):
        if item not in loose:
            rows[ranks.rank[item]].append(item)
    if all(len(row) < 2 for row in rows):
        return None
    follower = _followers(level, ranks)
    chains: dict[int, list[int]] = {}
    for row in rows:
        first = next((item for item in row if item in follower and level.slots[item].ins is None), -1)
        if len(row) < 2 or first < 0:
            continue
        room = max(level.slots[item].height for item in row) + OVER
        chain, height = [first], level.slots[first].height
        while chain[-1] in follower:
            below = follower[chain[-1]]
            height += INNER.straight + level.slots[below].height
            if height > room or len(rows[ranks.rank[below]]) > 1 or ranks.rank[below] != ranks.rank[chain[-1]] + 1:
                break
            chain.append(below)
        if len(chain) > 1:
            chains[first] = chain
    return _merged(level, chains) if chains else None


def _followers(level: Level, ranks: Ranks) -> dict[int, int]:
    """Return for each item of the main path the node that alone reads it and reads nothing else."""
    size = len(level.slots)
    reads: dict[int, int] = {}
    gives: dict[int, int] = {}
    for wire in ranks.wires:
        gives[wire.source] = gives.get(wire.source, 0) + len(wire.forward) + len(wire.back)
        for item, _ in (*wire.forward, *wire.back):
            reads[item] = reads.get(item, 0) + 1
    found: dict[int, int] = {}
    for wire in ranks.wires:
        net = level.nets[wire.net]
        if len(wire.forward) != 1 or wire.back or net.worded:
            continue
        below = wire.forward[0][0]
        nodes = wire.source < size and below < size and level.slots[below].ins is None
        if nodes and ranks.main_in.get(below) == wire.source and gives[wire.source] == 1 and reads[below] == 1:
            found[wire.source] = below
    return found


def _merged(level: Level, chains: dict[int, list[int]]) -> Stacked:
    upper = {item for chain in chains.values() for item in chain[:-1]}
    lower = {item: chain[0] for chain in chains.values() for item in chain[1:]}
    members: list[list[int]] = []
    number: dict[int, int] = {OUTSIDE: OUTSIDE}
    slots: list[Slot] = []
    for item, slot in enumerate(level.slots):
        if item in lower:
            number[item] = number[lower[item]]
            continue
        chain = chains.get(item, [item])
        number[item] = len(members)
        members.append(chain)
        if len(chain) > 1:
            inside = [level.slots[one] for one in chain]
            height = sum(one.height for one in inside) + INNER.straight * (len(chain) - 1)
            slot = Slot(
                max(one.width for one in inside),
                height,
                None,
                None,
                min(inside[0].width, inside[-1].width),
                sum(one.weight for one in inside),
            )
        slots.append(slot)
    nets: list[Net] = []
    names: list[int] = []
    inner: dict[int, list[int]] = {}
    for index, net in enumerate(level.nets):
        source, port = net.source
        if source in upper:
            inner.setdefault(number[source], []).append(index)
            continue
        targets = tuple([(number[target], end) for target, end in net.targets])
        nets.append(replace(net, source=(number[source], port), targets=targets))
        names.append(index)
    sides = tuple([(names.index(net), right) for net, right in level.choice.sides if net in names])
    choice = replace(level.choice, sides=sides)
    return Stacked(replace(level, slots=tuple(slots), nets=tuple(nets), choice=choice), members, names, inner)


def unstack(level: Level, stacked: Stacked, placed: Placed) -> Placed:
    """Return the places of all children of a level whose stacked form has been solved."""
    corners: list[tuple[float, float]] = [(0.0, 0.0)] * len(level.slots)
    paths = [replace(path, net=stacked.nets[path.net]) for path in placed.paths]
    for child, (chain, (left, top)) in enumerate(zip(stacked.members, placed.corners, strict=True)):
        middle, y = left + stacked.level.slots[child].width / 2, top
        for item in chain:
            slot = level.slots[item]
            corners[item] = (middle - slot.width / 2, y)
            y += slot.height + INNER.straight
        paths += [
            Path(net, ((middle, corners[below][1] - INNER.straight), (middle, corners[below][1])), True)
            for net, below in zip(stacked.inner.get(child, ()), chain[1:], strict=True)
        ]
    around: list[Sides | None] = [None] * len(level.slots) if placed.around else []
    for chain, sides in zip(stacked.members, placed.around, strict=False):
        around[chain[0]] = sides
    freedom = placed.freedom
    if freedom is not None:
        freedom = replace(freedom, lines=tuple([(stacked.nets[net], right) for net, right in freedom.lines]))
    return replace(
        placed,
        corners=tuple(corners),
        paths=tuple(paths),
        labels=tuple([(stacked.nets[net], x, y) for net, x, y in placed.labels]),
        around=tuple(around),
        freedom=freedom,
    )
