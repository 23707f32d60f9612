"""`trace.summary()`: what a network is, in a table that fits on a screen."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

from tl_core._errors import (
    ArgumentTypeError,
    BackendUnsupportedError,
    ConfigurationError,
    MissingDependencyError,
)
from tl_core._facts import COLUMNS, VIEWS, Totals, chosen_columns
from tl_core._find import state_of
from tl_core._grid import Grid, Row, lay_out, printable
from tl_core._html import to_html
from tl_core._listing import Listing
from tl_core._near import meant
from tl_core._outline import Item, outline, tree_depth
from tl_core._signature import fitting, fitting_options
from tl_core._totals import DOT, footer, signature, unlisted
from tl_core._tree import ModuleTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderResult

    from tl_core._backend import OpCost
    from tl_core._cost import TraceCost
    from tl_core._state import State
    from tl_core._trace import Trace
    from tl_core._tree import ModuleNode

Level = Literal["auto", "module", "op"]
View = Literal["overview", "compute"]

SCREEN_ROWS = 40
"""Rows that a summary chooses its depth for when no depth is given."""

FEW_ROWS, PAGE_ROWS = 12, 64
"""One more level is opened where there would be few rows otherwise, up to a long page."""

MODULE_ROWS, OP_ROWS = 100, 200
"""Rows that are printed when `max_rows` is not given."""

WIDEST, NARROWEST = 100, 40

ASCII = str.maketrans(
    {
        "├": "|",
        "└": "`",
        "│": "|",
        "─": "-",
        "×": "x",
        "…": "~",
        "·": "-",
        "≥": ">",
        "→": ">",
        "µ": "u",  # noqa: RUF001
    }
)
"""What replaces drawing characters where the output cannot show them."""


@fitting_options("tl.options.SummaryOptions")
@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """What a summary shows; see `Trace.summary`."""

    level: Level = "auto"
    view: View = "overview"
    depth: int | None = None
    columns: Sequence[str] | None = None
    fold_repeats: bool = True
    max_rows: int | None = None

    def __post_init__(self) -> None:
        _one_of("level", self.level, ("auto", "module", "op"))
        _one_of("view", self.view, tuple(VIEWS))
        _count("depth", self.depth, 0)
        _count("max_rows", self.max_rows, 1)


@final
class Summary:
    """A summary table: `print` it, let a notebook show it, or take `text()`.

    `str` is plain text in any case, so that it can be written to a file. Where Python or rich shows the object on a
    terminal (at the prompt, or with `show()`), it has colours.
    """

    __slots__ = ("grid",)

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        """The table as data."""

    @fitting("summary.text")
    def text(self, width: int | None = None, *, ascii_only: bool = False) -> str:
        """The table as plain text.

        Args:
            width: columns to fit in, at least 40; default is the terminal's width, at most 100.
            ascii_only: draw with ASCII characters.

        Returns:
            Lines of at most `width` columns, without a final line break.
        """
        lines = ["".join(text for text, _ in line) for line in lay_out(self.grid, _width(width))]
        text = "\n".join(lines)
        return text.translate(ASCII) if ascii_only else text

    @fitting("summary.show")
    def show(self) -> None:
        """Print the table, with colours on a terminal."""
        # rich takes 40 ms to import, and plain text needs none of it
        from tl_core._terminal import print_grid  # noqa: PLC0415

        print_grid(self.grid)

    def __str__(self) -> str:
        return self.text(ascii_only=not _draws(sys.stdout.encoding if sys.stdout is not None else "utf-8"))

    def __repr__(self) -> str:
        if sys.stdout is None or not sys.stdout.isatty() or "NO_COLOR" in os.environ:
            return str(self)
        from tl_core._terminal import colored  # noqa: PLC0415  # as in `show`

        return colored(self.grid, _width(None)) if _draws(sys.stdout.encoding) else str(self)

    def _repr_html_(self) -> str:  # pyright: ignore[reportUnusedFunction] - notebooks call it
        return to_html(self.grid)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from tl_core._terminal import rich_lines  # noqa: PLC0415  # as in `show`

        del console
        yield from rich_lines(self.grid, min(options.max_width, WIDEST))


def summarize(trace: Trace, options: SummaryOptions) -> Summary:
    """Make the summary of a trace.

    Args:
        trace: a finished trace.
        options: what to show.

    Returns:
        The table.

    Raises:
        ArgumentTypeError: `columns` is not a list.
        ConfigurationError: a name in `columns` is unknown.

    Example:
        >>> from tl_core import TraceBuilder, TraceInfo
        >>> builder = TraceBuilder()
        >>> _ = builder.source("input", "x", (2, 3), "float32", "cpu", False)
        >>> info = TraceInfo(name="f_1", backend="torch", model_class_name="f", framework_version="2", duration_ns=1)
        >>> print(summarize(builder.finish(info), SummaryOptions()).text().splitlines()[0])
        f · f_1
    """
    state = state_of(trace)
    records, cost = state.records, state.cost
    costs, missing = _costs(cost)
    root = ModuleTree(records, state.info.model_class_name, costs).root
    by_module = options.level == "module" or (options.level == "auto" and bool(root.children))
    columns = chosen_columns(options.columns, options.view)
    if by_module:
        depth, notes = _depth(root, options)
        items = outline(root, depth, fold=options.fold_repeats)
    else:
        listing = Listing(state, costs, root if options.fold_repeats else None)
        items, notes = listing.items, tuple(unlisted(listing.unlisted))
        columns = columns if options.columns is not None else ("module", *columns)
    totals = Totals(params=cost.param_count, work=root.work, counted=costs is not None)
    rows = [_row(item, columns, totals) for item in items]
    if any(item.facts.tied and not item.facts.params for item in items) and "params" in columns:
        notes = (*notes, "Parameters in brackets are used there too and counted elsewhere.")
    grid = Grid(
        title=_title(state),
        subtitle=signature(records, state.info.outcome),
        name_title="Module" if by_module else "Layer",
        columns=tuple(COLUMNS[name][0] for name in columns),
        rows=tuple(_limited(rows, options.max_rows or (MODULE_ROWS if by_module else OP_ROWS))),
        notes=notes,
        footer=footer(trace, records, cost, missing),
    )
    return Summary(grid)


def _title(state: State) -> str:
    return f"{printable(state.info.model_class_name)}{DOT}{printable(state.info.name)}"


def _costs(cost: TraceCost) -> tuple[Sequence[OpCost | None] | None, str]:
    """The costs of all calls, or None and the reason why there are none here."""
    try:
        return cost.calls, ""
    except (BackendUnsupportedError, MissingDependencyError) as error:
        return None, f"not counted: {error.problem.removesuffix('.')}; {error.remedy}"


def _depth(root: ModuleNode, options: SummaryOptions) -> tuple[int, tuple[str, ...]]:
    """The depth that was asked for, or the greatest one that fits on a screen."""
    whole = tree_depth(root)
    if options.depth is not None:
        return options.depth, ()
    counts = [len(outline(root, depth, fold=options.fold_repeats)) for depth in range(whole + 1)]
    depth = _fitting(counts, options.max_rows or PAGE_ROWS)
    if depth == whole:
        return depth, ()
    return depth, (f"{depth} of {whole} levels shown; summary(depth={whole}) shows all.",)


def _fitting(counts: Sequence[int], limit: int) -> int:
    """The greatest depth whose rows fit on a screen; `counts` are the rows at each depth."""
    last = len(counts) - 1
    depth = max((at for at in range(last + 1) if counts[at] <= min(SCREEN_ROWS, limit)), default=0)
    depth = max(depth, min(1, last))
    if depth < last and counts[depth] < FEW_ROWS and counts[depth + 1] <= min(PAGE_ROWS, limit):
        depth += 1
    return depth


def _row(item: Item, columns: Sequence[str], totals: Totals) -> Row:
    return Row(
        kind=item.kind,
        tree=item.tree,
        name=printable(item.name),
        type=printable(item.type),
        remark=item.remark,
        cells=() if item.kind == "note" else tuple(printable(COLUMNS[name][1](item.facts, totals)) for name in columns),
    )


def _limited(rows: list[Row], limit: int) -> list[Row]:
    """About `limit` rows: the first ones and the last ones, and a line about those between."""
    if not rows:
        return [_note("nothing was recorded")]
    if len(rows) <= limit + 1:  # a line about one row would take its place
        return rows
    last = limit // 3
    hidden = len(rows) - limit
    note = _note(f"... {hidden:,} more rows; summary(max_rows={len(rows)}) shows all")
    return [*rows[: limit - last], note, *(rows[-last:] if last else [])]


def _note(text: str) -> Row:
    return Row(kind="note", tree="", name=text, type="", remark="", cells=())


def _width(width: int | None) -> int:
    if width is None:
        return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))
    return max(NARROWEST, width)


def _draws(encoding: str | None) -> bool:
    """Whether an output with this encoding can show the drawing characters."""
    try:
        "".join(map(chr, ASCII)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _one_of(option: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigurationError(
            f"summary({option}={value!r}): there is no such {option}.{meant(str(value), known)}",
            code="summary_option_invalid",
            remedy=f"{option} is one of {', '.join(map(repr, known))}",
            option=option,
            asked=value,
        )


def _count(option: str, value: object, least: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(
            f"summary({option}={value!r}): a whole number or None is meant.",
            code="summary_option_invalid",
            remedy=f"summary({option}=3)",
            option=option,
            asked=value,
        )
    if value < least:
        raise ConfigurationError(
            f"summary({option}={value}): the least is {least}.",
            code="summary_option_invalid",
            remedy=f"summary({option}={max(least, 3)})",
            option=option,
            asked=value,
        )
