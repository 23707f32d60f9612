"""The report as an object, as a table for terminals, and as Markdown."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

import tl_core
from tl_doctor import Report, Row
from tl_doctor._layout import text_table

if TYPE_CHECKING:
    from tl_doctor import Severity


def row(key: str, severity: Severity = "ok", **changes: object) -> Row:
    fields = {
        "key": key, "label": key.capitalize(), "status": "pass", "severity": severity, "detected": True,
        "details": f"what {key} is",
    }  # fmt: skip
    return Row(**fields | changes)


REPORT = Report(
    rows=(
        row("sun"),
        row("fog", detected=False),
        row("rain", "info", suggestion="take a coat"),
        row("storm", "error", status="known_broken", details="words " * 15, suggestion="stay at home | lock the door"),
    )
)
TABLE = """\
TorchLens doctor: 1 error
──────────────────────────────────────────────────────────────────────
ERROR  Storm  known_broken  words words words words words words words
                            words words words words words words words
                            words
                            -> stay at home | lock the door
ok     Sun    pass          what sun is
info   Rain   pass          what rain is
                            -> take a coat
──────────────────────────────────────────────────────────────────────
1 more, not found and nothing to do: Fog."""
MARKDOWN = """\
## TorchLens doctor

4 rows, 1 error.

| Severity | Key | Subject | Status | Detected | Details | Suggestion |
|---|---|---|---|---|---|---|
| ok | `sun` | Sun | `pass` | yes | what sun is |  |
| ok | `fog` | Fog | `pass` | no | what fog is |  |
| info | `rain` | Rain | `pass` | yes | what rain is | take a coat |
"""


def test_the_table_puts_errors_first_and_leaves_out_what_is_not_there() -> None:
    assert text_table(REPORT.rows, width=70) == TABLE


def test_of_many_rows_that_are_left_out_the_first_are_named() -> None:
    rows = [row(f"cloud{number}", detected=False) for number in range(9)]
    last = " ".join(text_table(rows, width=70).splitlines()[3:])
    assert last == (
        "9 more, not found and nothing to do: Cloud0, Cloud1, Cloud2, Cloud3 and 5 others (--every, or show(every=True), "
        "prints them all)."
    )
    assert "Cloud3 and 1 other (--every" in text_table(rows[:5], width=200)


def test_every_row_is_shown_on_demand() -> None:
    text = text_table(REPORT.rows, width=70, every=True)
    assert "what fog is" in text
    assert "not found" not in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = Report(rows=(*REPORT.rows, row("moon", label="A name that is longer than its column is wide")))
    assert max(len(line) for line in text_table(long.rows, width=width).splitlines()) == width


def test_markdown_has_every_row_and_keeps_its_columns() -> None:
    text = REPORT.to_markdown()
    assert text.startswith(MARKDOWN)
    assert "| stay at home \\| lock the door |" in text


def test_show_prints_what_str_gives(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    REPORT.show()
    assert capsys.readouterr().out == f"{TABLE}\n"
    assert str(REPORT) == repr(REPORT) == TABLE


def test_the_severity_is_the_gravest() -> None:
    assert REPORT.severity == "error"
    assert Report(rows=REPORT.rows[:3]).severity == "info"
    assert Report(rows=()).severity == "ok"


def test_a_row_by_its_key_and_one_that_is_not_there() -> None:
    assert REPORT.row("rain").suggestion == "take a coat"
    with pytest.raises(tl_core.LookupFailedError, match="no row 'hail'; it has sun, fog, rain, storm") as caught:
        REPORT.row("hail")
    assert caught.value.code == "unknown_row"


def test_rows_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        REPORT.rows[0].status = "scope"
