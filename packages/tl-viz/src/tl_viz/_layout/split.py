"""Cuts the edges of a scene at the frames they pass, so that every frame becomes a small problem of its own."""

from __future__ import annotations

from dataclasses import dataclass

from tl_viz._layout.problem import OUTSIDE
from tl_viz._scene import Box, Node, Scene

Pieces = dict[int, tuple[tuple[int, int], dict[tuple[int, int], None]]]
"""Edge -> where it starts in a level and where it ends, as (child, port)."""


NO_PORTS: dict[int, int] = {}
NO_PIECES: Pieces = {}
NO_CHILDREN: list[int] = []


@dataclass(slots=True)
class Pieced:
    """A scene as arrays. Item 0 is the root; parents come before their children."""

    items: list[Node | Box]
    parent: list[int]
    place: list[int]
    """Place of an item among its siblings."""
    children: list[list[int]]
    nets: list[Pieces]
    """Box -> its pieces; nodes share an empty dictionary here and below."""
    ins: list[dict[int, int]]
    """Box -> edge -> number of the input port."""
    outs: list[dict[int, int]]
    leaving: list[int]
    """Node -> how many edges begin there."""

    def in_port(self, item: int, edge: int) -> int:
        """Return the number of the port by which an edge enters an item; nodes need none."""
        ports = self.ins[item]
        return 0 if ports is NO_PORTS else ports.setdefault(edge, len(ports))

    def out_port(self, item: int, edge: int) -> int:
        """Return the number of the port by which an edge leaves an item."""
        ports = self.outs[item]
        if ports is NO_PORTS:
            self.leaving[item] += 1
            return self.leaving[item] - 1
        return ports.setdefault(edge, len(ports))


def split_edges(scene: Scene) -> Pieced:
    """Return the scene cut into levels."""
    pieced = _flatten(scene)
    number = {item.key: index for index, item in enumerate(pieced.items)}
    for edge, one in enumerate(scene.edges):
        _split_edge(pieced, edge, number[one.source], [number[key] for key in one.targets])
    return pieced


def _flatten(scene: Scene) -> Pieced:
    pieced = Pieced([scene.root], [-1], [0], [], [], [], [], [])
    items, parent, place = pieced.items, pieced.parent, pieced.place
    index = 0
    while index < len(items):
        item = items[index]
        if isinstance(item, Box):
            first = len(items)
            count = len(item.children)
            items.extend(item.children)
            parent.extend([index] * count)
            place.extend(range(count))
            pieced.children.append(list(range(first, first + count)))
            pieced.nets.append({})
            pieced.ins.append({})
            pieced.outs.append({})
        else:
            pieced.children.append(NO_CHILDREN)
            pieced.nets.append(NO_PIECES)
            pieced.ins.append(NO_PORTS)
            pieced.outs.append(NO_PORTS)
        index += 1
    pieced.leaving.extend([0] * len(items))
    return pieced


def _split_edge(pieced: Pieced, edge: int, source: int, targets: list[int]) -> None:
    parent, place, nets = pieced.parent, pieced.place, pieced.nets
    home = parent[source]
    if len(targets) == 1:
        target = targets[0]
        if parent[target] == home:
            ends = {(place[target], pieced.in_port(target, edge)): None}
            nets[home][edge] = ((place[source], pieced.out_port(source, edge)), ends)
            return
    elif all(parent[target] == home for target in targets):
        ends = {(place[target], pieced.in_port(target, edge)): None for target in targets}
        nets[home][edge] = ((place[source], pieced.out_port(source, edge)), ends)
        return
    above: dict[int, int] = {}
    item = source
    while parent[item] >= 0:
        above[parent[item]] = item
        item = parent[item]
    for target in targets:
        item = target
        level = parent[item]
        known = False
        while level not in above and not known:
            known = edge in nets[level]
            if not known:
                nets[level][edge] = ((OUTSIDE, pieced.in_port(level, edge)), {})
            nets[level][edge][1][place[item], pieced.in_port(item, edge)] = None
            item, level = level, parent[level]
        if known:
            continue
        _leave_source(pieced, edge, source, level)
        inner = above[level]
        if edge not in nets[level]:
            nets[level][edge] = ((place[inner], pieced.out_port(inner, edge)), {})
        nets[level][edge][1][place[item], pieced.in_port(item, edge)] = None


def _leave_source(pieced: Pieced, edge: int, source: int, level: int) -> None:
    """Lead the edge from its source through every frame below `level`."""
    parent, place, nets = pieced.parent, pieced.place, pieced.nets
    item = source
    while parent[item] != level:
        frame = parent[item]
        if edge not in nets[frame]:
            nets[frame][edge] = ((place[item], pieced.out_port(item, edge)), {})
        nets[frame][edge][1][OUTSIDE, pieced.out_port(frame, edge)] = None
        item = frame
