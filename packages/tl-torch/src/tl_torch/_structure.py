"""Tensors inside nested Python values: lists, tuples, dicts, named tuples, dataclasses and plain objects."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections import deque
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, MutableMapping, ValuesView
from typing import Any, cast

import numpy as np
import torch

from tl_core import Opaque

MAX_DEPTH = 12
"""How deep nested values are followed."""

PLAIN_TYPES: frozenset[type] = frozenset({
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
    torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, torch.qscheme,
})  # fmt: skip
"""Types whose values hold no tensors and are kept as they are."""

has_plain: Callable[[Iterable[type]], bool] = PLAIN_TYPES.issuperset
"""Whether all of some types are plain."""


def is_plain_tuple(value: tuple[Any, ...]) -> bool:
    """Whether a tuple holds nothing but plain values, and slices whose bounds are such."""
    plain = PLAIN_TYPES
    for item in value:
        kind = type(item)  # pyright: ignore[reportUnknownVariableType] - a cast is a call, and this is the hot path
        if kind is slice:
            if type(item.start) not in plain or type(item.stop) not in plain or type(item.step) not in plain:
                return False
        elif kind not in plain:
            return False
    return True


_CLOSED = (
    type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.CodeType,
    torch.nn.Module, torch.Generator, enum.Enum,
)  # fmt: skip
"""Objects that are never looked into."""


def tensors_in(
    value: Any, path: str = "", visited: set[int] | None = None, cuts: list[str] | None = None
) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor inside `value` with its path (`.0.logits`), in order of appearance.

    Args:
        value: anything.
        path: what the paths begin with.
        visited: where given, ids of containers that are not entered again; new ones are added. The caller keeps the
            containers alive while it uses the set.
        cuts: where given, receives the paths of what was nested too deeply to be looked into.
    """
    if isinstance(value, torch.Tensor):
        yield path, value
    elif type(value) not in PLAIN_TYPES:
        once = visited is not None
        yield from _inside(value, path, set() if visited is None else visited, once, 0, cuts)


def _inside(
    value: Any, path: str, entered: set[int], once: bool, depth: int, cuts: list[str] | None
) -> Iterator[tuple[str, torch.Tensor]]:
    if id(value) in entered:
        return
    if depth > MAX_DEPTH:
        if cuts is not None and not isinstance(value, _CLOSED):
            cuts.append(path)
        return
    entered.add(id(value))
    for step, item in _children(value):
        if isinstance(item, torch.Tensor):
            yield path + step, item
        elif type(item) not in PLAIN_TYPES:
            yield from _inside(item, path + step, entered, once, depth + 1, cuts)
    if not once:
        entered.discard(id(value))


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple, deque, set, frozenset, ValuesView, ItemsView)):
        fields = getattr(cast("Any", value), "_fields", None)  # a named tuple's
        for number, item in enumerate(cast("list[Any]", value)):
            yield (f".{fields[number]}" if fields else f".{number}"), item
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            yield f".{key}", item
    elif isinstance(value, functools.partial):
        yield from ((".args", value.args), (".keywords", value.keywords))
    elif isinstance(value, slice):
        yield from ((f".{name}", bound) for name, bound in zip(_BOUNDS, _bounds(value), strict=True))
    elif not isinstance(value, _CLOSED):
        yield from _attributes(value)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, under its names."""
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield f".{field.name}", getattr(value, field.name, None)
    elif not type(value).__module__.startswith("torch.fx"):
        if isinstance(getattr(value, "__dict__", None), dict):
            for name, item in cast("dict[str, Any]", vars(value)).items():
                yield f".{name}", item
        for slot in _slots_of(cast("type[object]", type(value))):
            yield f".{slot}", getattr(value, slot, None)


@functools.cache
def _slots_of(kind: type) -> tuple[str, ...]:
    """Names that the classes of an object keep in `__slots__`."""
    return tuple(
        name
        for base in reversed(kind.__mro__)
        if "__slots__" in vars(base)
        for name, member in vars(base).items()
        if isinstance(member, types.MemberDescriptorType)
    )


def readable_tensors(
    value: Any, path: str, cuts: MutableMapping[str, str], visited: set[int] | None = None
) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor that can be found inside a value of the user's, whose containers may raise when they are read.

    Args:
        value: anything.
        path: what the paths begin with.
        cuts: receives the paths of what could not be looked into to the end, and why not.
        visited: as for `tensors_in`.
    """
    deep: list[str] = []
    try:
        yield from tensors_in(value, path, visited, deep)
    except Exception as error:  # noqa: BLE001 - foreign code; what it raised becomes a row
        said = " ".join(str(error).split())
        cuts.setdefault(path, f"reading it raised {type(error).__name__}" + (f": {said}" if said else ""))
    for cut in deep:
        cuts.setdefault(cut, "it is nested too deeply")


def replaced(value: Any, tensor: Callable[[torch.Tensor], object]) -> Any:
    """A copy of `value` in which each tensor is replaced by `tensor(it)` and each unknown object by `Opaque`.

    Tensors are met in the order of `tensors_in`.
    """
    return _copy(value, tensor, [])


def _copy(value: Any, tensor: Callable[[torch.Tensor], object], inside: list[int]) -> Any:
    kind = cast("type[object]", type(value))
    if kind in PLAIN_TYPES:
        return value
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if kind is slice:
        bounds = _bounds(value)
        if PLAIN_TYPES.issuperset(map(type, bounds)):
            return value
        return slice(*[_copy(bound, tensor, inside) for bound in bounds])
    if id(value) in inside or len(inside) > MAX_DEPTH:
        return Opaque(_type_name(kind))
    inside.append(id(value))
    try:
        if isinstance(value, (list, tuple)):
            return _rebuilt(kind, [_copy(item, tensor, inside) for item in cast("list[Any]", value)])
        if isinstance(value, Mapping):
            return {key: _copy(item, tensor, inside) for key, item in cast("Mapping[Any, Any]", value).items()}
        if isinstance(value, enum.Enum) or (callable(value) and _is_function(value)):
            return value
        if isinstance(value, np.generic):  # what `np.sqrt(64)` gives is a number to torch
            return cast("np.generic", value).item()
        for _, item in _children(value):
            _copy(item, tensor, inside)
        return Opaque(_type_name(kind))
    finally:
        inside.pop()


def _is_function(value: Any) -> bool:
    """Whether a callable is kept as it is: it holds no tensors."""
    return not isinstance(value, torch.nn.Module) and next(tensors_in(value), None) is None


_BOUNDS = ("start", "stop", "step")


def _bounds(value: Any) -> tuple[Any, Any, Any]:
    """The bounds of a slice, each of which may be a tensor: `x[i:]`."""
    return value.start, value.stop, value.step


def _rebuilt(kind: type, items: list[Any]) -> Any:
    if kind is list:
        return items
    if kind is tuple or not hasattr(kind, "_make"):
        return tuple(items) if issubclass(kind, tuple) else items
    return cast("Any", kind)._make(items)


def _type_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
