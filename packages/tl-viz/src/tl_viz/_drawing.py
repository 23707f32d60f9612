"""What `draw` gives back: the picture in every format, and what it shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, final

from tl_core import ConfigurationError
from tl_viz._write.dot import to_dot
from tl_viz._write.pdf import to_pdf
from tl_viz._write.png import to_png
from tl_viz._write.svg import to_svg

if TYPE_CHECKING:
    from os import PathLike

    from tl_viz._display import Display
    from tl_viz._layout import Direction, Geometry
    from tl_viz._scene import Scene
    from tl_viz._theme import Theme

SUFFIXES = (".svg", ".dot", ".gv", ".pdf", ".png")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollapsePlan:
    """What a picture shows and what it hides."""

    mode: str
    """What was asked for: `auto`, `none`, `max`, or a level from 0 to 1."""
    planner: str
    """How the plan was found: `exact`, `nested`, `all`, or `pins` where pinned ops did not fit into the usual size."""
    items: int
    """How many boxes with text there are."""
    shown: int
    """How many ops are drawn one by one."""
    hidden: int
    """How many ops stand inside closed modules, folded runs and bundles, or are not drawn at all."""
    open: tuple[str, ...]
    """Keys of the frames that are drawn open, from the outside in."""
    closed: tuple[str, ...]
    """Keys of the items that stand for more than one op."""
    unseen: dict[str, int] = field(default_factory=dict[str, int])
    """What was left out before planning, in words -> how many ops."""

    @property
    def total(self) -> int:
        """How many ops were run."""
        return self.shown + self.hidden


@final
class Drawing:
    """A picture of a trace.

    In a notebook it shows itself. It never opens a window, and writes a file only in `save`.
    """

    def __init__(
        self,
        scene: Scene,
        geometry: Geometry,
        display: Display,
        theme: Theme,
        plan: CollapsePlan | None,
        direction: Direction,
    ) -> None:
        self._scene = scene
        self._geometry = geometry
        self._display = display
        self._theme = theme
        self._direction: Direction = direction
        self._plan = plan

    @property
    def collapse_plan(self) -> CollapsePlan:
        """What the picture shows and what it hides.

        Raises:
            ConfigurationError: nothing was planned, because `planner_budget=` forbade it.
        """
        if self._plan is None:
            raise ConfigurationError(
                "this picture has no plan: planner_budget= was given and the network is past its limit.",
                code="collapse_plan_unavailable",
                remedy="draw again without planner_budget=",
            )
        return self._plan

    @cached_property
    def svg(self) -> str:
        """The picture as SVG text."""
        return to_svg(self._display)

    @cached_property
    def dot(self) -> str:
        """The picture as DOT text, for Graphviz; making it needs no Graphviz."""
        return to_dot(self._scene, self._theme, self._direction, name=self._display.title)

    @property
    def scene(self) -> Scene:
        """The items and lines before they had places."""
        return self._scene

    @property
    def geometry(self) -> Geometry:
        """The place of every item and line."""
        return self._geometry

    @property
    def width(self) -> float:
        """Width in pixels."""
        return self._display.width

    @property
    def height(self) -> float:
        """Height in pixels."""
        return self._display.height

    @property
    def shown(self) -> int:
        """How many ops are drawn one by one."""
        return self.collapse_plan.shown

    @property
    def hidden(self) -> int:
        """How many ops stand inside closed modules, folded runs and bundles, or are not drawn at all."""
        return self.collapse_plan.hidden

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines under the picture."""
        return self._scene.notes

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to a file, in the format that its suffix says.

        Args:
            path: a file name that ends in `.svg`, `.dot`, `.gv`, `.pdf` or `.png`. The folder must exist.

        Returns:
            The path of the file.

        Raises:
            ConfigurationError: the suffix is none of these.
            MissingDependencyError: a PNG needs `pip install 'tl-viz[png]'`.

        Example:
            >>> drawing.save("network.svg")  # doctest: +SKIP
        """
        target = Path(path)
        suffix = target.suffix.lower()
        if suffix == ".svg":
            target.write_text(self.svg, encoding="utf-8")
        elif suffix in {".dot", ".gv"}:
            target.write_text(self.dot, encoding="utf-8")
        elif suffix == ".pdf":
            target.write_bytes(to_pdf(self._display))
        elif suffix == ".png":
            target.write_bytes(to_png(self._display))
        else:
            raise ConfigurationError(
                f"save({str(path)!r}): {suffix or 'no suffix'} is not a format; there are {', '.join(SUFFIXES)}.",
                code="picture_format_invalid",
                remedy=f"write save({str(target.with_suffix('.svg'))!r})",
                path=str(path),
                suffixes=SUFFIXES,
            )
        return target

    def _repr_svg_(self) -> str:  # pyright: ignore[reportUnusedFunction] - called by notebooks
        return self.svg

    def __repr__(self) -> str:
        plan = self._plan
        if plan is None:
            return f"<Drawing of {self._display.title}, not planned, {self.width:.0f} by {self.height:.0f} px>"
        return (
            f"<Drawing of {self._display.title}: {plan.items} items for {plan.total} ops, "
            f"{self.width:.0f} by {self.height:.0f} px>"
        )
