"""Rows about installed distributions, from real metadata folders on the path."""

from __future__ import annotations

import shutil
from collections import namedtuple
from importlib.metadata import version
from typing import TYPE_CHECKING

from tl_doctor._environment import environment_rows, family

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tl_doctor import Row

Usage = namedtuple("Usage", "total used free")


def row(key: str) -> Row:
    return next(row for row in environment_rows() if row.key == key)


def test_the_family_is_what_needs_the_core(install: Callable[..., None]) -> None:
    install("tl-haze", requires=["tl-core>=0.1"])
    install("tl-stranger", requires=["requests"])
    names = family()
    assert {"tl-core", "tl-doctor", "tl-haze"} <= set(names)
    assert "tl-stranger" not in names


def test_distributions_name_every_version() -> None:
    found = row("distributions")
    assert (found.status, found.severity) == ("pass", "ok")
    assert f"tl-core {version('tl-core')}" in found.details


def test_a_sibling_outside_its_range_is_an_error(install: Callable[..., None]) -> None:
    install("tl-haze", "0.3.0", requires=["tl-core>=0.9,<0.10"])
    found = row("distributions")
    assert (found.status, found.severity) == ("known_broken", "error")
    assert f"tl-haze needs tl-core>=0.9,<0.10, and {version('tl-core')} is installed" in found.details
    assert found.suggestion.startswith("pip install --upgrade")


def test_a_sibling_that_is_missing_is_an_error_and_an_optional_one_is_not(install: Callable[..., None]) -> None:
    install("tl-haze", requires=["tl-core", "tl-mist>=0.1", "tl-fog; extra == 'fog'"])
    details = row("distributions").details
    assert "tl-haze needs tl-mist>=0.1, which is not installed" in details
    assert "tl-fog" not in details


def test_extras_name_what_they_lack_through_other_extras(install: Callable[..., None]) -> None:
    needs = ["tl-core", "tl-haze[sea] ; extra == 'all'", "a-library>=2 ; extra == 'sea'", "numpy ; extra == 'air'"]
    install("tl-haze", requires=needs)
    found = row("extras")
    assert "tl-haze[all] lacks a-library>=2" in found.details
    assert "tl-haze[sea] lacks a-library>=2" in found.details
    assert "tl-haze[air]" in found.details.partition("lacks")[0]
    assert found.severity == "ok"


def test_numpy_outside_the_range_of_the_core_is_an_error(install: Callable[..., None]) -> None:
    install("numpy", "1.20.0")
    found = row("numpy")
    assert (found.status, found.severity, found.detected) == ("known_broken", "error", True)
    assert found.details.startswith("1.20.0; TorchLens needs numpy")


def test_graphviz_is_never_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    found = row("graphviz")
    assert (found.status, found.severity, found.detected) == ("pass", "ok", False)


def test_little_room_on_the_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(10**12, 10**12 - 2**29, 2**29))
    found = row("disk")
    assert (found.severity, found.details) == ("warning", "0.5 GiB free for temporary files")


def test_no_row_names_a_folder_of_the_machine(tmp_path_factory: pytest.TempPathFactory) -> None:
    home = str(tmp_path_factory.getbasetemp().anchor)
    assert [found.key for found in environment_rows() if f" {home}" in f" {found.details} {found.suggestion}"] == []
