"""Measured figures with their bars: as a table in the terminal and as JSON."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from pathlib import Path

Verdict = Literal["met", "missed", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure."""

    measure: str
    network: str
    value: float
    unit: str
    bar: float | None = None
    """Largest value that is good enough; None for a figure that is shown for comparison."""
    note: str = ""

    @property
    def verdict(self) -> Verdict:
        """Whether the bar is met; empty where there is none."""
        if self.bar is None:
            return ""
        return "met" if self.value <= self.bar else "missed"


def figure(value: float) -> str:
    """Write a number with two or three significant digits."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def show(rows: list[Row], title: str) -> None:
    """Print the rows as one table."""
    table = Table(title=title, title_justify="left")
    for heading in ("measure", "network"):
        table.add_column(heading)
    for heading in ("value", "bar"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    table.add_column("note")
    last = ""
    for row in rows:
        bar = "" if row.bar is None else figure(row.bar)
        colour = {"met": "green", "missed": "red", "": "dim"}[row.verdict]
        measure = row.measure if row.measure != last else ""
        last = row.measure
        table.add_row(
            measure, row.network, f"{figure(row.value)} {row.unit}", bar, f"[{colour}]{row.verdict}[/]", row.note
        )
    Console(width=None if os.isatty(1) else 150).print(table)


def write(rows: list[Row], path: Path, **facts: object) -> None:
    """Write the rows as JSON, with what a reader needs to judge them."""
    import torch

    path.parent.mkdir(exist_ok=True)
    document = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cores": os.cpu_count(),
        **facts,
        "rows": [{**asdict(row), "verdict": row.verdict} for row in rows],
    }
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
