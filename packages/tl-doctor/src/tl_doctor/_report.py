"""All findings of the doctor, as a table for terminals, Markdown and code."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from tl_doctor._layout import markdown_table, text_table
from tl_doctor._row import SEVERITIES

if TYPE_CHECKING:
    from tl_doctor._row import Row, Severity


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `doctor` found; `print(report)` shows what matters, `to_markdown()` shows all of it."""

    rows: tuple[Row, ...]
    """Every finding, one a key."""

    def row(self, key: str) -> Row:
        """The finding with a key.

        Args:
            key: such as `torch` or `backend_scorecard:torch`.

        Returns:
            The row.

        Raises:
            LookupFailedError: there is none with that key (`unknown_row`); it names those that there are.

        Example:
            >>> from tl_doctor import Row
            >>> disk = Row(key="disk", label="Disk", status="pass", severity="ok", detected=True, details="9 GiB free")
            >>> Report(rows=(disk,)).row("disk").details
            '9 GiB free'
        """
        for row in self.rows:
            if row.key == key:
                return row
        # The core needs NumPy, and the doctor has to work where NumPy is broken.
        from tl_core import LookupFailedError  # noqa: PLC0415

        keys = [row.key for row in self.rows]
        raise LookupFailedError(
            f"The report has no row {key!r}; it has {', '.join(keys)}.",
            code="unknown_row",
            remedy="rows about a model are there only in doctor(model)",
            key=key,
            keys=keys,
        )

    @property
    def severity(self) -> Severity:
        """The gravest severity of any row."""
        grave: Severity = "ok"
        for row in self.rows:
            if SEVERITIES.index(row.severity) > SEVERITIES.index(grave):
                grave = row.severity
        return grave

    def to_markdown(self) -> str:
        """Every row as a Markdown table, for a bug report.

        Returns:
            The text; it names versions and devices, and no folders of the machine.

        Example:
            >>> Report(rows=()).to_markdown().splitlines()[0]
            '## TorchLens doctor'
        """
        return markdown_table(self.rows)

    def show(self, *, every: bool = False) -> None:
        """Print the table at the width of the terminal.

        Args:
            every: print the subjects, too, that were not found and that need nothing.

        Example:
            >>> Report(rows=()).show()
            TorchLens doctor: nothing to repair...
        """
        width = shutil.get_terminal_size().columns
        sys.stdout.write(f"{text_table(self.rows, width=width, every=every)}\n")

    def __str__(self) -> str:
        return text_table(self.rows, width=shutil.get_terminal_size().columns)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:  # pyright: ignore[reportUnusedFunction]  # notebooks call it
        return self.to_markdown()
