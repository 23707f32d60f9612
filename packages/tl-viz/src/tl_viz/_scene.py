"""The picture before it has places: nodes, nested boxes and hyperedges, all frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NodeRole = Literal["op", "module", "input", "output", "buffer", "constant", "bundle", "hook", "stop"]
"""What a node stands for; the theme gives each role its colours."""

BoxRole = Literal["root", "module", "run", "segment"]
"""What a frame stands for: the picture, a module call, a folded run, or a cut of siblings."""

EdgeRole = Literal["data", "loop", "faint"]
"""A tensor, a tensor carried to the next round of a loop, or a tensor that no output needs."""

JoinKind = Literal["branches", "branch"]
"""What meets in a node: tensors of several branches of the network, or of one."""

NO_BRANCHES = "no branches"
"""What is said where branches join, where they do nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRow:
    """One line of text in a node or in the title of a box."""

    text: str
    """What is written."""
    size: float = 11.0
    """Font size in pixels."""
    bold: bool = False
    """Whether the bold face is used."""
    muted: bool = False
    """Whether the secondary text colour is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One visible box with text: an op, a closed module, a bundle."""

    key: str
    """Stable identity, unique in the scene; ends up as an attribute in the SVG."""
    role: NodeRole
    """What the node stands for."""
    rows: tuple[TextRow, ...]
    """The lines of text, top to bottom."""
    width: float
    """Width in pixels, wide enough for every row."""
    height: float
    """Height in pixels, high enough for all rows."""
    ops: int = 1
    """How many ops of the network this node stands for, its repeats included."""
    first: str = ""
    """Label of the first op that it stands for."""
    copies: int = 1
    """How many equal siblings it stands for; above 1 it is drawn as a stack."""
    tooltip: str = ""
    """Text shown on hover."""
    link: str = ""
    """Address that a click opens, or an empty string."""
    tint: str = ""
    """Fill colour that replaces the theme's, or an empty string."""
    marked: bool = False
    """Whether the user asked to highlight it."""
    learned: bool = False
    """Whether it holds parameters."""
    joins: JoinKind | None = None
    """What meets in it, where two or more tensors do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A frame around nodes and further boxes."""

    key: str
    """Stable identity, unique in the scene."""
    role: BoxRole
    """What the frame stands for."""
    title: tuple[TextRow, ...]
    """One line, given as parts that stand beside each other; empty for none."""
    children: tuple[Node | Box, ...]
    """What stands inside, in the order of execution."""
    copies: int = 1
    """How many equal siblings it stands for; above 1 it is drawn as a stack."""
    tooltip: str = ""
    """Text shown on hover over the title."""
    link: str = ""
    """Address that a click on the title opens, or an empty string."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One tensor on its way from the node that made it to every node that reads it."""

    source: str
    """Key of the producing node."""
    targets: tuple[str, ...]
    """Keys of the reading nodes."""
    role: EdgeRole = "data"
    """How the line is drawn."""
    label: str = ""
    """Text beside the line, used for what a loop carries."""
    slots: tuple[str, ...] = ()
    """Which argument it is at each target, where the order of arguments matters; empty for none."""
    ends: tuple[str, ...] = ()
    """Which copies of a stack, or rounds of a loop, give and read it, for each target; empty for none."""


def joins_line(clauses: Sequence[str]) -> str:
    """Return what is said of where branches join as one line."""
    return clauses[0] if clauses and clauses[0] == NO_BRANCHES else f"branches join: {' · '.join(clauses)}"


def heavy_line(heavy: str) -> str:
    """Return what is said of where most parameters are as one line; an empty string where nothing is said."""
    return f"most params: {heavy}" if heavy else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A whole picture without coordinates."""

    root: Box
    """The outermost frame, itself not drawn."""
    edges: tuple[Edge, ...]
    """Every visible connection."""
    made: str = ""
    """The line under the title: what the network is made of."""
    heavy: str = ""
    """The boxes and frames that hold most parameters, with their shares; empty where fewer than two hold any."""
    joins: tuple[str, ...] = ()
    """What is said below of where branches join, in clauses between which lines may break."""
    notes: tuple[str, ...] = field(default=())
    """Lines that stand under the picture: what was left out, and why."""

    def nodes(self) -> Iterator[Node]:
        """Yield every node, in the order of execution."""
        for item in walk(self.root):
            if isinstance(item, Node):
                yield item

    def boxes(self) -> Iterator[Box]:
        """Yield every frame, the outer ones first."""
        for item in walk(self.root):
            if isinstance(item, Box):
                yield item


def walk(box: Box) -> Iterator[Node | Box]:
    """Yield everything inside `box`, parents before children, without `box` itself."""
    stack: list[Node | Box] = list(reversed(box.children))
    while stack:
        item = stack.pop()
        yield item
        if isinstance(item, Box):
            stack.extend(reversed(item.children))
