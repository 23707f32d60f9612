"""Calls that do not fit a signature, refused in words: unknown options, missing and surplus arguments."""

from __future__ import annotations

import functools
import inspect
from inspect import Parameter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from tl_core._errors import ArgumentTypeError
from tl_core._near import meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def fitting(shown: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a public function: a call that does not fit its signature raises `ArgumentTypeError`.

    Args:
        shown: the function as users write it, such as `tl.trace` or `trace.save`.

    Returns:
        The decorator; a call that fits costs one more frame.

    Example:
        >>> @fitting("tl.shout")
        ... def shout(text, *, loud=False):
        ...     return text.upper() if loud else text
        >>> shout("hey", lout=True)
        Traceback (most recent call last):
            ...
        tl_core._errors.ArgumentTypeError: tl.shout has no option 'lout'. Did you mean 'loud'?
          What to do: it takes text, loud
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                entered = error.__traceback__
                if entered is None or entered.tb_next is not None:  # it comes from inside the function
                    raise
                raise misfit(shown, function, args, kwargs, str(error)) from None

        return checked

    return decorate


def fitting_options(shown: str) -> Callable[[C], C]:
    """Decorate a record of options: what `fitting` does for functions."""

    def decorate(record: C) -> C:
        kind = cast("Any", record)
        kind.__init__ = fitting(shown)(kind.__init__)
        return record

    return decorate


def misfit(
    shown: str, function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], error: str
) -> ArgumentTypeError:
    """The refusal of a call that does not fit.

    Args:
        shown: the function as users write it.
        function: what was called.
        args: positional arguments, `self` included.
        kwargs: keyword arguments.
        error: what Python said.
    """
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    names = tuple(p.name for p in parameters if p.kind in _BY_NAME)
    unknown = [name for name in kwargs if name not in names]
    if unknown:
        return unknown_option(shown, unknown[0], names)
    given = len(args) - ("self" in inspect.signature(function).parameters)
    by_position = [p.name for p in parameters if p.kind in _BY_POSITION]
    if given > len(by_position):
        count = len(by_position)
        most = f"at most {count} argument{'s' if count > 1 else ''}" if count else "no arguments"
        listed = f" ({', '.join(by_position)})" if count else ""
        rest = [p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
        return ArgumentTypeError(
            f"{shown} takes {most} by position{listed}, and was given {given}.",
            code="too_many_arguments",
            remedy=f"give the others by name: {', '.join(f'{name}=' for name in rest)}" if rest else "leave them out",
            given=given,
            positional=tuple(by_position),
            options=tuple(rest),
        )
    missing = [
        p.name for p in parameters if p.default is Parameter.empty and p.kind in (*_BY_POSITION, Parameter.KEYWORD_ONLY)
    ]
    lacking = [name for name in missing if name not in kwargs and name not in by_position[:given]]
    if lacking:
        return ArgumentTypeError(
            f"{shown} was not given {lacking[0]!r}.",
            code="argument_missing",
            remedy=f"{shown}({', '.join(missing)})",
            missing=tuple(lacking),
        )
    return ArgumentTypeError(f"{shown}: {error}.", code="arguments_invalid", remedy=f"{shown}({', '.join(names)})")


def unknown_option(shown: str, option: str, known: Sequence[str], remedy: str = "") -> ArgumentTypeError:
    """The refusal of a keyword that does not exist.

    Args:
        shown: the function as users write it.
        option: the keyword.
        known: the keywords that exist.
        remedy: what to do, if there is more to say than which keywords exist.
    """
    return ArgumentTypeError(
        f"{shown} has no option {option!r}.{meant(option, known)}",
        code="unknown_option",
        remedy=remedy or f"it takes {', '.join(known) or 'none'}",
        option=option,
        options=tuple(known),
    )
