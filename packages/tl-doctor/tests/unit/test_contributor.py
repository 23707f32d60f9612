"""Rows of other packages, through real entry points."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tl_doctor import Row
from tl_doctor._contributor import contributed_rows

if TYPE_CHECKING:
    from collections.abc import Callable

POINTS = "[torchlens.doctor]\nhaze = haze_rows:rows\n"
GIVES = """
def rows(model, inputs):
    yield {fields}
    {then}
"""
FIELDS = {
    "key": "haze", "label": "Haze", "status": "pass", "severity": "ok", "detected": True, "details": "seen",
}  # fmt: skip


@pytest.fixture
def haze(install: Callable[..., None]) -> Callable[..., dict[str, Row]]:
    def rows(fields: object = FIELDS, then: str = "", model: object = None) -> dict[str, Row]:
        install("haze", points=POINTS, files={"haze_rows.py": GIVES.format(fields=fields, then=then)})
        return {row.key: row for row in contributed_rows(model, None)}

    return rows


def test_a_mapping_becomes_a_row(haze: Callable[..., dict[str, Row]]) -> None:
    assert haze()["haze"] == Row(**FIELDS)


def test_a_row_may_be_given_and_the_model_is_passed_on(haze: Callable[..., dict[str, Row]]) -> None:
    source = f"__import__('tl_doctor').Row(**{FIELDS} | {{'details': model}})"
    assert haze(source, model="the model")["haze"].details == "the model"


def test_one_that_raises_keeps_its_rows_and_shows_its_error(haze: Callable[..., dict[str, Row]]) -> None:
    rows = haze(then="raise RuntimeError('out of fog')")
    assert rows["haze"].details == "seen"
    failed = rows["contributor:haze"]
    assert (failed.status, failed.severity, failed.detected) == ("known_broken", "error", True)
    assert failed.details == "haze_rows:rows failed: RuntimeError: out of fog"
    assert failed.suggestion == "reinstall or report haze"


def test_one_that_cannot_be_imported_shows_its_error(install: Callable[..., None]) -> None:
    install("haze", points=POINTS, files={"haze_rows.py": "import a_module_that_is_not_there"})
    failed = {row.key: row for row in contributed_rows(None, None)}["contributor:haze"]
    assert failed.details.endswith("ModuleNotFoundError: No module named 'a_module_that_is_not_there'")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "fine"}, "row 'haze' has status 'fine' and severity 'ok'"),
        ({"severity": "grave"}, "has status 'pass' and severity 'grave'"),
        ({"colour": "red"}, "a row has the fields key, label, status, severity, detected, details, suggestion"),
    ],
)
def test_a_mapping_that_is_no_row_is_an_error(
    haze: Callable[..., dict[str, Row]], change: dict[str, object], said: str
) -> None:
    rows = haze(FIELDS | change)
    assert "haze" not in rows
    assert said in rows["contributor:haze"].details


def test_one_named_for_a_backend_waits_until_its_framework_is_loaded(
    install: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    points = POINTS + "[torchlens.backends]\nhaze = tl_haze:HazeBackend\n"
    install("haze", points=points, files={"haze_rows.py": GIVES.format(fields=FIELDS, then="")})
    waiting = {row.key: row for row in contributed_rows(None, None)}["contributor:haze"]
    assert (waiting.status, waiting.severity, waiting.detected) == ("not_tested", "ok", False)
    assert "haze_rows" not in sys.modules
    monkeypatch.setitem(sys.modules, "haze", sys)
    assert {row.key: row for row in contributed_rows(None, None)}["haze"].details == "seen"
