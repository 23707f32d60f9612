"""Fixed-width tables: columns that fit a width, cut names, and lines of styled pieces for text, terminal and HTML."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RowKind = Literal["root", "module", "fold", "ops", "note"]
Style = Literal["title", "head", "rule", "tree", "name", "type", "number", "dim", "label", "plain"]

Line = list[tuple[str, Style]]
"""Pieces of text with what they are; a renderer decides how that looks."""

GAP = 2
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
RULE = "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
NAME_MIN = 16
NOT_CALLED = "not called"
"""Stands in place of a shape."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column beside the names."""

    title: str
    left: bool = False
    """Whether the cells are aligned to the left."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table."""

    kind: RowKind
    tree: str
    """Guide lines in front of the name."""
    name: str
    type: str
    """Class of a module or function of an op; empty where there is none."""
    remark: str
    """What follows the type, such as `2 calls`."""
    cells: tuple[str, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table as data: what every renderer reads."""

    title: str
    subtitle: str
    name_title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    """Sentences under the table."""
    footer: tuple[tuple[str, str], ...]
    """Labelled totals, such as `("Params", "11,689,512")`."""


def cell_width(text: str) -> int:
    """Columns that a text takes on a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def printable(text: str) -> str:
    """A text without control characters, so that it stays on its line."""
    return (
        text
        if text.isprintable()
        else "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    )


def cut(text: str, width: int) -> str:
    """Shorten a text to `width` columns, marking what was left out at its end."""
    if cell_width(text) <= width:
        return text
    kept, used = "", 0
    for char in text:
        used += _char_width(char)
        if used > width - 1:
            break
        kept += char
    return (kept + ELLIPSIS) if width > 0 else ""


def cut_start(text: str, width: int) -> str:
    """Shorten a text to `width` columns, marking what was left out at its beginning."""
    return text if cell_width(text) <= width else cut(text[::-1], width)[::-1]


def pad(text: str, width: int, *, left: bool) -> str:
    """Fill a text with spaces to `width` columns."""
    space = " " * max(0, width - cell_width(text))
    return text + space if left else space + text


def wrap(text: str, width: int) -> list[str]:
    """Break a text at spaces into lines of at most `width` columns; a longer word is cut."""
    lines: list[str] = []
    for word in text.split(" "):
        shown = cut(word, width)
        if lines and cell_width(lines[-1]) + 1 + cell_width(shown) <= width:
            lines[-1] += f" {shown}"
        else:
            lines.append(shown)
    return lines or [""]


def name_text(row: Row) -> str:
    """The first cell of a row."""
    typed = f" ({row.type})" if row.type else ""
    remark = f" {row.remark}" if row.remark else ""
    return f"{row.tree}{row.name}{typed}{remark}"


def lay_out(grid: Grid, width: int) -> Iterator[Line]:
    """Lay a table out in lines of at most `width` columns.

    Args:
        grid: the table.
        width: columns of the terminal.

    Yields:
        The lines as styled pieces. When the columns do not fit, the names are cut first, and then the rightmost
        columns are left out.
    """
    columns, widths, name_width = _fit(grid, width)
    total = name_width + sum(size + GAP for size in widths)
    yield [(cut(grid.title, width), "title")]
    for line in wrap(grid.subtitle, width) if grid.subtitle else ():
        yield [(line, "dim")]
    yield [(RULE * total, "rule")]
    head: Line = [(pad(cut(grid.name_title, name_width), name_width, left=True), "head")]
    for column, size in zip(columns, widths, strict=True):
        head.append((_cell(column.title, size, column), "head"))
    yield _trimmed(head)
    yield [(RULE * total, "rule")]
    for row in grid.rows:
        if row.kind == "note":
            yield [(row.tree, "tree"), (cut(row.name, width - cell_width(row.tree)), "dim")]
        else:
            yield _trimmed(_row(row, columns, widths, name_width))
    yield [(RULE * total, "rule")]
    yield from _below(grid, width)


def _below(grid: Grid, width: int) -> Iterator[Line]:
    for note in grid.notes:
        for line in wrap(note, width):
            yield [(line, "dim")]
    indent = max((cell_width(label) for label, _ in grid.footer), default=0) + GAP
    for label, text in grid.footer:
        for number, line in enumerate(wrap(text, max(8, width - indent))):
            yield [(pad("" if number else label, indent, left=True), "label"), (line, "plain")]


def _row(row: Row, columns: Sequence[Column], widths: Sequence[int], name_width: int) -> Line:
    free = _free(row, len(columns))
    span = name_width + sum(size + GAP for size in widths[:free])
    line = _name(row, span)
    line.append((" " * (span - sum(cell_width(text) for text, _ in line)), "plain"))
    for at in range(free, len(columns)):
        style: Style = "dim" if row.kind == "ops" or row.cells[at] == NOT_CALLED else "number"
        line.append((_cell(row.cells[at], widths[at], columns[at]), style))
    return line


def _name(row: Row, width: int) -> Line:
    """The first cell of a row in pieces, cut to `width` columns."""
    pieces: list[tuple[str, Style]] = [
        (row.tree, "tree"),
        (row.name, "dim" if row.kind == "ops" else "name"),
        (f" ({row.type})" if row.type else "", "type"),
        (f" {row.remark}" if row.remark else "", "dim"),
    ]
    line: Line = []
    for text, style in pieces:
        shown = cut(text, width)
        width -= cell_width(shown)
        line.append((shown, style))
        if shown != text:
            break
    return line


def _cell(text: str, width: int, column: Column) -> str:
    return " " * GAP + pad(cut(text, width), width, left=column.left)


def _fit(grid: Grid, width: int) -> tuple[tuple[Column, ...], list[int], int]:
    """Choose the columns and widths: natural where they fit, else shorter names, else fewer columns."""
    columns = grid.columns
    while True:
        widths = [
            max([cell_width(column.title), *(cell_width(row.cells[at]) for row in grid.rows if row.kind != "note")])
            for at, column in enumerate(columns)
        ]
        names = max(cell_width(grid.name_title), *(_name_need(row, widths) for row in grid.rows), 0)
        left = width - sum(size + GAP for size in widths)
        if left >= min(names, NAME_MIN) or not columns:
            return columns, widths, max(1, min(names, left))
        columns = columns[:-1]


def _free(row: Row, count: int) -> int:
    """How many of the first `count` cells are empty, so that the name may run on over them."""
    free = 0
    while free < count and not row.cells[free]:
        free += 1
    return free


def _name_need(row: Row, widths: Sequence[int]) -> int:
    """Width of the first column with which the name of a row is not cut."""
    if row.kind == "note":
        return 0
    free = _free(row, len(widths))
    return cell_width(name_text(row)) - sum(size + GAP for size in widths[:free])


def _trimmed(line: Line) -> Line:
    """A line without spaces at its end."""
    while line and not line[-1][0].rstrip():
        line = line[:-1]
    if line:
        text, style = line[-1]
        line[-1] = (text.rstrip(), style)
    return line
