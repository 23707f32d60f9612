"""Rows of backends, from records in real packages that cannot be imported."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tl_doctor._scorecard import scorecard_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from tl_doctor import Row

BROKEN = "raise ImportError('a scorecard must be read without running the package')"
POINTS = "[torchlens.backends]\nhaze = tl_haze:HazeBackend\n"


def record(**changes: object) -> dict[str, object]:
    return {
        "schema": 1, "backend": "haze", "maturity": "preview", "framework": "hazelib", "pinned_version": "1.2",
        "supported": ["1.0", "2.0"], "tier": "durable",
        "counts": {"passed": 30, "failed": 0, "unsupported": 4, "not_run": 0, "denominator": 34}, "cells": [],
    } | changes  # fmt: skip


@pytest.fixture
def haze(install: Callable[..., None]) -> Callable[..., Row]:
    def rows(card: object = None, *, place: str = "tl_haze/scorecard.json", framework: str = "1.2.3") -> Row:
        files = {"tl_haze/__init__.py": BROKEN}
        if card is not None:
            files[place] = card if isinstance(card, str) else json.dumps(card)
        install("tl-haze", points=POINTS, files=files)
        if framework:
            install("hazelib", framework)
        found = next(row for row in scorecard_rows() if row.key == "backend_scorecard:haze")
        assert "tl_haze" not in sys.modules
        return found

    return rows


@pytest.mark.parametrize(
    "place", ["tl_haze/scorecard.json", "tl_haze/haze/scorecard.json", "tl_haze/backends/haze/scorecard.json"]
)
def test_durable_and_nothing_failed_is_a_pass(haze: Callable[..., Row], place: str) -> None:
    row = haze(record(), place=place)
    assert (row.status, row.severity, row.detected) == ("pass", "ok", True)
    assert row.details == (
        "preview; 30/34 cells passed, 4 unsupported, 0 failed; pinned 1.2, installed 1.2.3, supported [1.0, 2.0)"
    )


def test_a_failed_cell_is_named(haze: Callable[..., Row]) -> None:
    counts = {"passed": 29, "failed": 1, "unsupported": 4, "not_run": 0, "denominator": 34}
    cells = [{"case": "stop_after", "status": "passed"}, {"case": "replay_pass", "status": "failed"}]
    row = haze(record(counts=counts, cells=cells))
    assert (row.status, row.severity) == ("known_broken", "warning")
    assert row.suggestion == "first failed cell: replay_pass"


def test_an_absent_framework_is_out_of_scope_here(haze: Callable[..., Row]) -> None:
    row = haze(record(), framework="")
    assert (row.status, row.severity, row.detected) == ("scope", "ok", False)
    assert "installed absent" in row.details
    assert row.suggestion == "pip install 'torchlens[haze]'"


def test_a_tier_short_of_durable_is_not_tested(haze: Callable[..., Row]) -> None:
    row = haze(record(tier="smoke"))
    assert (row.status, row.suggestion) == ("not_tested", "tier smoke, not yet durable")


@pytest.mark.parametrize("card", [None, json.dumps(record(backend="fog"))])
def test_no_record_of_the_backend_is_not_tested(haze: Callable[..., Row], card: str | None) -> None:
    row = haze(card)
    assert (row.status, row.severity) == ("not_tested", "ok")
    assert row.details == "haze absent; tl-haze ships no record of a run of the tests that every backend has to pass"


@pytest.mark.parametrize("card", ["{", "[]", json.dumps({"backend": "haze"})])
def test_a_record_that_cannot_be_read_says_so(haze: Callable[..., Row], card: str) -> None:
    row = haze(card)
    assert (row.status, row.severity) == ("known_broken", "warning")
    assert row.details.startswith("its scorecard cannot be read: ")
    assert row.suggestion == "reinstall tl-haze"
