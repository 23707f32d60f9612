"""Moves solved frames to their places in the picture."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from operator import add
from typing import TYPE_CHECKING

from tl_viz._layout.frames import SIDE
from tl_viz._layout.geometry import Geometry, Line, Rect
from tl_viz._layout.title import MIDDLE
from tl_viz._measure import EDGE_LABEL_SIZE, part_places, part_widths, text_width
from tl_viz._scene import Node

if TYPE_CHECKING:
    from tl_viz._layout.frames import Work
    from tl_viz._layout.problem import Placed, TitlePlaces


def assemble(work: Work, placed: list[Placed | None]) -> Geometry:
    """Move every solved frame to its place."""
    pieced = work.pieced
    rects: dict[str, Rect] = {}
    titles: dict[str, TitlePlaces] = {}
    lines: list[Line] = []
    labels: list[tuple[int, float, float]] = []
    shapes: dict[int, tuple[list[tuple[int, tuple[float, ...], bool]], int]] = {}
    corner: list[tuple[float, float]] = [(0.0, 0.0)] * len(pieced.items)
    for index, item in enumerate(pieced.items):
        x, y = corner[index]
        solved = placed[index]
        if isinstance(item, Node):
            width, height = (item.height, item.width) if work.sideways else (item.width, item.height)
            rects[item.key] = Rect(x, y, width, height)
            continue
        if solved is None:
            continue
        rects[item.key] = Rect(x, y, solved.width, solved.height)
        if item.title:
            titles[item.key] = solved.title or tuple([(x, MIDDLE) for x in part_places(part_widths(item.title), SIDE)])
        for child, (left, top) in zip(pieced.children[index], solved.corners, strict=True):
            corner[child] = (x + left, y + top)
        edges = list(pieced.nets[index])
        known = shapes.get(id(solved))
        if known is None:
            flat = [(path.net, tuple(chain.from_iterable(path.points)), path.arrow) for path in solved.paths]
            known = shapes[id(solved)] = (flat, max([len(coords) // 2 for _, coords, _ in flat], default=0))
        flat, longest = known
        move = (x, y) * longest
        lines += [Line(edges[net], tuple(map(add, coords, move)), arrow) for net, coords, arrow in flat]
        labels += [(edges[net], px + x, py + y) for net, px, py in solved.labels]
    root = rects[pieced.items[0].key]
    return Geometry(
        root.width, root.height, rects, titles, tuple(lines), tuple(labels), *_told_apart(work, placed, corner)
    )


def _told_apart(
    work: Work, placed: list[Placed | None], corner: list[tuple[float, float]]
) -> tuple[tuple[tuple[Rect, str], ...], tuple[tuple[str, Rect], ...]]:
    """Return the words at the ends of all columns, and what lies between them."""
    marks: list[tuple[Rect, str]] = []
    gaps: list[tuple[str, Rect]] = []
    for item, (x, y), solved in zip(work.pieced.items, corner, placed, strict=True):
        if solved is None or solved.columns is None:
            continue
        found = solved.columns
        for text, areas in zip(work.words, (found.feet, found.heads), strict=True):
            marks += [(Rect(left + x, top + y, width, height), text) for left, top, width, height in areas]
        gaps += [(item.key, Rect(left + x, top + y, width, height)) for left, top, width, height in found.gaps]
    return tuple(marks), tuple(gaps)


def set_texts(work: Work, geometry: Geometry) -> Geometry:
    """Turn the places of titles, which were counted from their frames, into places in the picture, and let all texts begin there."""
    titles = {
        key: tuple([(geometry.rects[key].x + x, geometry.rects[key].y + y) for x, y in places])
        for key, places in geometry.titles.items()
    }
    edges = work.scene.edges
    halves = [text_width(edges[edge].label, EDGE_LABEL_SIZE) / 2 * work.sideways for edge, _, _ in geometry.labels]
    labels = tuple([(edge, x - half, y) for (edge, x, y), half in zip(geometry.labels, halves, strict=True)])
    return replace(geometry, titles=titles, labels=labels)
