"""Summary tables for notebooks: one self-contained piece of HTML that reads on light and dark pages."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tl_core._grid import NOT_CALLED

if TYPE_CHECKING:
    from tl_core._grid import Column, Grid, Row

FONT = (
    "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
    "font-size:12.5px;line-height:1.45"
)
EDGE = "1px solid rgba(128,128,128,.45)"
CELL = "padding:0 0 0 22px;border:0;background:none;white-space:pre;vertical-align:top;line-height:1.3"
FADED = "opacity:.62"
TYPE = "color:#0891b2"
BAR = "rgba(8,145,178,.2)"


def to_html(grid: Grid) -> str:
    """The table as HTML.

    Args:
        grid: the table.

    Returns:
        A `div`; every text from the model is escaped, and nothing is loaded from elsewhere.
    """
    head = "".join(_head(column) for column in grid.columns)
    rows = "".join(_row(row, grid.columns) for row in grid.rows)
    notes = "".join(f'<div style="{FADED}">{escape(note)}</div>' for note in grid.notes)
    footer = "".join(
        f'<div style="display:flex;gap:1.4em"><b style="flex:0 0 5.2em">{escape(label)}</b>'
        f"<span>{escape(text)}</span></div>"
        for label, text in grid.footer
    )
    return (
        f'<div style="{FONT};overflow-x:auto;max-width:100%">'
        f"<div><b>{escape(grid.title)}</b></div>"
        f'<div style="{FADED}">{escape(grid.subtitle)}</div>'
        f'<table style="border-collapse:collapse;margin:6px 0;{FONT};border-top:{EDGE};border-bottom:{EDGE}">'
        f'<thead><tr style="background:none">'
        f'<th style="{CELL};padding-left:0;text-align:left">{escape(grid.name_title)}</th>{head}</tr></thead>'
        f'<tbody style="border-top:{EDGE}">{rows}</tbody></table>{notes}{footer}</div>'
    )


def _head(column: Column) -> str:
    return f'<th style="{CELL};text-align:{_side(column)}">{escape(column.title)}</th>'


def _row(row: Row, columns: tuple[Column, ...]) -> str:
    tree = f'<span style="{FADED}">{escape(row.tree)}</span>'
    if row.kind == "note":
        style = f"{CELL};padding-left:0;text-align:left;{FADED}"
        return f'<tr style="background:none"><td colspan="{len(columns) + 1}" style="{style}">{tree}{escape(row.name)}</td></tr>'
    typed = f' <span style="{TYPE}">({escape(row.type)})</span>' if row.type else ""
    remark = f' <span style="{FADED}">{escape(row.remark)}</span>' if row.remark else ""
    name = f'<span style="{FADED}">{escape(row.name)}</span>' if row.kind == "ops" else escape(row.name)
    cells = "".join(_cell(row, text, column) for text, column in zip(row.cells, columns, strict=True))
    return (
        f'<tr style="background:none"><td style="{CELL};padding-left:0;text-align:left">'
        f"{tree}{name}{typed}{remark}</td>{cells}</tr>"
    )


def _cell(row: Row, text: str, column: Column) -> str:
    faded = f";{FADED}" if row.kind == "ops" or text == NOT_CALLED else ""
    return f'<td style="{CELL};text-align:{_side(column)}{faded}{_bar(text)}">{escape(text)}</td>'


def _bar(text: str) -> str:
    """A bar behind a share, from the right, as long as the share."""
    share = text.removesuffix("%").removeprefix("<")
    if not text.endswith("%") or not share.replace(".", "").isdecimal():
        return ""
    gradient = f"linear-gradient(to left,{BAR} {share}%,transparent {share}%)"
    return f";background:{gradient} right/calc(100% - 14px) 100% no-repeat"


def _side(column: Column) -> str:
    return "left" if column.left else "right"
