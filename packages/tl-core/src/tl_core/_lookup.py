"""What a key names in a trace.

The type of the answer depends on the form of the key: a number gives an op; a label a layer; a label with a pass
(`relu_1_2:3`) an op; the address of a module a module, with a number behind it (`layer1.0:2`) one of its calls.
Nothing is looked up by a part of its name; `trace.find(label_contains(...))` is for that.
"""

from __future__ import annotations

from operator import index as as_index
from typing import TYPE_CHECKING, SupportsIndex

from tl_core._errors import AmbiguousOpLookupError, ArgumentTypeError, LookupFailedError
from tl_core._label import may_be_label
from tl_core._meaning import LOOSE, closest, meanings

if TYPE_CHECKING:
    from tl_core._layer import Layer
    from tl_core._meaning import Kind
    from tl_core._module import Module, ModuleCall
    from tl_core._op import Op
    from tl_core._state import State


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
    call = state.find_call(key)
    if op is not None and call is not None:
        address, _, number = key.rpartition(":")
        other = f"trace.modules[{address!r}].calls[{int(number) - 1}]"
        raise _ambiguous(key, "op", f"trace.ops[{key!r}]", "module call", other)
    if op is not None:
        return state.op(op)
    if call is not None:
        return state.module_call(call)
    raise not_found(state, key)


def position(key: object, count: int, noun: str) -> int:
    """A whole number as a position, counted from the end if negative.

    Raises:
        ArgumentTypeError: `key` is a bool, a float or something else that does not count.
        LookupFailedError: there are fewer than that.
    """
    if isinstance(key, bool) or not isinstance(key, SupportsIndex):
        several = "; several at once: trace.ops[1:3]" if type(key) is slice else ""
        raise ArgumentTypeError(
            f"{key!r} ({type(key).__name__}) is not a way to name one {noun}.",
            code="lookup_key_invalid",
            remedy=f"use a label, an address, or a whole number that counts from 0 (or from the end, if negative){several}",
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
    """The refusal of a name that `trace[...]` does not know."""
    problem = missing_pass(state, key) or _missing_call(state, key)
    if problem is not None:
        return problem
    hints, close = suggestions(state, key, ("layer", "op", "module", "call"), ("layer", "module"))
    if hints:
        parts = ""
    else:
        parts = " Parts of names are not looked up."
        hints = [
            "trace.summary(level='op') lists every label",
            f"trace.find(tl.label_contains({key!r})) searches by a part of the label",
        ]
    return LookupFailedError(
        f"{key!r} is neither a label nor the address of a module in this trace.{parts}",
        code="op_lookup_not_found",
        remedy="; ".join(hints),
        asked=key,
        closest=close,
    )


def suggestions(
    state: State, key: str, besides: tuple[Kind, ...], kinds: tuple[Kind, ...]
) -> tuple[list[str], tuple[str, ...]]:
    """What to ask instead of a name that is not there.

    Args:
        state: of the trace.
        key: the name.
        besides: kinds of things that the name is known not to be.
        kinds: kinds among which a misspelt name is sought first.

    Returns:
        Clauses of a message, and the closest names.
    """
    hints = meanings(state, key, besides)
    exact = any(not hint.removeprefix(f"{key!r} is ").startswith(LOOSE) for hint in hints)
    close = () if exact else closest(state, key, kinds)
    return [*hints, *([f"closest: {', '.join(close)}"] if close else [])], close


def missing_pass(state: State, key: str) -> LookupFailedError | None:
    """The refusal of a pass that a layer does not have; None where `key` is no layer with a number."""
    name, colon, _ = key.rpartition(":")
    layer = state.labels.find_layer(name) if colon else None
    return None if layer is None else _missing_number(name, key, ("pass", "passes"), state.grouping.size(layer))


def _missing_call(state: State, key: str) -> LookupFailedError | None:
    name, colon, _ = key.rpartition(":")
    module = state.module_names().get(name) if colon else None
    return None if module is None else _missing_number(name, key, ("call", "calls"), len(state.calls_of(module)))


def _missing_number(name: str, key: str, noun: tuple[str, str], count: int) -> LookupFailedError:
    held = f"{count} {noun[0] if count == 1 else noun[1]}" if count else f"no {noun[1]}"
    first = f"{name}:1"
    span = first if count == 1 else f"{first} to {name}:{count}" if count else "its children"
    return LookupFailedError(
        f"{key!r} is not there: {name!r} has {held}.",
        code="op_lookup_not_found",
        remedy=f"use {span}",
        asked=key,
        count=count,
    )


def _ambiguous(key: str, one: str, one_spelling: str, other: str, other_spelling: str) -> AmbiguousOpLookupError:
    return AmbiguousOpLookupError(
        f"{key!r} is both a {one} and a {other} of this trace.".replace("a op", "an op"),
        code="ambiguous_op_lookup",
        remedy=f"{one_spelling} for the {one}, {other_spelling} for the {other}",
        asked=key,
        spellings=(one_spelling, other_spelling),
    )
