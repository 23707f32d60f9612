"""The rows as text for a terminal and as Markdown."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from tl_doctor._row import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tl_doctor._row import Row

TITLE = "TorchLens doctor"
MARKS = {"ok": "ok", "info": "info", "warning": "warn", "error": "ERROR"}
MARK_WIDTH = 7
STATUS_WIDTH = 14
LABEL_MAX = 19
MAX_NAMED = 4
"""Most rows named among those that are not shown."""
WIDTH_MIN = 60
WIDTH_MAX = 120
"""A sentence over more columns is hard to follow."""


def text_table(rows: Sequence[Row], *, width: int, every: bool = False) -> str:
    """The rows as text.

    Args:
        rows: what to show, in this order.
        width: columns of the terminal.
        every: whether to show what was not found and needs nothing, too.

    Returns:
        The lines, the gravest findings first.
    """
    width = max(WIDTH_MIN, min(width, WIDTH_MAX))
    shown = [row for row in rows if every or row.detected or row.severity != "ok"]
    shown.sort(key=lambda row: -SEVERITIES.index(row.severity) if row.severity in {"warning", "error"} else 0)
    hidden = [row for row in rows if row not in shown]
    label_width = 2 + max((min(len(row.label), LABEL_MAX) for row in shown), default=0)
    lines = [f"{TITLE}: {_counted(rows)}", "─" * width]
    for row in shown:
        lines += _text_lines(row, label_width, width)
    lines.append("─" * width)
    if hidden:
        lines += textwrap.wrap(_left_out(hidden), width, break_on_hyphens=False)
    return "\n".join(lines)


def _left_out(rows: Sequence[Row]) -> str:
    """What is told of rows that are not shown."""
    names = [row.label for row in rows[:MAX_NAMED]]
    more = len(rows) - len(names)
    word = "other" if more == 1 else "others"
    others = f" and {more} {word} (--every, or show(every=True), prints them all)" if more else ""
    return f"{len(rows)} more, not found and nothing to do: {', '.join(names)}{others}."


def _text_lines(row: Row, label_width: int, width: int) -> Iterator[str]:
    indent = MARK_WIDTH + label_width + STATUS_WIDTH
    room = width - indent
    details = _wrapped(row.details, room) or [""]
    labels = textwrap.wrap(row.label, LABEL_MAX) or [""]
    if row.suggestion and row.severity != "ok":
        details += _wrapped(f"-> {row.suggestion}", room)
    for number in range(max(len(details), len(labels))):
        mark = MARKS[row.severity] if number == 0 else ""
        status = row.status if number == 0 else ""
        label = labels[number] if number < len(labels) else ""
        detail = details[number] if number < len(details) else ""
        yield f"{mark:{MARK_WIDTH}}{label:{label_width}}{status:{STATUS_WIDTH}}{detail}".rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _counted(rows: Iterable[Row]) -> str:
    count = Counter(row.severity for row in rows)
    grave = [f"{count[name]} {name}{'s' if count[name] > 1 else ''}" for name in ("error", "warning") if count[name]]
    return ", ".join(grave) if grave else "nothing to repair"


def markdown_table(rows: Sequence[Row]) -> str:
    """Every row as a Markdown table under a heading."""
    lines = [
        f"## {TITLE}",
        "",
        f"{len(rows)} rows, {_counted(rows)}.",
        "",
        "| Severity | Key | Subject | Status | Detected | Details | Suggestion |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        detected = "yes" if row.detected else "no"
        cells = (row.severity, f"`{row.key}`", row.label, f"`{row.status}`", detected, row.details, row.suggestion)
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
