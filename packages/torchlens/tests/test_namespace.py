"""The namespace is complete, typed, and loads nothing before it is asked."""

from __future__ import annotations

import ast
import importlib.metadata
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import torchlens

STUB = Path(torchlens.__file__).with_name("__init__.pyi")
HOME: dict[str, str] = torchlens._HOME
LIST_FOREIGN_MODULES = """
import sys
before = set(sys.modules)
import torchlens
{touch}
new = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(new - set(sys.stdlib_module_names)))
"""


def fresh_process(source: str) -> str:
    command = [sys.executable, "-c", source]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return finished.stdout.strip()


def stub_names() -> list[str]:
    """The names that a type checker sees, in order, each re-exported with `as`."""
    names: list[str] = []
    for statement in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                assert alias.asname == alias.name, f"write `{alias.name} as {alias.name}`"
                names.append(alias.name)
    return names


def test_table_stub_and_all_name_the_same() -> None:
    assert sorted(stub_names()) == sorted(HOME) == sorted(torchlens.__all__)


def test_the_stub_names_the_home_that_the_table_names() -> None:
    for statement in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                submodule = f"torchlens.{alias.name}"
                home = submodule if statement.module == "torchlens" else statement.module
                assert HOME[alias.name] == home


@pytest.mark.parametrize("name", sorted(HOME))
def test_every_name_resolves_to_what_its_home_exports(name: str) -> None:
    value = getattr(torchlens, name)
    home = import_module(HOME[name])
    if isinstance(value, ModuleType):
        assert value is home
    else:
        assert value is getattr(home, name)
        assert name in home.__all__


def test_dir_lists_every_name_once_and_no_machinery() -> None:
    listed = dir(torchlens)
    assert len(listed) == len(set(listed))
    assert set(HOME) <= set(listed)
    assert {name for name in listed if not name.startswith("__")} == set(HOME)


def test_importing_torchlens_imports_nothing_else() -> None:
    assert fresh_process(LIST_FOREIGN_MODULES.format(touch="")) == "torchlens"


def test_the_import_test_can_fail() -> None:
    loaded = fresh_process(LIST_FOREIGN_MODULES.format(touch="torchlens.trace")).split()
    assert {"tl_core", "tl_torch", "torch"} <= set(loaded)


def test_the_version_is_that_of_the_distribution() -> None:
    assert torchlens.__version__ == importlib.metadata.version("torchlens")
    assert "__version__" not in torchlens.__all__


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'torchlens' has no attribute 'trase'"):
        torchlens.trase  # noqa: B018


def test_a_name_of_an_absent_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOME, "haze", "tl_haze")
    with pytest.raises(ImportError) as caught:
        torchlens.haze  # noqa: B018
    assert str(caught.value) == ("torchlens.haze comes with tl-haze, which is not installed. Run: pip install tl-haze")
    assert "haze" not in dir(torchlens)


def test_from_import_shows_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HOME, "haze", "tl_haze")
    with pytest.raises(ImportError, match="pip install tl-haze"):
        exec("from torchlens import haze")


def test_a_broken_package_shows_its_own_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tl_haze.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(HOME, "haze", "tl_haze")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        torchlens.haze  # noqa: B018
