"""What can be measured in a finished picture. Every function returns what is wrong, as text; nothing means good."""

from __future__ import annotations

from itertools import pairwise

from tl_viz._display import Bar, Display, Words
from tl_viz._layout import Geometry, Rect
from tl_viz._measure import EDGE_LABEL_SIZE, text_width
from tl_viz._plan import parts
from tl_viz._scene import Box, Node, Scene, walk

SLACK = 0.6
"""Pixels by which things may touch."""


def all_faults(scene: Scene, geometry: Geometry) -> list[str]:
    """Return everything that is wrong with places and lines."""
    return [
        *outside_of_frame(scene, geometry),
        *overlapping_siblings(scene, geometry),
        *lines_through_nodes(scene, geometry),
        *lines_through_titles(scene, geometry),
        *broken_edges(scene, geometry),
        *shared_stretches(geometry),
        *hidden_marks(scene, geometry),
    ]


def outside_of_frame(scene: Scene, geometry: Geometry) -> list[str]:
    faults: list[str] = []
    for box in (scene.root, *scene.boxes()):
        outer = geometry.rects[box.key]
        for child in box.children:
            inner = geometry.rects[child.key]
            if not (
                outer.x - SLACK <= inner.x
                and outer.y - SLACK <= inner.y
                and inner.x + inner.width <= outer.x + outer.width + SLACK
                and inner.y + inner.height <= outer.y + outer.height + SLACK
            ):
                faults.append(f"{child.key} stands outside of {box.key}")
    for line in geometry.lines:
        for x, y in line.points:
            if not (-SLACK <= x <= geometry.width + SLACK and -SLACK <= y <= geometry.height + SLACK):
                faults.append(f"edge {line.edge} leaves the picture at {x:.0f}, {y:.0f}")
    return faults


def overlapping_siblings(scene: Scene, geometry: Geometry) -> list[str]:
    return [
        f"{one.key} and {other.key} overlap"
        for box in (scene.root, *scene.boxes())
        for index, one in enumerate(box.children)
        for other in box.children[index + 1 :]
        if _overlap(geometry.rects[one.key], geometry.rects[other.key])
    ]


def lines_through_nodes(scene: Scene, geometry: Geometry) -> list[str]:
    nodes = [(node.key, geometry.rects[node.key]) for node in scene.nodes()]
    return [
        f"edge {line.edge} runs through {key}"
        for line in geometry.lines
        for start, end in pairwise(line.points)
        for key, rect in nodes
        if _overlap(_between(start, end), rect)
    ]


def lines_through_titles(scene: Scene, geometry: Geometry) -> list[str]:
    faults: list[str] = []
    for box in scene.boxes():
        if not box.title:
            continue
        parts = [
            Rect(x, y - 5, text_width(part.text, part.size, part.bold), 10)
            for (x, y), part in zip(geometry.titles[box.key], box.title, strict=True)
        ]
        frame = geometry.rects[box.key]
        if any(part.x < frame.x or part.x + part.width > frame.x + frame.width for part in parts):
            faults.append(f"the title of {box.key} is wider than its frame")
        inside = [child for child in box.children if any(_overlap(geometry.rects[child.key], part) for part in parts)]
        faults += [f"{child.key} lies on the title of {box.key}" for child in inside]
        if any(one.x + one.width > other.x and one.y == other.y for one, other in pairwise(parts)):
            faults.append(f"parts of the title of {box.key} lie on each other")
        faults += [
            f"edge {line.edge} runs through the title of {box.key}"
            for line in geometry.lines
            for start, end in pairwise(line.points)
            for title in parts
            if _overlap(_between(start, end), title)
        ]
    return faults


def broken_edges(scene: Scene, geometry: Geometry) -> list[str]:
    """Follow every edge from its source to each target along lines that touch each other."""
    faults: list[str] = []
    pieces: dict[int, list[tuple[tuple[float, float], ...]]] = {}
    tips: dict[int, list[tuple[float, float]]] = {}
    for line in geometry.lines:
        pieces.setdefault(line.edge, []).append(line.points)
        if line.arrow:
            tips.setdefault(line.edge, []).append(line.points[-1])
    for number, edge in enumerate(scene.edges):
        found = pieces.get(number, [])
        reached: set[int] = set()
        waiting = [at for at, points in enumerate(found) if _at_border(points[0], geometry.rects[edge.source])]
        if not waiting:
            faults.append(f"edge {number} does not begin at {edge.source}")
        while waiting:
            at = waiting.pop()
            if at in reached:
                continue
            reached.add(at)
            waiting += [
                other for other in range(len(found)) if other not in reached and _touch(found[at], found[other])
            ]
        ends = [found[at][-1] for at in reached]
        for target in edge.targets:
            rect = geometry.rects[target]
            if not any(_at_border(end, rect) for end in ends):
                faults.append(f"edge {number} does not reach {target}")
            if not any(_at_border(tip, rect) for tip in tips.get(number, [])):
                faults.append(f"edge {number} has no arrowhead at {target}")
    return faults


def shared_stretches(geometry: Geometry) -> list[str]:
    """Return where lines of two edges lie on each other, so that nobody can tell which is which."""
    upright: dict[int, list[tuple[float, float, int]]] = {}
    level: dict[int, list[tuple[float, float, int]]] = {}
    for line in geometry.lines:
        for (x0, y0), (x1, y1) in pairwise(line.points):
            if abs(x0 - x1) < 0.01 and abs(y0 - y1) > SLACK:
                upright.setdefault(round(x0), []).append((min(y0, y1), max(y0, y1), line.edge))
            elif abs(y0 - y1) < 0.01 and abs(x0 - x1) > SLACK:
                level.setdefault(round(y0), []).append((min(x0, x1), max(x0, x1), line.edge))
    faults: list[str] = []
    for pieces in (*upright.values(), *level.values()):
        pieces.sort()
        for index, (_, end, edge) in enumerate(pieces):
            for start, _, other in pieces[index + 1 :]:
                if start >= end - 1:
                    break
                if other != edge:
                    faults.append(f"edges {edge} and {other} lie on each other")
    return faults


def labels_on_nodes(scene: Scene, geometry: Geometry) -> list[str]:
    """Return words beside lines that lie under a node."""
    half = EDGE_LABEL_SIZE * 0.36
    return [
        f"{scene.edges[edge].label!r} lies under {node.key}"
        for edge, x, y in geometry.labels
        for node in scene.nodes()
        if _overlap(
            Rect(x, y - half, text_width(scene.edges[edge].label, EDGE_LABEL_SIZE), 2 * half), geometry.rects[node.key]
        )
    ]


def hidden_marks(scene: Scene, geometry: Geometry) -> list[str]:
    """Return the words at the ends of columns that a node or a line meets, and gaps between columns with a node in them."""
    nodes = [(node.key, geometry.rects[node.key]) for node in scene.nodes()]
    faults = [
        f"{text!r} and {key} lie on each other"
        for rect, text in geometry.marks
        for key, at in nodes
        if _overlap(rect, at)
    ]
    faults += [f"{key} lies between columns" for _, rect in geometry.gaps for key, at in nodes if _overlap(rect, at)]
    words = [Rect(rect.x, rect.y + rect.height / 2 - 4, rect.width, 8) for rect, _ in geometry.marks]
    return faults + [
        f"edge {line.edge} runs through words at the end of a column"
        for line in geometry.lines
        for start, end in pairwise(line.points)
        if any(_overlap(_between(start, end), rect) for rect in words)
    ]


def overflowing_labels(display: Display) -> list[str]:
    """Return texts that are wider or higher than the box they stand in, by the widths that the picture claims."""
    faults: list[str] = []
    for group in display.groups:
        bars = [shape for shape in group.shapes if isinstance(shape, Bar)]
        if group.kind not in {"node", "box"} or not bars:
            continue
        bar = bars[-1]
        for words in group.shapes:
            if isinstance(words, Words) and (
                words.x < bar.x
                or words.x + words.width > bar.x + bar.width
                or words.y - words.size * 0.75 < bar.y
                or words.y > bar.y + bar.height
            ):
                faults.append(f"{words.text!r} does not fit into {group.key}")
    return faults


def same_names(scene: Scene) -> list[str]:
    """Return keys that occur twice, and siblings that show the same address."""
    faults: list[str] = []
    keys = [item.key for item in walk(scene.root)]
    faults += [f"key {key} occurs twice" for key in set(keys) if keys.count(key) > 1]
    for box in (scene.root, *scene.boxes()):
        names = [_module_name(child) for child in box.children]
        faults += [f"{name} is drawn twice" for name in set(names) if name and names.count(name) > 1]
    return faults


def _module_name(item: Node | Box) -> str:
    if isinstance(item, Node):
        return f"{item.key}" if item.role == "module" else ""
    return item.key if item.role == "module" else ""


def _between(start: tuple[float, float], end: tuple[float, float]) -> Rect:
    x, y = min(start[0], end[0]), min(start[1], end[1])
    return Rect(x, y, abs(start[0] - end[0]), abs(start[1] - end[1]))


def _overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x + one.width > other.x + SLACK
        and other.x + other.width > one.x + SLACK
        and one.y + one.height > other.y + SLACK
        and other.y + other.height > one.y + SLACK
    )


def _at_border(point: tuple[float, float], rect: Rect) -> bool:
    x, y = point
    inside = rect.x - SLACK <= x <= rect.x + rect.width + SLACK and rect.y - SLACK <= y <= rect.y + rect.height + SLACK
    deep = rect.x + SLACK < x < rect.x + rect.width - SLACK and rect.y + SLACK < y < rect.y + rect.height - SLACK
    return inside and not deep


def _touch(one: tuple[tuple[float, float], ...], other: tuple[tuple[float, float], ...]) -> bool:
    return any(_on(point, other) for point in (one[0], one[-1])) or any(
        _on(point, one) for point in (other[0], other[-1])
    )


def _on(point: tuple[float, float], line: tuple[tuple[float, float], ...]) -> bool:
    for start, end in pairwise(line):
        piece = _between(start, end)
        if (
            piece.x - SLACK <= point[0] <= piece.x + piece.width + SLACK
            and piece.y - SLACK <= point[1] <= piece.y + piece.height + SLACK
        ):
            return True
    return False


def texts_on_texts(display: Display) -> list[str]:
    """Return texts that lie on each other, by the height of capitals and the widths that the picture claims."""
    words = [
        (shape.text, Rect(shape.x, shape.y - shape.size * 0.72, shape.width, shape.size * 0.72))
        for group in display.groups
        if group.kind in {"node", "slot", "box"}
        for shape in group.shapes
        if isinstance(shape, Words)
    ]
    return [
        f"{one!r} and {other!r} lie on each other"
        for index, (one, rect) in enumerate(words)
        for other, second in words[index + 1 :]
        if _overlap(rect, second)
    ]


def schedule(network):
    """Return how many items each step of the slider shows, from everything open to everything closed."""
    counts = [len(network)]
    for part in parts(network, fold_repeats=True, depth=None):
        counts += [part.items, *(step.items for step in part.steps)]
    return list(dict.fromkeys(counts))
