"""Tuples of indices; those of one small number exist once, because most ops have one parent and one reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNT = 4096
_ONES = tuple([(index,) for index in range(COUNT)])


def packed(indices: Sequence[int]) -> tuple[int, ...]:
    """A tuple of `indices`. Sharing the common ones leaves fewer objects for the garbage collector to visit."""
    if len(indices) == 1 and (index := indices[0]) < COUNT:
        return _ONES[index]
    return tuple(indices)
