"""The display list: what every format draws, in order, with all coordinates and colours settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._bridges import bridges, upright_ways
from tl_viz._ends import place_ends
from tl_viz._layout import Direction, Geometry, Rect
from tl_viz._measure import EDGE_LABEL_SIZE, END_SIZE, MARK_SIZE, SLOT_SIZE, text_width
from tl_viz._scene import NO_BRANCHES, Box, JoinKind, Node, Scene, TextRow, heavy_line, joins_line, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_viz._theme import Theme

MARGIN = 16.0
ROW_GAP = 3.0
STACK_STEP = 4.0
LINE_WIDTH = 1.2
JOIN_WIDTH = 5.0
"""Thickness of the bar at which branches join."""
CORNER = 6.0
NOTE_SIZE = 10.5
MADE_SIZE = 11.0
PLUS_HALF, PLUS_INSET = 4.5, 8.0
"""Half the size of the sign of a closed box, and how far its middle lies from the corner."""
TITLE_ROOM, MADE_ROOM = 24.0, 18.0
"""Height of the title, and of each line under it."""
SAMPLE_WIDTH, SAMPLE_HEIGHT, SAMPLE_BAR = 16.0, 9.0, 3.0
"""Size of a small box that shows a sign, and thickness of the bar on it."""
JOINS_NARROWEST, JOINS_WIDEST = 600.0, 980.0
"""So wide are the lines that say where branches join in a narrow picture, which becomes wider for them, and in a wide one."""
BESIDE = 5.0
"""Distance from such a box to the words beside it."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str
    stroke: str
    stroke_width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Stroke:
    """Polylines of one colour, each with or without an arrowhead at its end."""

    lines: tuple[tuple[tuple[float, float], ...], ...]
    arrows: tuple[bool, ...]
    colour: str
    width: float = LINE_WIDTH
    dashed: bool = False
    hops: tuple[tuple[Point, ...], ...] = ()
    """For each line the places where it passes over a line of another tensor; empty for none."""


@dataclass(frozen=True, slots=True)
class Words:
    """One line of text. `x` is its left end, `y` its baseline."""

    x: float
    y: float
    text: str
    size: float
    bold: bool
    colour: str
    width: float
    mono: bool = False


Shape = Bar | Stroke | Words


@dataclass(frozen=True, slots=True)
class Group:
    """Shapes that belong to one node, box or edge."""

    key: str
    kind: str
    """`node`, `box`, `edge`, `slot`, `note` or `legend`."""
    shapes: tuple[Shape, ...]
    tooltip: str = ""
    link: str = ""
    anchor: str = ""
    """Name that links inside of the picture lead to."""


@dataclass(frozen=True, slots=True)
class Display:
    """A finished picture."""

    width: float
    height: float
    background: str
    groups: tuple[Group, ...]
    title: str = ""


def display(
    scene: Scene, geometry: Geometry, theme: Theme, *, title: str = "", direction: Direction = "topdown"
) -> Display:
    """Return the display list of a scene that has been laid out: frames, then lines, then nodes, then notes."""
    width = geometry.width + 2 * MARGIN
    said = _in_lines(scene.joins, min(max(width, JOINS_NARROWEST), JOINS_WIDEST))
    head = MARGIN + (TITLE_ROOM if title else 0.0) + MADE_ROOM * (bool(scene.made) + bool(scene.heavy) + len(said))
    groups: list[Group] = []
    nodes: list[Group] = []
    depth: dict[str, int] = {scene.root.key: 0}
    for item in walk(scene.root):
        rect = _moved(geometry.rects[item.key], head)
        if isinstance(item, Node):
            nodes.append(_node(item, rect, theme, direction))
        else:
            level = depth.get(item.key, 0)
            for child in item.children:
                depth[child.key] = level + 1
            at = geometry.titles.get(item.key)
            groups.append(_frame(item, rect, theme, level, at, head))
            groups += _gaps(item, geometry, theme, head)
    groups += _edges(scene, geometry, theme, head)
    groups += nodes
    groups += _slots(scene, geometry, theme, head)
    groups += _ends(scene, geometry, theme, head)
    groups += _marks(geometry, theme, head)
    height = geometry.height + head + MARGIN
    for group in _heading(scene, said, title, theme, direction):
        groups.append(group)
        ends = [words.x + words.width + MARGIN for words in group.shapes if isinstance(words, Words)]
        width = max(width, *ends)
    for number, note in enumerate(scene.notes):
        words = _words(MARGIN, height + 4, TextRow(text=note, size=NOTE_SIZE, muted=True), theme)
        groups.append(Group(f"note-{number}", "note", (words,)))
        height += NOTE_SIZE + 6
        width = max(width, words.width + 2 * MARGIN)
    return Display(width, height + (6 if scene.notes else 0), theme.background, tuple(groups), title)


def _in_lines(clauses: Sequence[str], room: float) -> list[str]:
    """Return what is said of joins in lines of at most `room`, none of which breaks a clause."""
    lines: list[str] = []
    first = 0
    for end in range(1, len(clauses) + 1):
        line = f"· {' · '.join(clauses[first:end])}" if first else joins_line(clauses[:end])
        if end > first + 1 and text_width(line, MADE_SIZE) > room:
            first = end - 1
            lines.append(f"· {clauses[first]}")
        else:
            lines[-1:] = [line]
    return lines


def _heading(scene: Scene, joins: Sequence[str], title: str, theme: Theme, direction: Direction) -> list[Group]:
    """Return the title, what the network is made of, and the lines that say where most parameters are and branches join."""
    groups: list[Group] = []
    y = 22.0 if title else 22.0 - TITLE_ROOM
    if title:
        groups.append(Group("title", "note", (_words(MARGIN, y, TextRow(text=title, size=13.0, bold=True), theme),)))
    y += TITLE_ROOM - MADE_ROOM
    if scene.made:
        y += MADE_ROOM
        groups.append(Group("made", "note", (_words(MARGIN, y, TextRow(text=scene.made, size=MADE_SIZE), theme),)))
    if scene.heavy:
        y += MADE_ROOM
        box = Rect(MARGIN, y - MADE_SIZE * 0.36 - SAMPLE_HEIGHT / 2, SAMPLE_WIDTH, SAMPLE_HEIGHT)
        row = TextRow(text=heavy_line(scene.heavy), size=MADE_SIZE)
        swatch = Bar(*box, 2.0, *theme.learned, 1.0)
        groups.append(Group("heavy", "note", (swatch, _words(MARGIN + SAMPLE_WIDTH + BESIDE, y, row, theme))))
    if joins:
        first = y + MADE_ROOM - MADE_SIZE * 0.36
        shapes = join_sample(MARGIN, first, theme, direction, "branches") if joins[0] != NO_BRANCHES else []
        x = MARGIN + (SAMPLE_WIDTH + BESIDE if shapes else 0.0)
        for line in joins:
            y += MADE_ROOM
            shapes.append(_words(x, y, TextRow(text=line, size=MADE_SIZE), theme))
        groups.append(Group("joins", "note", tuple(shapes)))
    return groups


def _moved(rect: Rect, head: float) -> Rect:
    return Rect(rect.x + MARGIN, rect.y + head, rect.width, rect.height)


def _words(x: float, y: float, row: TextRow, theme: Theme, colour: str = "") -> Words:
    colour = colour or (theme.muted if row.muted else theme.text)
    width = text_width(row.text, row.size, row.bold)
    return Words(x, y, row.text, row.size, row.bold, colour, width)


def _frame(
    box: Box, rect: Rect, theme: Theme, depth: int, title: tuple[tuple[float, float], ...] | None, head: float
) -> Group:
    fill = theme.fills[min(depth, len(theme.fills) - 1)]
    folded = box.copies > 1 or box.role == "run"
    stroke = theme.run if folded else theme.frame
    shapes: list[Shape] = []
    if box.copies > 1:
        shapes += _stack(rect, 7.0, fill, stroke)
    shapes.append(Bar(rect.x, rect.y, rect.width, rect.height, 7.0, fill, stroke, dashed=box.role == "segment"))
    if title:
        for part, (x, y) in zip(box.title, title, strict=True):
            colour = theme.run if part.text[:1] in "×≈" else ""
            shapes.append(_words(x + MARGIN, y + head + part.size * 0.36, part, theme, colour))
    return Group(box.key, "box", tuple(shapes), box.tooltip, box.link)


def _gaps(box: Box, geometry: Geometry, theme: Theme, head: float) -> list[Group]:
    """Return what lies between the columns of a frame."""
    gaps = [_moved(gap, head) for key, gap in geometry.gaps if key == box.key]
    bars = tuple([Bar(*gap, 0.0, theme.background, theme.background) for gap in gaps])
    return [Group(f"{box.key}|", "note", bars)] if bars else []


def _stack(rect: Rect, radius: float, fill: str, stroke: str) -> list[Shape]:
    """Return two sheets that show from behind a folded item, down and to the right."""
    return [
        Bar(rect.x + step, rect.y + step, rect.width, rect.height, radius, fill, stroke, 0.8)
        for step in (STACK_STEP, STACK_STEP / 2)
    ]


def join_bar(rect: Rect, theme: Theme, direction: Direction, kind: JoinKind, width: float = JOIN_WIDTH) -> Stroke:
    """Return the bar along the side of a box at which lines arrive: dark where branches join, pale where tensors of one meet."""
    left, top, right, low = rect.x, rect.y, rect.x + rect.width, rect.y + rect.height
    inward, over = width / 2 - 1.5, width / 2
    line = {
        "topdown": ((left - over, top + inward), (right + over, top + inward)),
        "bottomup": ((left - over, low - inward), (right + over, low - inward)),
        "leftright": ((left + inward, top - over), (left + inward, low + over)),
        "rightleft": ((right - inward, top - over), (right - inward, low + over)),
    }[direction]
    return Stroke((line,), (False,), theme.line if kind == "branches" else theme.faint, width)


def join_sample(x: float, y: float, theme: Theme, direction: Direction, kind: JoinKind) -> list[Shape]:
    """Return a small box with such a bar; `y` is its middle."""
    rect = Rect(x, y - SAMPLE_HEIGHT / 2, SAMPLE_WIDTH, SAMPLE_HEIGHT)
    return [Bar(*rect, 2.0, *theme.nodes["op"], 1.0), join_bar(rect, theme, direction, kind, SAMPLE_BAR)]


def plus(x: float, y: float, colour: str, ground: str, half: float = PLUS_HALF) -> list[Shape]:
    """Return the sign of a closed box around its middle: a filled square with a cross in it."""
    arm = half * 0.6
    cross = ((x - arm, y), (x + arm, y)), ((x, y - arm), (x, y + arm))
    return [
        Stroke((((x - half, y), (x + half, y)),), (False,), colour, 2 * half),
        Stroke(cross, (False, False), ground, half / 3),
    ]


def _node(node: Node, rect: Rect, theme: Theme, direction: Direction) -> Group:
    fill, stroke = theme.learned if node.learned else theme.nodes[node.role]
    fill = node.tint or fill
    if node.marked:
        stroke = theme.mark
    round_end = node.role in {"input", "output"}
    radius = rect.height / 2 if round_end else (6.0 if node.role == "module" else 4.0)
    shapes: list[Shape] = []
    if node.copies > 1:
        shapes += _stack(rect, radius, fill, theme.run)
    shapes.append(
        Bar(
            rect.x, rect.y, rect.width, rect.height, radius, fill, stroke,
            2.2 if node.marked else 1.0,
            node.role in {"bundle", "constant", "buffer"},
        )
    )  # fmt: skip
    if node.role == "module":
        x = rect.x + (PLUS_INSET if direction == "rightleft" else rect.width - PLUS_INSET)
        below = JOIN_WIDTH / 2 if node.joins and direction == "topdown" else 0.0
        shapes += plus(x, rect.y + PLUS_INSET + below, stroke, fill)
    shapes += [join_bar(rect, theme, direction, node.joins)] if node.joins else []
    total = sum(row.size for row in node.rows) + ROW_GAP * (len(node.rows) - 1)
    y = rect.y + (rect.height - total) / 2
    for row in node.rows:
        width = text_width(row.text, row.size, row.bold)
        x = rect.x + (rect.width - width) / 2
        colour = _legible(node.tint) or (theme.run if row.text[:1] in "×≈" else "")
        shapes.append(_words(x, y + row.size * 0.86, row, theme, colour))
        y += row.size + ROW_GAP
    return Group(node.key, "node", tuple(shapes), node.tooltip, node.link)


def _legible(tint: str) -> str:
    """Return black or white, whichever reads better on a colour; an empty string where there is none."""
    if not tint:
        return ""
    red, green, blue = (int(tint[at : at + 2], 16) for at in (1, 3, 5))
    return "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def _slots(scene: Scene, geometry: Geometry, theme: Theme, head: float) -> list[Group]:
    """Return the names of arguments, each inside of its node at the tip of its arrow."""
    if not any(edge.slots for edge in scene.edges):
        return []
    joins = {node.key for node in scene.nodes() if node.joins}
    groups: list[Group] = []
    for line in geometry.lines:
        edge = scene.edges[line.edge]
        if not line.arrow or not edge.slots:
            continue
        x, y = line.points[-1]
        for target, slot in zip(edge.targets, edge.slots, strict=True):
            rect = geometry.rects[target]
            if slot and rect.x - 1 <= x <= rect.x + rect.width + 1 and rect.y - 1 <= y <= rect.y + rect.height + 1:
                left, base = _beside_tip(
                    line.points, rect, text_width(slot, SLOT_SIZE), JOIN_WIDTH / 2 if target in joins else 0.0
                )
                row = TextRow(text=slot, size=SLOT_SIZE, muted=True)
                groups.append(Group(f"{target}<{slot}", "slot", (_words(left + MARGIN, base + head, row, theme),)))
    return groups


def _ends(scene: Scene, geometry: Geometry, theme: Theme, head: float) -> list[Group]:
    """Return the texts that say which copies or rounds a line belongs to."""
    groups: list[Group] = []
    for target, text, x, y in place_ends(scene, geometry):
        words = _words(x + MARGIN, y + head, TextRow(text=text, size=END_SIZE, bold=True), theme, theme.run)
        groups.append(Group(f"{target}<{text}", "slot", (words,)))
    return groups


def _marks(geometry: Geometry, theme: Theme, head: float) -> list[Group]:
    """Return the words at the ends of columns."""
    groups: list[Group] = []
    for number, (rect, text) in enumerate(geometry.marks):
        x, y = rect.x + MARGIN, rect.y + head + rect.height / 2 + MARK_SIZE * 0.36
        words = _words(x, y, TextRow(text=text, size=MARK_SIZE, bold=True), theme)
        groups.append(Group(f"column-{number}", "note", (words,)))
    return groups


def _beside_tip(
    points: tuple[tuple[float, float], ...], rect: Rect, width: float, deeper: float
) -> tuple[float, float]:
    """Return the left end and the baseline of a text just inside of a node, where an arrow meets it."""
    x, y = points[-1]
    if abs(y - rect.y) < 1:
        return x - width / 2, y + deeper + SLOT_SIZE * 0.95
    if abs(y - rect.y - rect.height) < 1:
        return x - width / 2, y - deeper - SLOT_SIZE * 0.3
    return (x + deeper + 3 if abs(x - rect.x) < 1 else x - deeper - 3 - width), y + SLOT_SIZE * 0.36


def _edges(scene: Scene, geometry: Geometry, theme: Theme, head: float) -> list[Group]:
    lines: list[list[tuple[tuple[tuple[float, float], ...], bool]]] = [[] for _ in scene.edges]
    for line in geometry.lines:
        points = tuple([(x + MARGIN, y + head) for x, y in line.points])
        lines[line.edge].append((points, line.arrow))
    labels: dict[int, list[Shape]] = {}
    for edge, x, y in geometry.labels:
        row = TextRow(text=scene.edges[edge].label, size=EDGE_LABEL_SIZE)
        labels.setdefault(edge, []).append(
            _words(x + MARGIN, y + head + EDGE_LABEL_SIZE * 0.36, row, theme, theme.loop)
        )
    ways = upright_ways([[points for points, _ in own] for own in lines])
    groups: list[Group] = []
    colours = {"data": theme.line, "loop": theme.loop, "faint": theme.faint}
    for number, edge in enumerate(scene.edges):
        if not lines[number]:
            continue
        stroke = Stroke(
            tuple(points for points, _ in lines[number]),
            tuple(arrow for _, arrow in lines[number]),
            colours[edge.role],
            1.6 if edge.role == "loop" else LINE_WIDTH,
            edge.role == "faint",
            tuple(bridges(points, number, ways) for points, _ in lines[number]) if ways else (),
        )
        shapes = (stroke, *labels.get(number, ()))
        groups.append(Group(f"{edge.source}>", "edge", shapes))
    return groups
