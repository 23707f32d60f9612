"""One level of the picture as a problem of its own, and its solution.

A level is one frame with its direct children. Children that are frames themselves come with their finished size and
with the places of their ports, so a level never looks inside them. All lengths are pixels, x to the right, y down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OUTSIDE = -1
"""Stands for the frame itself where a net names a child."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One child of a level."""

    width: float
    height: float
    ins: tuple[float, ...] | None
    """x of each input port from the left edge; None for a node, whose ports are placed by the level."""
    outs: tuple[float, ...] | None
    """x of each output port from the left edge; None for a node."""
    narrow: float = 0.0
    """Width of its narrower end where a node stands for several below each other; 0 where it has one width."""
    weight: int = 1
    """How much of the network it stands for: the heaviest path becomes the straight one."""


@dataclass(frozen=True, slots=True)
class Net:
    """One tensor inside one level. Ports are counted per child, or per side of the frame for `OUTSIDE`."""

    source: tuple[int, int]
    targets: tuple[tuple[int, int], ...]
    label_width: float = 0.0
    """Room that a text beside the line needs; only used where the line runs back."""
    label_length: float = 0.0
    """How far this text reaches along the line, where the picture flows sideways."""
    worded: bool = False
    """Whether a text stands beside its arrows, so that the row that they enter needs room above it."""


@dataclass(frozen=True, slots=True)
class Margins:
    """What a frame needs around its content."""

    top: float
    bottom: float
    side: float
    title: tuple[float, ...] = ()
    """Widths of the parts of the title, kept free of lines."""
    title_at_end: bool = False
    """Whether the title strip lies where the outputs leave instead of where the inputs enter."""
    left: float = 0.0
    """Extra room on the left, used for titles when the picture runs sideways."""


Order = Literal["run", "mirrored", "centred"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What can be drawn in several ways that are equally good as far as one frame can see."""

    order: Order = "run"
    """Whether what ran first stands on the left; on the right, and long lines run on the left where both sides are alike; or the \
main path stands in the middle."""
    sides: tuple[tuple[int, bool], ...] = ()
    """Net whose line passes rows, and whether it does so on the right of the main path."""


FREE = Choice()


@dataclass(frozen=True, slots=True)
class Freedom:
    """What there is to choose in a level, and how what was chosen looks."""

    lines: tuple[tuple[int, bool], ...]
    """Net whose line passes rows beside the main path, and whether it does so on the right."""
    torn: int
    """How many lines around pieces of the main path run on the other side than most do."""


@dataclass(frozen=True, slots=True)
class Level:
    """The whole problem of one frame."""

    slots: tuple[Slot, ...]
    nets: tuple[Net, ...]
    ins: int
    outs: int
    margins: Margins
    may_wrap: bool = True
    above: tuple[int, ...] = ()
    """Order from left to right in which its input ports are reached, as seen from around the frame; empty where that is not known."""
    below: tuple[int, ...] = ()
    """Order in which its output ports are left."""
    curious: bool = False
    """Whether the surroundings of the frames in it shall be told."""
    choice: Choice = FREE
    min_height: float = 0.0
    mark: tuple[float, float] = (100.0, 16.0)
    """How wide and how high the words are that stand at the ends of columns."""


@dataclass(frozen=True, slots=True)
class Path:
    """One polyline of a net."""

    net: int
    points: tuple[tuple[float, float], ...]
    arrow: bool
    """Whether the last point touches a node, so that an arrowhead belongs there."""


TitlePlaces = tuple[tuple[float, float], ...]
"""Where each part of a title begins, and the middle of its line, from the upper left corner of the finished frame."""

Area = tuple[float, float, float, float]
"""Left, top, width and height."""


@dataclass(frozen=True, slots=True)
class Columns:
    """What tells the columns of a level that is wrapped apart from branches."""

    heads: tuple[Area, ...]
    """Room for words over every column but the first."""
    feet: tuple[Area, ...]
    """Room for words under every column but the last."""
    gaps: tuple[Area, ...]
    """What lies between two columns."""


Sides = tuple[tuple[int, ...], tuple[int, ...]]
"""Order from left to right in which the input ports of a frame are reached, and its output ports left; one number for each port."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The solution of a level, relative to the top left corner of its frame."""

    width: float
    height: float
    corners: tuple[tuple[float, float], ...]
    """Top left corner of each child."""
    ins: tuple[float, ...]
    outs: tuple[float, ...]
    paths: tuple[Path, ...]
    labels: tuple[tuple[int, float, float], ...] = ()
    """Net, and the left middle of the room kept for its text; the middle of this room where the picture flows sideways."""
    title: TitlePlaces = ()
    columns: Columns | None = None
    around: tuple[Sides | None, ...] = ()
    """For each child that is a frame, what its own level can know of its surroundings."""
    freedom: Freedom | None = None
    """What can be chosen; None where everything stands below each other or nobody asked."""
