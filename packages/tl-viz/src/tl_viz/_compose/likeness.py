"""What is said of a closed module that is nearly like an open one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.address import address_of
from tl_viz._compose.inside import MOVES
from tl_viz._compose.joined import DETAIL, WIDEST
from tl_viz._measure import text_width
from tl_viz._names import summary

if TYPE_CHECKING:
    from tl_viz._plan import Likeness, Tree

NAMED = 3
"""So many kinds of what is more, or less, are named; the others are counted."""


def likeness_words(tree: Tree, likeness: Likeness, frame: str) -> list[str]:
    """Return `like features.1.0`, `and roll ×2, add`, `without relu`, seen from a frame."""
    words = [f"like {address_of(tree, likeness.model, frame)}"]
    for word, found in (("and", likeness.more), ("without", likeness.less)):
        names = [name for name in sorted(found, key=MOVES.__contains__) for _ in range(found[name])]
        texts = [f"{word} {summary(names, most)}" for most in range(NAMED, 0, -1)] if names else []
        words += next(([text] for text in texts if text_width(text, DETAIL) <= WIDEST), texts[-1:])
    return words
