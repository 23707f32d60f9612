"""Tensors that a forward pass reaches through its functions: closure cells, defaults, globals, class attributes."""

from __future__ import annotations

import dis
import functools
import sys
import types
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tl_torch._structure import PLAIN_TYPES, readable_tensors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, MutableMapping

    import torch

_SKIPPED = (types.ModuleType, types.BuiltinFunctionType, type)
_LOCALS_ARE_LIVE = sys.version_info >= (3, 13)


def find_constant(
    tensor: torch.Tensor,
    frame: types.FrameType | None,
    stop: types.CodeType,
    classes: Iterable[type],
    functions: Iterable[types.FunctionType],
    cuts: MutableMapping[str, str],
) -> str | None:
    """Where a tensor that existed before the run is held, or None.

    A name that the running functions themselves assign does not count: such a tensor was made by the run.

    Args:
        tensor: what to look for.
        frame: innermost frame of the user; None when the model has returned.
        stop: code at which the walk outwards ends.
        classes: classes of the model's modules.
        functions: functions that the model keeps as attributes.
        cuts: receives the addresses of what could not be looked into, and why not.

    Returns:
        An address such as `closure:mask`, `default:forward.scale`, `global:TABLE` or `Net.TABLE`.
    """
    known = {function.__code__: function for function in _functions(classes, functions)}
    places: Iterable[Iterator[tuple[str, Any]]] = (
        [_held_by(function) for function in known.values() if not function.__module__.startswith("torch.")]
        if frame is None
        else _places(frame, stop, known)
    )
    for place in places:
        for address, value in place:
            path = _path_to(tensor, value, address, cuts)
            if path is not None:
                return path
    for kind in classes:
        for name, value in vars(kind).items():
            if value is tensor:
                return f"{kind.__name__}.{name}"
    return None


def _path_to(tensor: torch.Tensor, value: Any, address: str, cuts: MutableMapping[str, str]) -> str | None:
    """Address of a tensor that is inside a value, or None."""
    if value is tensor:
        return address
    if isinstance(value, functools.partial):
        value = [value.args, value.keywords]
    if type(value) in PLAIN_TYPES or isinstance(value, (*_SKIPPED, types.FunctionType)):
        return None
    return next((path for path, found in readable_tensors(value, address, cuts) if found is tensor), None)


def _places(
    frame: types.FrameType | None, stop: types.CodeType, known: Mapping[types.CodeType, types.FunctionType]
) -> Iterator[Iterator[tuple[str, Any]]]:
    """What each running function can reach, innermost first."""
    while frame is not None and frame.f_code is not stop:
        yield _reachable(frame, known.get(frame.f_code))
        frame = frame.f_back


def _held_by(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function can reach that is not running."""
    code = function.__code__
    yield from _defaults(function)
    yield from _globals(code, function.__globals__)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # an empty cell
            yield f"closure:{name}", cell.cell_contents


def _functions(classes: Iterable[type], functions: Iterable[types.FunctionType]) -> Iterator[types.FunctionType]:
    for kind in classes:
        for base in kind.__mro__:
            for value in vars(base).values():
                if isinstance(value, types.FunctionType):
                    yield value
    yield from functions


def _reachable(frame: types.FrameType, function: types.FunctionType | None) -> Iterator[tuple[str, Any]]:
    code = frame.f_code
    known = frame.f_globals
    if function is None:
        found = known.get(code.co_name)
        function = found if isinstance(found, types.FunctionType) and found.__code__ is code else None
    if function is not None:
        yield from _defaults(function)
    yield from _globals(code, known)
    free = [name for name in code.co_freevars if name not in _assigned(code)]
    if free:
        cells = frame.f_locals
        held = [(f"closure:{name}", cells[name]) for name in free if name in cells]
        if not _LOCALS_ARE_LIVE:
            cells.clear()  # the copy that older Pythons keep would hold every local until the function returns
        yield from held


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    code, defaults = function.__code__, function.__defaults__ or ()
    for number, value in enumerate(defaults):
        yield f"default:{code.co_name}.{code.co_varnames[code.co_argcount - len(defaults) + number]}", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f"default:{code.co_name}.{name}", value


def _globals(code: types.CodeType, known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    stored = _assigned(code)
    for name in code.co_names:
        if name in known and name not in stored:
            yield f"global:{name}", known[name]


@functools.lru_cache(maxsize=4096)
def _assigned(code: types.CodeType) -> frozenset[str]:
    names = {
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname in {"STORE_GLOBAL", "STORE_DEREF"}
    }
    return frozenset(names)
