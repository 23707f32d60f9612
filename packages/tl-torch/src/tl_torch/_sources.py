"""What the model holds before it runs: modules, parameters, buffers, tensor attributes and closure constants."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Iterator
from typing import Any, Literal, final

import torch
from torch import nn

from tl_core import BufferRecord, ModuleRecord, ParamRecord, TraceBuilder
from tl_torch._structure import PLAIN_TYPES, tensors_in

HeldKind = Literal["buffer", "constant"]

_MODULE_STATE = frozenset(vars(nn.Module()))
"""Attributes that every module has."""
MAX_CALLED_FUNCTIONS = 3
"""How far calls of the forward's own helper functions are followed in search of constants."""


@final
class Held:
    """A tensor that the model can reach and that is no parameter."""

    __slots__ = ("address", "buffer", "kind", "reference")

    def __init__(self, kind: HeldKind, address: str, tensor: torch.Tensor, buffer: BufferRecord | None) -> None:
        self.kind: HeldKind = kind
        self.address = address
        self.reference = weakref.ref(tensor)
        self.buffer = buffer


@final
class Sources:
    """The inventory of one model, taken before it runs."""

    __slots__ = ("_builder", "_functions", "_visited", "classes", "held", "modules", "params")

    def __init__(self, builder: TraceBuilder, root: nn.Module) -> None:
        self._builder = builder
        self.modules: dict[int, ModuleRecord] = {}
        self.classes: set[type] = set()
        self.params: dict[int, tuple[torch.Tensor, ParamRecord]] = {}
        self.held: dict[int, Held] = {}
        self._functions: set[int] = set()
        self._visited: set[int] = set()
        self.module(root, "", frozenset())

    def module(self, module: nn.Module, address: str, above: frozenset[int]) -> ModuleRecord:
        """Register a module and everything below it."""
        key = id(module)
        record = self.modules.get(key)
        if record is not None:
            record.aliases.append(address)
            first = False
        else:
            record = self._builder.module_record(address, type(module).__name__, module.training)
            self.modules[key] = record
            self.classes.add(type(module))
            first = True
            self._attributes(module, address)
        prefix = f"{address}." if address else ""
        for name, param in module._parameters.items():  # noqa: SLF001 - includes tied ones
            if param is not None:
                self._param(param, prefix + name, record, first)
        for name, buffer in module._buffers.items():  # noqa: SLF001 - includes tied ones
            if buffer is not None:
                self._buffer(buffer, prefix + name, record, first)
        if key not in above:
            for name, child in module._modules.items():  # noqa: SLF001 - includes tied ones
                if child is not None:
                    child_record = self.module(child, prefix + name, above | {key})
                    if first:
                        record.children.append(child_record.index)
        return record

    def _param(self, param: torch.Tensor, address: str, owner: ModuleRecord, first: bool) -> None:
        known = self.params.get(id(param))
        if known is not None:
            if address not in known[1].aliases and address != known[1].address:
                known[1].aliases.append(address)
            record = known[1]
        else:
            record = self._builder.param(
                address, _shape(param), str(param.dtype).rpartition(".")[2], str(param.device), param.requires_grad,
                weakref.ref(param),
            )
            self.params[id(param)] = (param, record)
        if first:
            owner.params.append(record.index)

    def _buffer(self, buffer: torch.Tensor, address: str, owner: ModuleRecord, first: bool) -> None:
        held = self.held.get(id(buffer))
        record = held.buffer if held is not None else None
        if record is None:
            record = self._builder.buffer(
                address, _shape(buffer), str(buffer.dtype).rpartition(".")[2], str(buffer.device), weakref.ref(buffer)
            )
            self.held[id(buffer)] = Held("buffer", address, buffer, record)
        elif address != record.address and address not in record.aliases:
            record.aliases.append(address)
        if first:
            owner.buffers.append(record.index)

    def _attributes(self, module: nn.Module, address: str) -> None:
        prefix = f"{address}." if address else ""
        for name, value in vars(module).items():
            if type(value) in PLAIN_TYPES or name in _MODULE_STATE:
                continue
            if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
                self._function(value, f"{prefix}{name}", 0)
                continue
            for path, tensor in tensors_in(value, "", self._visited):
                self._hold("buffer", f"{prefix}{name}{path}", tensor)
        for kind in type(module).__mro__:
            if kind is nn.Module:
                break
            if not kind.__module__.startswith("torch.nn."):
                self._class(kind)

    def _class(self, kind: type) -> None:
        if id(kind) in self._functions:
            return
        self._functions.add(id(kind))
        for name, value in vars(kind).items():
            if isinstance(value, types.FunctionType):
                self._function(value, f"{kind.__name__}.{name}", 0)
            elif isinstance(value, torch.Tensor):
                self._hold("constant", f"{kind.__name__}.{name}", value)

    def _function(self, function: Any, address: str, depth: int) -> None:
        if isinstance(function, functools.partial):
            for path, tensor in tensors_in([function.args, function.keywords]):
                self._hold("constant", f"{address}{path}", tensor)
            function = function.func
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType) or id(function) in self._functions:
            return
        self._functions.add(id(function))
        for kind, name, value in _reachable(function):
            if type(value) in PLAIN_TYPES:
                continue
            if isinstance(value, types.FunctionType):
                if depth < MAX_CALLED_FUNCTIONS and not value.__module__.startswith("torch."):
                    self._function(value, value.__qualname__, depth + 1)
            elif isinstance(value, nn.Module):
                continue
            else:
                for path, tensor in tensors_in(value, "", self._visited):
                    self._hold("constant", f"{kind}:{name}{path}", tensor)

    def _hold(self, kind: HeldKind, address: str, tensor: torch.Tensor) -> None:
        if id(tensor) not in self.held and id(tensor) not in self.params:
            self.held[id(tensor)] = Held(kind, address, tensor, None)

    def find_held(self, tensor: torch.Tensor) -> Held | None:
        """What the inventory says of a tensor."""
        held = self.held.get(id(tensor))
        return held if held is not None and held.reference() is tensor else None

    def state(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every parameter and held tensor with its address."""
        for param, record in self.params.values():
            yield record.address, param
        for held in self.held.values():
            tensor = held.reference()
            if tensor is not None:
                yield held.address, tensor


def _shape(tensor: torch.Tensor) -> tuple[int, ...]:
    if isinstance(tensor, nn.parameter.UninitializedTensorMixin):
        return ()
    return tuple(tensor.shape)


def _reachable(function: types.FunctionType) -> Iterator[tuple[str, str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield "closure", name, cell.cell_contents
        except ValueError:  # a cell that is still empty
            continue
    for number, value in enumerate(function.__defaults__ or ()):
        yield "default", f"{function.__name__}[{number}]", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield "default", f"{function.__name__}.{name}", value
    known = function.__globals__
    for name in _global_names(function.__code__):
        if name in known:
            yield "global", name, known[name]


@functools.lru_cache(maxsize=4096)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(dict.fromkeys(_global_names(constant)))
    return tuple(names)


