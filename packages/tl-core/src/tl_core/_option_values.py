"""The values that an option takes, read from its type."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from tl_core._errors import ArgumentTypeError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_values(options: object, shown: str) -> None:
    """Refuse a record of options of which one has a value that its type does not allow.

    Args:
        options: a dataclass. Fields that are no truth value and no choice among words are left alone.
        shown: the record as users write it.

    Raises:
        ConfigurationError: a word that is not among the choices (code `<option>_invalid`).
        ArgumentTypeError: a value of another type (the same code).
    """
    for name, choices in _choices(type(options)).items():
        value: object = getattr(options, name)  # a field of the record
        if any(type(value) is type(choice) and value == choice for choice in choices):
            continue
        kind = ConfigurationError if isinstance(value, str) and any(isinstance(c, str) for c in choices) else None
        listed = [repr(choice) for choice in choices]
        raise (kind or ArgumentTypeError)(
            f"{name} takes {', '.join(listed[:-1])} or {listed[-1]}, and was given {value!r}.",
            code=f"{name}_invalid",
            remedy=f"{shown}({name}={listed[0]})",
            option=name,
            given=value,
            choices=choices,
        )


@cache
def _choices(record: Any) -> dict[str, tuple[object, ...]]:
    hints = get_type_hints(record)
    found = {field.name: tuple(_values(hints[field.name])) for field in fields(record)}
    return {name: choices for name, choices in found.items() if choices and object not in choices}


def _values(hint: Any) -> Iterator[object]:
    """All values of a type; `object` itself where they cannot be listed."""
    if hint is bool:
        yield from (True, False)
    elif hint is NoneType:
        yield None
    elif get_origin(hint) is Literal:
        yield from get_args(hint)
    elif get_origin(hint) in (Union, UnionType):
        for part in get_args(hint):
            yield from _values(part)
    else:
        yield object
