"""What is known of the class of a module, found out once a process."""

from __future__ import annotations

import functools
import weakref
from types import CodeType, FunctionType
from typing import Any, final

import torch
from msgspec import Struct
from torch import nn

from tl_torch._compiled import is_compiled
from tl_torch._honesty import ATTENTION


@final
class ModuleKind(Struct, gc=False, eq=False):
    """A class of modules. A code object is known by its `id`: its hash goes through everything that it holds."""

    name: str
    of_torch: bool
    """Whether it is a layer of torch's own."""
    scripted: bool
    """Whether its modules run without Python."""
    compiled: bool
    """Whether its modules stand for another one that was compiled."""
    attention: bool
    """Whether its modules may have a fused path."""
    methods: frozenset[int]
    """Identities of the code of its methods, inherited ones included."""
    forward: frozenset[int]
    """Identities of the code that makes up its `forward`, decorators included."""
    codes: tuple[CodeType, ...]
    """The code itself, so that no other takes its identity."""


_known: weakref.WeakKeyDictionary[type, ModuleKind] = weakref.WeakKeyDictionary()


def kind_of(kind: type) -> ModuleKind:
    """What is known of a class of modules."""
    known = _known.get(kind)
    if known is None:
        methods, forward = _methods(kind), _codes(_forward_of(kind))
        known = _known[kind] = ModuleKind(
            name=kind.__name__,
            of_torch=kind.__module__.startswith("torch.nn.modules."),
            scripted=issubclass(kind, torch.jit.ScriptModule),
            compiled=is_compiled(kind),
            attention=kind in ATTENTION,
            methods=frozenset(map(id, methods)),
            forward=frozenset(map(id, forward)),
            codes=(*methods, *forward),
        )
    return known


@functools.lru_cache(maxsize=1)
def methods_of(kinds: tuple[ModuleKind, ...]) -> frozenset[int]:
    """Identities of the code of all methods of some classes; hundreds, and the next run mostly asks for the same."""
    return frozenset[int]().union(*[kind.methods for kind in kinds])


def _forward_of(kind: type) -> object:
    return next((vars(base)["forward"] for base in kind.__mro__ if "forward" in vars(base)), None)


def _methods(kind: type) -> list[CodeType]:
    codes: dict[int, CodeType] = {}
    for base in kind.__mro__:
        if base is nn.Module or base is object:
            continue
        for value in vars(base).values():
            if isinstance(value, FunctionType):
                codes.update((id(code), code) for code in _codes(value))
    return list(codes.values())


def _codes(function: Any) -> list[CodeType]:
    codes: list[CodeType] = []
    while isinstance(function, FunctionType) and all(function.__code__ is not code for code in codes):
        codes.append(function.__code__)
        function = vars(function).get("__wrapped__")
    return codes
