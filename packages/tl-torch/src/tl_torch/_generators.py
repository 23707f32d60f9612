"""Generators of random numbers that a model may draw from beside torch's own."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import torch
from torch import nn

MAX_DEPTH = 3
"""How deep containers are looked into."""


def generators_of(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Generator]:
    """Every generator among the attributes and inputs of a model, and in the closures and globals that its code names."""
    found: dict[int, torch.Generator] = {}
    functions: dict[int, types.FunctionType] = {}
    for value in [args, kwargs, *(vars(module) for module in model.modules())]:
        _look(value, found, functions, 0)
    for kind in {
        type(module) for module in model.modules()
    }:  # as it stands there: TorchScript's forward is no function
        forward = next((vars(base)["forward"] for base in kind.__mro__ if "forward" in vars(base)), None)
        _look(forward, found, functions, 0)
    for function in functions.values():
        for value in _reached(function):
            if isinstance(value, torch.Generator):
                found[id(value)] = value
    return list(found.values())


def _look(value: Any, found: dict[int, torch.Generator], functions: dict[int, types.FunctionType], depth: int) -> None:
    if isinstance(value, torch.Generator):
        found[id(value)] = value
    elif isinstance(value, types.FunctionType):
        functions[id(value)] = value
    elif depth < MAX_DEPTH:
        for item in _items(value):
            _look(item, found, functions, depth + 1)


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[Any, Any]", value).values()
    return cast("Iterable[Any]", value) if isinstance(value, (list, tuple)) else ()


def _reached(function: types.FunctionType) -> Iterator[object]:
    """What a function can name outside itself."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it has not been filled yet
            continue
    for name in function.__code__.co_names:
        yield function.__globals__.get(name)
