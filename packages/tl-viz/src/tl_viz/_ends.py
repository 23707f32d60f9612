"""The texts at the ends of lines that say which copies or rounds a tensor comes from and goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._layout import Geometry, Rect, Room, Wish
from tl_viz._measure import EDGE_LABEL_SIZE, END_SIZE, part_widths, text_width

if TYPE_CHECKING:
    from tl_viz._layout import Line
    from tl_viz._scene import Scene

CAPITAL = 0.76
"""Height of a capital letter as a share of the font size."""

SHEETS = 4.0
"""How far the sheets of a stack show from behind it, to the right and below."""

End = tuple[str, str, float, float]
"""Key of the node at the arrow, the text, its left end and its baseline."""


def place_ends(scene: Scene, geometry: Geometry) -> list[End]:
    """Return where each text stands, in pixels from the upper left corner of the layout."""
    if not any(edge.ends for edge in scene.edges):
        return []
    room = _room(scene, geometry)
    lines: dict[int, list[Line]] = {}
    for line in geometry.lines:
        if scene.edges[line.edge].ends:
            lines.setdefault(line.edge, []).append(line)
    found: list[End] = []
    for number, edge in enumerate(scene.edges):
        for target, text in zip(edge.targets, edge.ends, strict=bool(edge.ends)):
            way = _way(lines[number], geometry.rects[target]) if text else ()
            if way:
                height = END_SIZE * CAPITAL
                x, y = room.place(Wish(way, text_width(text, END_SIZE, bold=True), height))
                found.append((target, text, x, y + height))
    return found


def _room(scene: Scene, geometry: Geometry) -> Room:
    solid = [_with_sheets(geometry.rects[node.key], node.copies) for node in scene.nodes()]
    frames: list[Rect] = []
    for box in scene.boxes():
        frame = geometry.rects[box.key]
        frames += dict.fromkeys([frame, _with_sheets(frame, box.copies)])
        if box.title:
            places = zip(geometry.titles[box.key], part_widths(box.title), strict=True)
            solid += [Rect(x, y - 6, wide, 12) for (x, y), wide in places]
    for edge, x, y in geometry.labels:
        solid.append(Rect(x, y - 5, text_width(scene.edges[edge].label, EDGE_LABEL_SIZE), 10))
    return Room(geometry, solid, frames)


def _with_sheets(rect: Rect, copies: int) -> Rect:
    """Return the room of an item with the sheets of a stack."""
    more = SHEETS if copies > 1 else 0.0
    return rect._replace(width=rect.width + more, height=rect.height + more)


def _way(lines: list[Line], rect: Rect) -> tuple[tuple[tuple[float, float], ...], ...]:
    """Return the lines of an edge that lead to a node, the one with the arrow first."""
    way: list[tuple[tuple[float, float], ...]] = []
    for line in lines:
        x, y = line.points[-1]
        if line.arrow and rect.x - 1 <= x <= rect.x + rect.width + 1 and rect.y - 1 <= y <= rect.y + rect.height + 1:
            way.append(line.points)
            break
    while way and len(way) <= len(lines):
        start = way[-1][0]
        above = [line.points for line in lines if line.points not in way and _near(line.points[-1], start)]
        if not above:
            break
        way.append(above[0])
    return tuple(way)


def _near(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return abs(one[0] - other[0]) < 1 and abs(one[1] - other[1]) < 1
