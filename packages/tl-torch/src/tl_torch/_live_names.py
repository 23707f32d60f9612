"""What a model makes known before it runs, for messages about `save=`."""

from __future__ import annotations

from functools import cache, partial
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType
from typing import TYPE_CHECKING, TypeGuard, cast

import torch
from torch.nn import Module, functional

from tl_core import ArgumentTypeError, LiveNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import nn


def live_names(model: nn.Module) -> LiveNames:
    """Modules of `model`, and functions that any model may call."""
    return LiveNames(modules=partial(_modules, model), functions=_functions, containers=partial(_containers, model))


def _modules(model: nn.Module) -> list[str]:
    modules = cast("Iterable[tuple[str, nn.Module]]", model.named_modules(remove_duplicate=False))
    return [address for address, _ in modules if address]


def _containers(model: nn.Module) -> frozenset[str]:
    modules = cast("Iterable[tuple[str, nn.Module]]", model.named_modules(remove_duplicate=False))
    return frozenset(address for address, module in modules if type(module).__name__ in ("ModuleList", "ModuleDict"))


def refuse_parts(save: object, model: nn.Module) -> None:
    """Refuse modules and functions of torch in `save=`: they can be called, and would be taken for predicates.

    Raises:
        ArgumentTypeError: code `save_invalid`.
    """
    for given in cast("Sequence[object]", save) if isinstance(save, (list, tuple)) else (save,):
        if isinstance(given, Module):
            named = cast("Iterable[tuple[str, Module]]", model.named_modules())
            address = next((name for name, module in named if module is given), "layer1")
            remedy = (
                f"save=tl.module({address!r}) means what it returns, save=tl.in_module({address!r}) every op inside it"
            )
            what = f"a module ({type(given).__name__})"
        elif _is_of_torch(given):
            remedy, what = f"save=tl.func({given.__name__!r})", f"the function {given.__name__!r} of torch"
        else:
            continue
        raise ArgumentTypeError(f"save= was given {what}.", code="save_invalid", remedy=remedy, given=what)


def _is_of_torch(value: object) -> TypeGuard[FunctionType]:
    if isinstance(value, (BuiltinFunctionType, MethodDescriptorType)):
        return value.__name__ in _functions() and getattr(value, "__module__", None) != "builtins"
    return isinstance(value, FunctionType) and value.__module__.partition(".")[0] == "torch"


@cache
def _functions() -> tuple[str, ...]:
    places = (torch, functional, *torch.Tensor.__mro__[:-1])
    callables = {name for place in places for name, value in vars(place).items() if _is_function(value)}
    return tuple(sorted(name for name in callables if name.islower() and not name.startswith("_")))


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)
