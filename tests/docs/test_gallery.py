"""The page of the gallery explains what its pictures show, and nothing that they do not."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "gallery.md").read_text(encoding="utf-8")
ROWS = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")][1:]
SIGNS = [sign for row in ROWS for sign in re.findall("`([^`]+)`", row)]
TEXT = re.compile("<text[^>]*>([^<]*)</text>")


def words() -> str:
    """Every text of every picture."""
    return "\n".join(
        html.unescape(text)
        for picture in sorted((DOCS / "gallery").glob("*.svg"))
        for text in TEXT.findall(picture.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("sign", SIGNS)
def test_every_sign_in_the_table_is_in_a_picture(sign: str) -> None:
    assert sign in words()


def test_the_table_was_read() -> None:
    assert "×4, in reverse" in SIGNS
    assert len(SIGNS) > 20


def test_every_picture_is_on_the_page_and_nothing_else() -> None:
    shown = re.findall(r"\(gallery/([\w-]+\.svg)\)", PAGE)
    assert sorted(shown) == sorted(path.name for path in (DOCS / "gallery").glob("*.svg"))
