"""Lays out a scene from the innermost frames outwards. Equal frames are solved once and therefore look equal."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from operator import add

from tl_core import collector_paused
from tl_viz._layout.geometry import Direction, Geometry, Line, Rect, turn
from tl_viz._layout.problem import Level, Margins, Net, Placed, Slot
from tl_viz._layout.ranks import ENTERING
from tl_viz._layout.solve import solve
from tl_viz._layout.split import Pieced, split_edges
from tl_viz._measure import EDGE_LABEL_SIZE, joined_width, part_places, part_widths, text_width
from tl_viz._scene import Box, Node, Scene

SIDE = 12.0
STRIP = 22.0
"""Height of the strip that holds the title of a frame."""
FOOT = 8.0


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


def _lay_out(scene: Scene, direction: Direction, reuse: bool) -> Geometry:
    """Solve every frame, the innermost first, then move everything to its place."""
    pieced = split_edges(scene)
    sideways = direction in {"leftright", "rightleft"}
    count = len(pieced.items)
    placed: list[Placed | None] = [None] * count
    edges_of: list[list[int]] = [[]] * count
    known: dict[object, tuple[int, Placed]] = {}
    identity = [0] * count
    weight = [1] * count
    for index in reversed(range(count)):
        item = pieced.items[index]
        if isinstance(item, Node):
            weight[index] = ENTERING if item.role == "input" else max(1, item.ops // item.copies)
            continue
        weight[index] = 1 + sum(weight[child] % ENTERING for child in pieced.children[index])
        edges_of[index] = list(pieced.nets[index])
        margins, least = _margins(item, direction)
        key = _level_key(pieced, scene, index, (identity, weight), (margins, least))
        found = known.get(key) if reuse else None
        if found is None:
            level = _level(pieced, scene, index, placed, weight, sideways)
            found = (len(known) + 1, solve(_with(level, margins, least)))
            known[key if reuse else index] = found
        identity[index], placed[index] = found
    flat = _assemble(pieced, placed, edges_of, sideways)
    return _set_titles(turn(flat, direction))


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


def _with(level: Level, margins: Margins, least: float) -> Level:
    return Level(level.slots, level.nets, level.ins, level.outs, margins, min_height=least)


def _level_key(
    pieced: Pieced,
    scene: Scene,
    index: int,
    numbers: tuple[list[int], list[int]],
    frame: tuple[Margins, float],
) -> object:
    """Return a key that two frames share only if they look the same inside."""
    identity, weight = numbers
    children: list[object] = []
    for child in pieced.children[index]:
        item = pieced.items[child]
        children.append((item.width, item.height, weight[child]) if isinstance(item, Node) else identity[child])
    nets = tuple(
        (source, tuple(targets), scene.edges[edge].label, bool(scene.edges[edge].ends))
        for edge, (source, targets) in pieced.nets[index].items()
    )
    return (tuple(children), nets, frame, len(pieced.ins[index]), len(pieced.outs[index]))


def _level(
    pieced: Pieced,
    scene: Scene,
    index: int,
    placed: list[Placed | None],
    weight: list[int],
    sideways: bool,
) -> Level:
    slots: list[Slot] = []
    for child in pieced.children[index]:
        item = pieced.items[child]
        inner = placed[child]
        if isinstance(item, Node):
            size = (item.height, item.width) if sideways else (item.width, item.height)
            slots.append(Slot(*size, None, None, weight[child]))
        elif inner is not None:
            slots.append(Slot(inner.width, inner.height, inner.ins, inner.outs, weight[child]))
    nets = tuple(
        Net(source, tuple(targets), _label_room(scene, edge, sideways), bool(scene.edges[edge].ends))
        for edge, (source, targets) in pieced.nets[index].items()
    )
    ports = len(pieced.ins[index]), len(pieced.outs[index])
    return Level(tuple(slots), nets, *ports, Margins(0.0, 0.0, 0.0))


def _label_room(scene: Scene, edge: int, sideways: bool) -> float:
    label = scene.edges[edge].label
    if not label:
        return 0.0
    return 14.0 if sideways else text_width(label, EDGE_LABEL_SIZE)


def _assemble(
    pieced: Pieced,
    placed: list[Placed | None],
    edges_of: list[list[int]],
    sideways: bool,
) -> Geometry:
    """Move every solved frame to its place."""
    rects: dict[str, Rect] = {}
    titles: dict[str, tuple[tuple[float, ...], float]] = {}
    lines: list[Line] = []
    labels: list[tuple[int, float, float]] = []
    shapes: dict[int, tuple[list[tuple[int, tuple[float, ...], bool]], int]] = {}
    corner: list[tuple[float, float]] = [(0.0, 0.0)] * len(pieced.items)
    for index, item in enumerate(pieced.items):
        x, y = corner[index]
        solved = placed[index]
        if isinstance(item, Node):
            width, height = (item.height, item.width) if sideways else (item.width, item.height)
            rects[item.key] = Rect(x, y, width, height)
            continue
        if solved is None:
            continue
        rects[item.key] = Rect(x, y, solved.width, solved.height)
        if item.title:
            titles[item.key] = (solved.title or part_places(part_widths(item.title), SIDE), STRIP / 2)
        for child, (left, top) in zip(pieced.children[index], solved.corners, strict=True):
            corner[child] = (x + left, y + top)
        edges = edges_of[index]
        known = shapes.get(id(solved))
        if known is None:
            flat = [(path.net, tuple(chain.from_iterable(path.points)), path.arrow) for path in solved.paths]
            known = shapes[id(solved)] = (flat, max([len(coords) // 2 for _, coords, _ in flat], default=0))
        flat, longest = known
        move = (x, y) * longest
        lines += [Line(edges[net], tuple(map(add, coords, move)), arrow) for net, coords, arrow in flat]
        labels += [(edges[net], px + x, py + y) for net, px, py in solved.labels]
    root = rects[pieced.items[0].key]
    return Geometry(root.width, root.height, rects, titles, tuple(lines), tuple(labels))


def _set_titles(geometry: Geometry) -> Geometry:
    """Turn the places of titles, which were counted from their frames, into places in the picture."""
    titles = {
        key: (tuple([geometry.rects[key].x + x for x in places]), geometry.rects[key].y + y)
        for key, (places, y) in geometry.titles.items()
    }
    return replace(geometry, titles=titles)
