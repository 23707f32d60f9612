"""Solves the frames of a scene from the innermost outwards. Equal frames are solved once and therefore look equal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tl_viz._layout.geometry import Geometry
from tl_viz._layout.problem import FREE, Choice, Level, Margins, Net, Placed, Sides, Slot
from tl_viz._layout.ranks import ENTERING
from tl_viz._layout.solve import solve
from tl_viz._layout.split import split_edges
from tl_viz._measure import EDGE_LABEL_SIZE, MARK_SIZE, joined_width, part_widths, text_width
from tl_viz._scene import Box, Node

if TYPE_CHECKING:
    from tl_viz._layout.geometry import Direction
    from tl_viz._layout.split import Pieced
    from tl_viz._scene import Scene

SIDE = 12.0
STRIP = 22.0
"""Height of the strip that holds the title of a frame."""
FOOT = 8.0

SMALL = 400
"""A picture of no more items than this, frames counted, is worth several tries."""

Frame = tuple[Margins, float, Sides, Choice]
"""The room around the content of a frame, the least length along the flow, what lies above and below its ports, and what was chosen."""
NOWHERE: Sides = ((), ())

Surroundings = dict[int, Sides]
"""Frame -> what lies above and below its ports."""

Choices = dict[int, Choice]
"""Group of equal frames -> what was chosen for them."""


@dataclass(slots=True)
class Work:
    """A scene on its way to places."""

    scene: Scene
    pieced: Pieced
    direction: Direction
    weight: list[int]
    """Item -> how much of the network it stands for."""
    reuse: bool
    curious: bool
    """Whether the picture is small enough to be laid out several times."""
    groups: list[int]
    """Item -> the group of equal frames to which it belongs; empty where nothing is chosen."""
    known: dict[object, tuple[int, Placed]] = field(default_factory=dict[object, tuple[int, Placed]])
    """What was solved so far, each with a number of its own."""
    alike: dict[tuple[Placed, int], tuple[int, Placed]] = field(
        default_factory=dict[tuple[Placed, int], tuple[int, Placed]]
    )
    """Of those that turned out the same, the first."""
    drawn: dict[tuple[int, ...], tuple[float, Geometry]] = field(
        default_factory=dict[tuple[int, ...], tuple[float, Geometry]]
    )
    """Identities of all solved frames -> how hard the whole picture is to follow, and the picture."""

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


def _weights(pieced: Pieced) -> list[int]:
    weight = [1] * len(pieced.items)
    for index in reversed(range(len(pieced.items))):
        item = pieced.items[index]
        if isinstance(item, Node):
            weight[index] = ENTERING if item.role == "input" else max(1, item.ops // item.copies)
        else:
            weight[index] = 1 + sum(weight[child] % ENTERING for child in pieced.children[index])
    return weight


def prepare(scene: Scene, direction: Direction, reuse: bool) -> Work:
    """Return a scene that is ready to be laid out."""
    pieced = split_edges(scene)
    work = Work(scene, pieced, direction, _weights(pieced), reuse, len(pieced.items) <= SMALL, [])
    if work.curious:
        _group(work)
    return work


def _group(work: Work) -> None:
    """Number the groups of frames that look the same."""
    count = len(work.pieced.items)
    work.groups = [0] * count
    known: dict[object, int] = {}
    for index in reversed(range(count)):
        item = work.pieced.items[index]
        if isinstance(item, Box):
            key = _level_key(work, index, work.groups, (*_margins(item, work.direction), NOWHERE, FREE))
            work.groups[index] = known.setdefault(key, len(known) + 1)


def solve_all(work: Work, told: Surroundings, choices: Choices) -> list[Placed | None]:
    """Solve every frame, the innermost first."""
    pieced = work.pieced
    count = len(pieced.items)
    placed: list[Placed | None] = [None] * count
    identity = [0] * count
    for index in reversed(range(count)):
        item = pieced.items[index]
        if isinstance(item, Node):
            continue
        choice = choices.get(work.groups[index], FREE) if choices else FREE
        frame = (*_margins(item, work.direction), told.get(index, NOWHERE), choice)
        key = _level_key(work, index, identity, frame)
        if not work.reuse:
            key = index, key
        found = work.known.get(key)
        if found is None:
            found = (len(work.known) + 1, solve(_level(work, index, placed, frame)))
            if work.curious:
                found = work.alike.setdefault((found[1], 0 if work.reuse else index), found)
            work.known[key] = found
        identity[index], placed[index] = found
    return placed


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


def _level_key(work: Work, index: int, identity: list[int], frame: Frame) -> object:
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


def _level(work: Work, index: int, placed: list[Placed | None], frame: Frame) -> Level:
    pieced, edges = work.pieced, work.scene.edges
    slots: list[Slot] = []
    for child in pieced.children[index]:
        item = pieced.items[child]
        inner = placed[child]
        if isinstance(item, Node):
            size = (item.height, item.width) if work.sideways else (item.width, item.height)
            slots.append(Slot(*size, None, None, weight=work.weight[child]))
        elif inner is not None:
            slots.append(Slot(inner.width, inner.height, inner.ins, inner.outs, weight=work.weight[child]))
    nets = tuple(
        Net(source, tuple(targets), *_label_room(work, edge), bool(edges[edge].ends))
        for edge, (source, targets) in pieced.nets[index].items()
    )
    margins, least, (above, below), choice = frame
    return Level(
        tuple(slots), nets, len(pieced.ins[index]), len(pieced.outs[index]), margins,
        above=above, below=below, curious=work.curious, choice=choice, min_height=least, mark=work.mark,
    )  # fmt: skip


def _label_room(work: Work, edge: int) -> tuple[float, float]:
    """Return the room that the text at a line needs beside it and along it."""
    label = work.scene.edges[edge].label
    if not label:
        return 0.0, 0.0
    width = text_width(label, EDGE_LABEL_SIZE)
    return (14.0, width) if work.sideways else (width, 0.0)
