"""Summary tables with the colours of a terminal, by rich."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tl_core._grid import Grid, Style, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STYLES: Mapping[Style, str] = {
    "title": "bold",
    "head": "bold",
    "rule": "dim",
    "tree": "dim",
    "name": "",
    "type": "cyan",
    "number": "",
    "dim": "dim",
    "label": "bold",
    "plain": "",
}
"""Colours that read on dark and on light backgrounds."""


def rich_lines(grid: Grid, width: int) -> Iterator[Text]:
    """The lines of a table as rich texts of at most `width` columns."""
    for line in lay_out(grid, width):
        yield Text.assemble(*((text, STYLES[style]) for text, style in line), no_wrap=True, end="\n")


def print_grid(grid: Grid) -> None:
    """Print a table to standard output; colours where it is a terminal."""
    console = Console(highlight=False)
    for line in rich_lines(grid, min(console.width, 100)):
        console.print(line)


def colored(grid: Grid, width: int) -> str:
    """A table as text with the colour codes of a terminal."""
    console = Console(file=StringIO(), force_terminal=True, width=width, highlight=False)
    with console.capture() as captured:
        for line in rich_lines(grid, width):
            console.print(line)
    return captured.get().removesuffix("\n")
