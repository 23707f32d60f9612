"""Cuts the edges of a scene at the frames they pass, so that every frame becomes a small problem of its own."""

from __future__ import annotations

from dataclasses import dataclass

from tl_viz._layout.problem import OUTSIDE
from tl_viz._scene import Box, Node, Scene

Pieces = dict[int, tuple[tuple[int, int], dict[tuple[int, int], None]]]
"""Edge -> where it starts in a level and where it ends, as (child, port)."""


@dataclass(slots=True)
class Pieced:
    """A scene as arrays. Item 0 is the root; parents come before their children."""

    items: list[Node | Box]
    parent: list[int]
    place: list[int]
    """Place of an item among its siblings."""
    children: list[list[int]]
    nets: list[Pieces]
    ins: list[dict[int, int]]
    """Item -> edge -> number of the input port."""
    outs: list[dict[int, int]]


def split_edges(scene: Scene) -> Pieced:
    """Return the scene cut into levels."""
    pieced = _flatten(scene)
    number = {item.key: index for index, item in enumerate(pieced.items)}
    for edge, one in enumerate(scene.edges):
        _split_edge(pieced, edge, number[one.source], [number[key] for key in one.targets])
    return pieced


def _flatten(scene: Scene) -> Pieced:
    items: list[Node | Box] = [scene.root]
    parent, place = [-1], [0]
    children: list[list[int]] = [[]]
    index = 0
    while index < len(items):
        item = items[index]
        if isinstance(item, Box):
            for position, child in enumerate(item.children):
                children[index].append(len(items))
                items.append(child)
                parent.append(index)
                place.append(position)
                children.append([])
        index += 1
    total = len(items)
    return Pieced(
        items,
        parent,
        place,
        children,
        [{} for _ in range(total)],
        [{} for _ in range(total)],
        [{} for _ in range(total)],
    )


def _split_edge(pieced: Pieced, edge: int, source: int, targets: list[int]) -> None:
    parent, place, nets, ins, outs = (
        pieced.parent,
        pieced.place,
        pieced.nets,
        pieced.ins,
        pieced.outs,
    )
    home = parent[source]
    if all([parent[target] == home for target in targets]):
        ends: dict[tuple[int, int], None] = {}
        for target in targets:
            port = ins[target].setdefault(edge, len(ins[target]))
            ends[place[target], port] = None
        nets[home][edge] = ((place[source], outs[source].setdefault(edge, len(outs[source]))), ends)
        return
    above: dict[int, int] = {}
    item = source
    while parent[item] >= 0:
        above[parent[item]] = item
        item = parent[item]
    for target in targets:
        item = target
        level = parent[item]
        fresh = True
        while level not in above:
            known = edge in nets[level]
            if not known:
                port = ins[level].setdefault(edge, len(ins[level]))
                nets[level][edge] = ((OUTSIDE, port), {})
            end = (place[item], ins[item].setdefault(edge, len(ins[item])))
            nets[level][edge][1][end] = None
            if known:
                fresh = False
                break
            item, level = level, parent[level]
        if not fresh:
            continue
        _leave_source(pieced, edge, source, level)
        inner = above[level]
        if edge not in nets[level]:
            port = outs[inner].setdefault(edge, len(outs[inner]))
            nets[level][edge] = ((place[inner], port), {})
        end = (place[item], ins[item].setdefault(edge, len(ins[item])))
        nets[level][edge][1][end] = None


def _leave_source(pieced: Pieced, edge: int, source: int, level: int) -> None:
    """Lead the edge from its source through every frame below `level`."""
    parent, place, nets, outs = pieced.parent, pieced.place, pieced.nets, pieced.outs
    item = source
    while parent[item] != level:
        frame = parent[item]
        if edge not in nets[frame]:
            port = outs[item].setdefault(edge, len(outs[item]))
            nets[frame][edge] = ((place[item], port), {})
        end = (OUTSIDE, outs[frame].setdefault(edge, len(outs[frame])))
        nets[frame][edge][1][end] = None
        item = frame
