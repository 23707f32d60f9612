"""Every Python example in the pages runs, each page from top to bottom in one namespace and an empty folder."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")],
    key=lambda path: path.as_posix(),
)
SYBIL = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE),
        SkipParser(),
    ]
)
PAGES_WITH_EXAMPLES = ("README.md", "docs/quickstart.md", "docs/bundle-format.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for example in SYBIL.parse(page).examples():
        example.evaluate()


@pytest.mark.parametrize("name", PAGES_WITH_EXAMPLES)
def test_pages_for_users_have_examples(name: str) -> None:
    assert list(SYBIL.parse(ROOT / name).examples())
