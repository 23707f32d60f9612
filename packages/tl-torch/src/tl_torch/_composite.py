"""Opening torch's own Python functions, so that what they call is seen."""

from __future__ import annotations

import dis
import types
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Callable

_CHECKS = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")


def _never(*_arguments: object) -> bool:
    return False


def _stores_global(code: types.CodeType) -> bool:
    return any(instruction.opname in {"STORE_GLOBAL", "DELETE_GLOBAL"} for instruction in dis.get_instructions(code))


@final
class Opener:
    """Makes, once a run, twins of Python functions that do not hand themselves back to the mode."""

    __slots__ = ("_globals", "_twins")

    def __init__(self) -> None:
        self._globals: dict[int, dict[str, Any]] = {}
        self._twins: dict[types.FunctionType, Callable[..., Any] | None] = {}

    def open(self, function: types.FunctionType) -> Callable[..., Any] | None:
        """The twin of `function`, or None where it has to run as it is."""
        if function in self._twins:
            return self._twins[function]
        twin = None if _stores_global(function.__code__) else self._twin(function)
        self._twins[function] = twin
        return twin

    def _twin(self, function: types.FunctionType) -> Callable[..., Any]:
        own = function.__globals__
        patched = self._globals.get(id(own))
        if patched is None:
            patched = self._globals[id(own)] = {**own, **{name: _never for name in _CHECKS if name in own}}
        twin = types.FunctionType(
            function.__code__, patched, function.__name__, function.__defaults__, function.__closure__
        )
        twin.__kwdefaults__ = function.__kwdefaults__
        return twin
