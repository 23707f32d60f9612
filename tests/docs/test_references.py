"""What the pages point at exists: links between pages, and the files that they name."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")],
    key=lambda path: path.as_posix(),
)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
NAMED_FILE = re.compile(r"`((?:packages|docs|tests|tools|benchmarks|api)/[\w./-]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_named_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [target for target in LINK.findall(text) if not (page.parent / target).exists()]
    missing += [name for name in NAMED_FILE.findall(text) if not (ROOT / name).exists()]
    assert missing == []


def test_the_check_finds_both_kinds() -> None:
    text = "[page](docs/page.md) and `packages/tl-core/src/x.py`, not `packages/<p>/changes` or [web](https://x.org)"
    assert LINK.findall(text) == ["docs/page.md"]
    assert NAMED_FILE.findall(text) == ["packages/tl-core/src/x.py"]


def test_extras_and_versions_in_the_readme_are_those_of_the_package() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "packages/torchlens/pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {
        extra for extras in re.findall(r"torchlens(?:-[\w.-]+\.whl)?\[([\w,]+)\]", text) for extra in extras.split(",")
    }
    assert named == set(project["optional-dependencies"])
    assert set(re.findall(r"torchlens-([\d.]+)-py3", text)) == {project["version"]}
