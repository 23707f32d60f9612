"""What every committed file has to keep to."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
FRAGMENT = re.compile(r"\+?[a-z0-9]+(-[a-z0-9]+)*\.(feature|bugfix|removal|doc|misc)\.md")
FRAGMENT_FOLDER_NOTES = {"README.md"}
# Written with a class around one letter, so that this file does not hold what it looks for.
MACHINE_PATH = re.compile(
    r"(?<![\w.])(?:/[h]ome/[a-z]\w*/|/[U]sers/\w+/|/[r]oot/[.\w]|/[w]ork/\w|/[o]pt/\w+/)|C:\\[U]sers\\\w"
)
REGISTRY = re.compile(r"https?://[\w.-]+/(?:simple|packages)(?:[/\"']|$)", re.MULTILINE)


def committed_text() -> dict[str, str]:
    """Return the text of every file that git tracks, but for the lock."""
    command = ["git", "ls-files", "-z", "--", ".", ":!uv.lock"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    texts: dict[str, str] = {}
    for name in filter(None, names.split("\0")):
        path = ROOT / name
        if not path.is_file():
            continue
        try:
            texts[name] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
    return texts


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return committed_text()


def matches(pattern: re.Pattern[str], texts: dict[str, str]) -> list[str]:
    return [f"{name}: {found.group()}" for name, text in texts.items() for found in pattern.finditer(text)]


def test_no_file_holds_a_path_of_a_machine(texts: dict[str, str]) -> None:
    assert matches(MACHINE_PATH, texts) == []


def test_no_file_holds_the_address_of_a_registry(texts: dict[str, str]) -> None:
    assert matches(REGISTRY, texts) == []


@pytest.mark.parametrize(
    "text",
    ["cd /" + "root/.cache", "'/" + "home/ada/x.py'", "/" + "work/tree", "C:" + "\\Users\\ada"],
)
def test_the_path_check_can_fail(text: str) -> None:
    assert MACHINE_PATH.search(text)


def test_the_registry_check_can_fail() -> None:
    assert REGISTRY.search("https://registry.example/" + "simple/")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_changelog_fragments_have_right_names(package: Path) -> None:
    fragments = {path.name for path in (package / "changes").iterdir()} - FRAGMENT_FOLDER_NOTES
    wrong = sorted(name for name in fragments if not FRAGMENT.fullmatch(name))
    assert not wrong, f"see {package.name}/changes/README.md: {wrong}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_package_has_what_every_package_has(package: Path) -> None:
    expected = ["CHANGELOG.md", "LICENSE", "README.md", "changes", "pyproject.toml", "src", "tests"]
    assert [name for name in expected if not (package / name).exists()] == []
    module = package.name.replace("-", "_")
    assert (package / "src" / module / "py.typed").is_file()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_siblings_are_required_by_range(package: Path) -> None:
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    siblings = [need for need in project.get("dependencies", []) if need.startswith("tl-")]
    loose = [need for need in siblings if not re.fullmatch(r"tl-[a-z-]+>=0\.\d+,<0\.\d+", need)]
    assert loose == []


def test_all_packages_ask_for_the_same_pythons() -> None:
    ranges = {
        tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
        for package in PACKAGES
    }
    assert ranges == {">=3.11"}


def test_no_file_is_named_for_nothing() -> None:
    banned = {"utils", "helpers", "common", "core", "misc", "util", "helper"}
    found = [
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (package / "src").rglob("*.py")
        if path.stem.strip("_") in banned
    ]
    assert found == []
