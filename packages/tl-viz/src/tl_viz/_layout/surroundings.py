"""What a level knows of the surroundings of the frames in it: from where their ports are reached, and to where they lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._layout.problem import Level, Sides
    from tl_viz._layout.rows import Rows


def surroundings(level: Level, rows: Rows, x: list[float]) -> tuple[Sides | None, ...]:
    """Return for each child of a level that is a frame with several ports on a side what lies above and below its ports.

    Args:
        level: the level.
        rows: its rows, with lanes that have their places.
        x: centre of each item.
    """
    above: dict[tuple[int, int], float] = {}
    below: dict[tuple[int, int], list[float]] = {}
    for links in rows.links:
        for link in links:
            above[link.lower, link.lower_port] = x[link.upper] + link.upper_offset
            below.setdefault((link.upper, link.upper_port), []).append(x[link.lower] + link.lower_offset)
    for lane in rows.lanes:
        for taps in lane.taps.values():
            for item, port in taps:
                above[item, port] = lane.x
        below.setdefault((lane.source, lane.source_port), []).append(lane.x)
    found: list[Sides | None] = []
    for item, slot in enumerate(level.slots):
        if slot.ins is None or slot.outs is None or max(len(slot.ins), len(slot.outs)) < 2:
            found.append(None)
            continue
        tops = [above.get((item, port), x[item]) for port in range(len(slot.ins))]
        feet = [below.get((item, port), [x[item]]) for port in range(len(slot.outs))]
        found.append((_ranked(tops), _ranked([sum(ways) / len(ways) for ways in feet])))
    return tuple(found)


def _ranked(places: list[float]) -> tuple[int, ...]:
    """Return the order of places from left to right: frames that are alike and reached in one order stay alike."""
    order = sorted(set(places))
    return tuple([order.index(place) for place in places])
