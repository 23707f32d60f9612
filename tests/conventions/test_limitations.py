"""The page of limitations, the codes in the source and the tests that it names stay in step."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "limitations.md"


def rows() -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if row[0] != "When" and not set(row[0]) <= {"-"}]


def test_every_row_says_when_what_what_to_do_and_names_a_test_or_a_reason() -> None:
    for row in rows():
        assert len(row) == 4, row
        assert row[0], row
        assert row[1], row
        assert row[3].startswith(("`", "none: ")), row


@pytest.mark.parametrize("named", sorted({named for row in rows() for named in re.findall(r"`(.*?)`", row[3])}))
def test_named_test_is_there(named: str) -> None:
    file, _, name = named.partition("::")
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob(f"packages/*/tests/**/{file}")]
    assert any(not name or re.search(rf"^\s*(def|class) {name}\b", text, re.MULTILINE) for text in texts)


def test_codes_are_codes_of_the_source() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("packages/*/src/**/*.py"))
    codes = {code for row in rows() for code in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", row[1])}
    apart = {"scaled_dot_product_attention", "capture_verified", "transform_kind"}
    assert sorted(code for code in codes - apart if f'"{code}"' not in text) == []
