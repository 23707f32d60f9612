"""Lays out a scene from the innermost frames outwards. Equal frames are solved once and therefore look equal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from operator import add

from tl_core import collector_paused
from tl_viz._layout.geometry import Direction, Geometry, Line, Rect, turn
from tl_viz._layout.problem import Level, Margins, Net, Placed, Sides, Slot, TitlePlaces
from tl_viz._layout.ranks import ENTERING
from tl_viz._layout.score import effort
from tl_viz._layout.solve import solve
from tl_viz._layout.split import Pieced, split_edges
from tl_viz._layout.title import MIDDLE
from tl_viz._measure import EDGE_LABEL_SIZE, MARK_SIZE, joined_width, part_places, part_widths, text_width
from tl_viz._scene import Box, Node, Scene

SIDE = 12.0
STRIP = 22.0
"""Height of the strip that holds the title of a frame."""
FOOT = 8.0

SMALL = 400
"""A picture of no more items than this, frames counted, is worth several tries."""
ROUNDS = 3
"""So many times it is laid out anew."""

Frame = tuple[Margins, float, Sides]
"""The room around the content of a frame, the least length along the flow, and what lies above and below its ports."""
NOWHERE: Sides = ((), ())


def lay_out(scene: Scene, *, direction: Direction = "topdown", reuse: bool = True) -> Geometry:
    """Return places for everything in `scene`.

    Args:
        scene: what to draw; nothing in it is changed.
        direction: which way the tensors flow.
        reuse: solve equal frames once; turned off only to measure.

    Returns:
        Rectangles by key, lines by number of the edge, in pixels from the top left corner.

    Example:
        >>> from tl_viz._scene import Box, Node, Scene
        >>> node = Node(key="a", role="op", rows=(), width=40, height=20)
        >>> scene = Scene(root=Box(key="", role="root", title=(), children=(node,)), edges=())
        >>> lay_out(scene).rects["a"].width
        40
    """
    with collector_paused():
        return _lay_out(scene, direction, reuse)


@dataclass(slots=True)
class _Work:
    """A scene on its way to places."""

    scene: Scene
    pieced: Pieced
    direction: Direction
    weight: list[int]
    """Item -> how much of the network it stands for."""
    reuse: bool
    curious: bool
    """Whether the picture is small enough to be laid out several times."""
    known: dict[object, tuple[int, Placed]] = field(default_factory=dict[object, tuple[int, Placed]])
    """What was solved so far, each with a number of its own."""

    @property
    def sideways(self) -> bool:
        """Whether the tensors flow sideways."""
        return self.direction in {"leftright", "rightleft"}

    @property
    def words(self) -> tuple[str, str]:
        """What stands at the foot of a column, and over the next one."""
        word = "row" if self.sideways else "column"
        return f"continues in the next {word}", f"continued from the last {word}"

    @property
    def mark(self) -> tuple[float, float]:
        """Width and height of these words, in a picture whose tensors flow down."""
        wide, high = max(text_width(text, MARK_SIZE, bold=True) for text in self.words) + 8, 16.0
        return (high, wide) if self.sideways else (wide, high)


Surroundings = dict[int, Sides]
"""Frame -> what lies above and below its ports."""


def _lay_out(scene: Scene, direction: Direction, reuse: bool) -> Geometry:
    """Return the easiest to follow of a few layouts: frames are told in which order the best so far leads lines to them."""
    pieced = split_edges(scene)
    work = _Work(scene, pieced, direction, _weights(pieced), reuse, len(pieced.items) <= SMALL)
    placed = _solve_all(work, {})
    best = _assemble(work, placed)
    told: Surroundings = {}
    least = 0.0
    for _ in range(ROUNDS):
        seen = _surroundings(pieced, placed)
        if not seen or seen == told:
            break
        least = least or effort(best)
        for above, below in ((True, True), (True, False), (False, True)):
            tell = _told(told, seen, above=above, below=below)
            solved = _solve_all(work, tell)
            drawn = _assemble(work, solved)
            found = effort(drawn)
            if found < least:
                best, least, placed, told = drawn, found, solved, tell
                break
        else:
            break
    return _set_titles(turn(best, direction))


def _told(told: Surroundings, seen: Surroundings, *, above: bool, below: bool) -> Surroundings:
    """Return what frames are told next: what was seen above them, below them, or both; of the rest what they were told before.

    Of two frames that adapt to each other at once, each would get the order that the other has given up.
    """
    return {
        frame: (sides[0] if above else told.get(frame, NOWHERE)[0], sides[1] if below else told.get(frame, NOWHERE)[1])
        for frame, sides in seen.items()
    }


def _weights(pieced: Pieced) -> list[int]:
    weight = [1] * len(pieced.items)
    for index in reversed(range(len(pieced.items))):
        item = pieced.items[index]
        if isinstance(item, Node):
            weight[index] = ENTERING if item.role == "input" else max(1, item.ops // item.copies)
        else:
            weight[index] = 1 + sum(weight[child] % ENTERING for child in pieced.children[index])
    return weight


def _solve_all(work: _Work, told: Surroundings) -> list[Placed | None]:
    """Solve every frame, the innermost first."""
    pieced, known = work.pieced, work.known
    count = len(pieced.items)
    placed: list[Placed | None] = [None] * count
    identity = [0] * count
    for index in reversed(range(count)):
        item = pieced.items[index]
        if isinstance(item, Node):
            continue
        frame = (*_margins(item, work.direction), told.get(index, NOWHERE))
        key = _level_key(work, index, identity, frame)
        found = known.get(key) if work.reuse else None
        if found is None:
            level = _level(work, index, placed, frame)
            found = (len(known) + 1, solve(level))
            known[key if work.reuse else (index, len(known))] = found
        identity[index], placed[index] = found
    return placed


def _surroundings(pieced: Pieced, placed: list[Placed | None]) -> Surroundings:
    """Return what the frames around each frame can tell it."""
    told: Surroundings = {}
    for index, solved in enumerate(placed):
        if solved is not None and solved.around:
            for child, sides in zip(pieced.children[index], solved.around, strict=True):
                if sides is not None:
                    told[child] = sides
    return told


def _margins(box: Box, direction: Direction) -> tuple[Margins, float]:
    """Return the room around the content of a frame, and the least length along the flow."""
    if box.role == "root":
        return Margins(0.0, 0.0, 0.0), 0.0
    title = part_widths(box.title)
    strip = STRIP if box.title else FOOT
    if direction in {"leftright", "rightleft"}:
        return Margins(FOOT, FOOT, SIDE, left=strip - SIDE + 4), joined_width(title) + 2 * SIDE
    if direction == "bottomup":
        return Margins(FOOT, strip, SIDE, title, title_at_end=True), 0.0
    return Margins(strip, FOOT, SIDE, title), 0.0


def _level_key(work: _Work, index: int, identity: list[int], frame: Frame) -> object:
    """Return a key that two frames share only if they look the same inside."""
    pieced, edges = work.pieced, work.scene.edges
    children: list[object] = []
    for child in pieced.children[index]:
        item = pieced.items[child]
        children.append((item.width, item.height, work.weight[child]) if isinstance(item, Node) else identity[child])
    nets = tuple(
        (source, tuple(targets), edges[edge].label, bool(edges[edge].ends))
        for edge, (source, targets) in pieced.nets[index].items()
    )
    return (tuple(children), nets, frame, len(pieced.ins[index]), len(pieced.outs[index]))


def _level(work: _Work, index: int, placed: list[Placed | None], frame: Frame) -> Level:
    pieced, edges = work.pieced, work.scene.edges
    slots: list[Slot] = []
    for child in pieced.children[index]:
        item = pieced.items[child]
        inner = placed[child]
        if isinstance(item, Node):
            size = (item.height, item.width) if work.sideways else (item.width, item.height)
            slots.append(Slot(*size, None, None, work.weight[child]))
        elif inner is not None:
            slots.append(Slot(inner.width, inner.height, inner.ins, inner.outs, work.weight[child]))
    nets = tuple(
        Net(source, tuple(targets), _label_room(work, edge), bool(edges[edge].ends))
        for edge, (source, targets) in pieced.nets[index].items()
    )
    margins, least, (above, below) = frame
    return Level(
        tuple(slots), nets, len(pieced.ins[index]), len(pieced.outs[index]), margins,
        above=above, below=below, curious=work.curious, min_height=least, mark=work.mark,
    )  # fmt: skip


def _label_room(work: _Work, edge: int) -> float:
    label = work.scene.edges[edge].label
    if not label:
        return 0.0
    return 14.0 if work.sideways else text_width(label, EDGE_LABEL_SIZE)


def _assemble(work: _Work, placed: list[Placed | None]) -> Geometry:
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
    work: _Work, placed: list[Placed | None], corner: list[tuple[float, float]]
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


def _set_titles(geometry: Geometry) -> Geometry:
    """Turn the places of titles, which were counted from their frames, into places in the picture."""
    titles = {
        key: tuple([(geometry.rects[key].x + x, geometry.rects[key].y + y) for x, y in places])
        for key, places in geometry.titles.items()
    }
    return replace(geometry, titles=titles)
