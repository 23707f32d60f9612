"""Several views as one answer: a tuple that says what is in it, and why nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

V = TypeVar("V")

SHOWN = 12
"""Rows of a repr, half from the beginning and half from the end."""


@final
class Found(tuple[V, ...], Generic[V]):
    """The views that a selector means, in order; a tuple whose repr has one line a view."""

    _noun: tuple[str, str]
    _why: Callable[[], str]

    def __new__(cls, views: Iterable[V], noun: tuple[str, str], why_none: Callable[[], str]) -> Found[V]:
        """Put views together.

        Args:
            views: in order.
            noun: what one and several of them are called.
            why_none: says why there are none.
        """
        found = super().__new__(cls, views)
        found._noun = noun
        found._why = why_none
        return found

    def __reduce__(self) -> tuple[type[tuple[V, ...]], tuple[tuple[V, ...]]]:
        return tuple, (tuple(self),)

    def __repr__(self) -> str:
        return listing(len(self), self._noun, lambda index: repr(self[index])) if self else self._why()


def listing(count: int, noun: tuple[str, str], row: Callable[[int], str], about: str = "") -> str:
    """A heading and a line for each of `count` things, those in the middle of a long list left out.

    Args:
        count: how many there are.
        noun: what one and several of them are called.
        row: the line of the thing at a position.
        about: a remark on the heading.
    """
    lines = [f"{count:,} {noun[0] if count == 1 else noun[1]}{about}"]
    shown = range(count) if count <= SHOWN else [*range(SHOWN // 2), -1, *range(count - SHOWN // 2, count)]
    width = len(str(max(count - 1, 0)))
    lines += [f"  {'':>{width}}  ..." if index < 0 else f"  {index:>{width}}  {row(index)}" for index in shown]
    return "\n".join(lines)
