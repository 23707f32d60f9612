"""Names that a misspelt one may have meant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MANY = 4000
"""Up to so many names are searched for near misses as they are; beyond it, only those that begin alike."""


def meant(text: str, names: Iterable[str]) -> str:
    """A sentence that asks for the nearest name, after a space; empty where none is near."""
    close = near_misses(text, names, count=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def near_misses(text: str, names: Iterable[str], count: int = 5, cutoff: float = 0.6) -> tuple[str, ...]:
    """The names that a misspelt `text` may have meant, the likeliest first; `cutoff` is how alike they are, up to 1."""
    pool = list(dict.fromkeys(filter(None, names)))
    if len(pool) > MANY:
        pool = [name for name in pool if name[:2] == text[:2]]
    if len(pool) > MANY:
        pool = [name for name in pool if abs(len(name) - len(text)) <= 1][:MANY]
    return tuple(difflib.get_close_matches(text, pool, n=count, cutoff=cutoff))
