"""Calls that do not fit a signature, refused in words, by a package that works where `tl_core` does not."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def fitting(shown: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """What `tl_core.fitting` does, which is not imported before it is needed: its imports may be what is broken."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                signature.bind(*args, **kwargs)
            except TypeError:
                import tl_core  # noqa: PLC0415

                return tl_core.fitting(shown)(function)(*args, **kwargs)
            return function(*args, **kwargs)

        return checked

    return decorate
