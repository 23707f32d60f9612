"""Names that a model makes known before it runs, for messages about `save=`."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, cast

import torch
from torch.nn import functional

from tl_core import LiveNames

if TYPE_CHECKING:
    from collections.abc import Iterable

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


@cache
def _functions() -> tuple[str, ...]:
    places = (torch, functional, *torch.Tensor.__mro__[:-1])
    callables = {name for place in places for name, value in vars(place).items() if _is_function(value)}
    return tuple(sorted(name for name in callables if name.islower() and not name.startswith("_")))


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)
