"""What a key names in a trace.

The type of the answer depends on the form of the key: a number gives an op; a label a layer; a label with a pass
(`relu_1_2:3`) an op; the address of a module a module, with a number behind it (`layer1.0:2`) one of its calls.
Nothing is looked up by a part of its name; `trace.find(label_contains(...))` is for that.
"""

from __future__ import annotations

import difflib
from operator import index as as_index
from typing import TYPE_CHECKING, SupportsIndex

from tl_core._errors import AmbiguousOpLookupError, ArgumentTypeError, LookupFailedError
from tl_core._label import may_be_label

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_core._layer import Layer
    from tl_core._module import Module, ModuleCall
    from tl_core._op import Op
    from tl_core._state import State

MANY = 4000
"""Up to so many names are searched for near misses as they are; beyond it, only those that begin alike."""


def look_up(state: State, key: str | SupportsIndex) -> Op | Layer | Module | ModuleCall:
    """Answer `trace[key]`.

    Raises:
        AmbiguousOpLookupError: `key` is both a label and the address of a module.
        LookupFailedError: `key` names nothing.
        ArgumentTypeError: `key` is neither a text nor a whole number.
    """
    if not isinstance(key, str):
        return state.op(position(key, len(state.records.ops), "op"))
    return _with_number(state, key) if ":" in key else _plain(state, key)


def _plain(state: State, key: str) -> Layer | Module:
    layer = state.labels.find_layer(key) if may_be_label(key) else None
    module = state.module_names().get(key)
    if layer is not None and module is not None:
        raise _ambiguous(key, "layer", f"trace.layers[{key!r}]", "module", f"trace.modules[{key!r}]")
    if layer is not None:
        return state.layer(layer)
    if module is not None:
        return state.module(module)
    raise not_found(state, key)


def _with_number(state: State, key: str) -> Op | ModuleCall:
    op = state.labels.find_op(key) if may_be_label(key.rpartition(":")[0]) else None
    call = find_call(state, key)
    if op is not None and call is not None:
        address, _, number = key.rpartition(":")
        other = f"trace.modules[{address!r}].calls[{int(number) - 1}]"
        raise _ambiguous(key, "op", f"trace.ops[{key!r}]", "module call", other)
    if op is not None:
        return state.op(op)
    if call is not None:
        return state.module_call(call)
    raise not_found(state, key)


def find_call(state: State, key: str) -> int | None:
    """Index of the module call with this label; `b:2` works for every address of a shared module."""
    address, colon, number = key.rpartition(":")
    module = state.module_names().get(address) if colon else None
    if module is None or not number.isdecimal() or number.startswith("0"):
        return None
    calls = state.calls_of(module)
    return calls[int(number) - 1] if int(number) <= len(calls) else None


def position(key: object, count: int, noun: str) -> int:
    """A whole number as a position, counted from the end if negative.

    Raises:
        ArgumentTypeError: `key` is a bool, a float or something else that does not count.
        LookupFailedError: there are fewer than that.
    """
    if isinstance(key, bool) or not isinstance(key, SupportsIndex):
        raise ArgumentTypeError(
            f"{key!r} ({type(key).__name__}) is not a way to name one {noun}.",
            code="lookup_key_invalid",
            remedy="use a label, an address, or a whole number that counts from 0 (or from the end, if negative)",
            asked=repr(key),
        )
    number = as_index(key)
    if -count <= number < count:
        return number % count
    held = f"the last is {count - 1}" if count else "there is none"
    raise LookupFailedError(
        f"There is no {noun} {number}: {held}.",
        code="op_lookup_not_found",
        remedy=f"numbers run from 0 to {count - 1}, or from -1 back to {-count}" if count else "the trace is empty",
        asked=number,
        count=count,
    )


def not_found(state: State, key: str) -> LookupFailedError:
    """The refusal of a name that nothing has."""
    name, colon, _ = key.rpartition(":")
    if colon:
        problem = _missing_number(state, name, key)
        if problem is not None:
            return problem
    close = near_misses(key, _all_names(state))
    hint = f"closest: {', '.join(close)}" if close else "trace.summary(level='op') lists every label"
    parts = " Parts of names are not looked up." if not close else ""
    return LookupFailedError(
        f"{key!r} is neither a label nor the address of a module in this trace.{parts}",
        code="op_lookup_not_found",
        remedy=f"{hint}; trace.find(label_contains({key!r})) searches by a part of the label",
        asked=key,
        closest=close,
    )


def _missing_number(state: State, name: str, key: str) -> LookupFailedError | None:
    layer = state.labels.find_layer(name)
    if layer is not None:
        noun, count = "pass", state.grouping.size(layer)
        first = f"{name}:1"
    elif name in state.module_names():
        noun, count = "call", len(state.calls_of(state.module_names()[name]))
        first = f"{name}:1"
    else:
        return None
    plural = {"pass": "passes", "call": "calls"}[noun]
    held = f"{count} {noun if count == 1 else plural}" if count else f"no {plural}"
    span = first if count == 1 else f"{first} to {name}:{count}" if count else "its children"
    return LookupFailedError(
        f"{key!r} is not there: {name!r} has {held}.",
        code="op_lookup_not_found",
        remedy=f"use {span}",
        asked=key,
        count=count,
    )


def _all_names(state: State) -> list[str]:
    labels = state.labels
    count = state.grouping.count
    names = [labels.layer(layer) for layer in range(count)] + [labels.short(layer) for layer in range(count)]
    return names + list(state.module_names())


def near_misses(text: str, names: Iterable[str], count: int = 5) -> tuple[str, ...]:
    """The names that a misspelt `text` may have meant, the likeliest first."""
    pool = list(dict.fromkeys(filter(None, names)))
    if len(pool) > MANY:
        pool = [name for name in pool if name[:2] == text[:2]]
    if len(pool) > MANY:
        pool = [name for name in pool if abs(len(name) - len(text)) <= 1][:MANY]
    return tuple(difflib.get_close_matches(text, pool, n=count, cutoff=0.6))


def _ambiguous(key: str, one: str, one_spelling: str, other: str, other_spelling: str) -> AmbiguousOpLookupError:
    return AmbiguousOpLookupError(
        f"{key!r} is both a {one} and a {other} of this trace.".replace("a op", "an op"),
        code="ambiguous_op_lookup",
        remedy=f"{one_spelling} for the {one}, {other_spelling} for the {other}",
        asked=key,
        spellings=(one_spelling, other_spelling),
    )
