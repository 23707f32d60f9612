"""What the model holds before it runs: modules, parameters, buffers and tensor attributes."""

from __future__ import annotations

import functools
import types
import weakref
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, cast, final

import torch
from msgspec import Struct
from torch import nn

from tl_core import BufferRecord, ModuleRecord, ParamRecord, packed
from tl_torch._module_kinds import ModuleKind, kind_of, methods_of
from tl_torch._structure import PLAIN_TYPES, has_plain, readable_tensors
from tl_torch._torch_private import UninitializedTensorMixin, is_ordinary

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView

    from tl_core import TraceBuilder

HeldKind = Literal["buffer", "constant"]

CPU = torch.device("cpu")
"""One object for all ops: `tensor.device` makes one each time."""
_MODULE_STATE = list(vars(nn.Module()))
"""Attributes that every module has, in the order in which `nn.Module.__init__` sets them."""
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


@final
class Held(Struct, gc=False, eq=False):
    """A tensor that the model can reach and that is no parameter."""

    kind: HeldKind
    address: str
    reference: weakref.ref[torch.Tensor]
    buffer: BufferRecord | None


@final
class KnownParam(Struct, gc=False, eq=False):
    """A parameter of the model, held so that no other tensor takes its identity during the run."""

    tensor: torch.Tensor
    record: ParamRecord


@final
class KnownModule(Struct, gc=False, eq=False):
    """A module of the model, held so that no other one takes its identity during the run."""

    module: nn.Module
    record: ModuleRecord
    kind: ModuleKind
    closed: bool
    """Whether it is a layer of torch's own that holds nothing that could run code of the user."""


@final
class Sources:
    """The inventory of one model, taken before it runs."""

    __slots__ = (
        "_builder", "_prepared", "_root", "_shapeless", "_unattached", "_visited", "attention", "created",
        "functions", "held", "kinds", "modules", "params", "scripted", "shapes", "truncated", "unusual",
    )  # fmt: skip

    def __init__(self, builder: TraceBuilder, root: nn.Module) -> None:
        self._builder = builder
        self._visited: set[int] = set()
        self.modules: dict[int, KnownModule] = {}
        self.kinds: dict[type, ModuleKind] = {}
        """Classes of the modules that run as Python."""
        self.params: dict[int, KnownParam] = {}
        self.held: dict[int, Held] = {}
        self.shapes: dict[tuple[int, ...], tuple[int, ...]] = {}
        """Each shape of the run as one tuple, by its sizes."""
        self.functions: list[types.FunctionType] = []
        """Functions that modules keep as attributes."""
        self.scripted: list[str] = []
        """Addresses of TorchScript modules."""
        self.attention: list[tuple[str, nn.Module]] = []
        """Modules that may have a fused path, with their addresses."""
        self.truncated: dict[str, str] = {}
        """Paths of what was not looked into to the end, and why not."""
        self.unusual: set[int] = set()
        """Identities of tensors that are not ordinary dense ones with values, or may not be."""
        self._shapeless: list[torch.Tensor] = []
        """Parameters of no dimension: numbers, and lazy ones."""
        self.created: list[str] = []
        """Addresses of lazy parameters that did not exist when the run began."""
        self._root = root
        self._prepared = self._unattached = False
        self.module(root, "", frozenset())
        self._prepared = True

    def module(self, module: nn.Module, address: str, above: frozenset[int]) -> KnownModule:
        """Register a module and everything below it."""
        key = id(module)
        held = module.__dict__
        known = self.modules.get(key)
        if known is None:
            known = self._add(module, held, address)
            if known.kind.scripted:
                return known
            first = True
        else:
            known.record.aliases += (address,)
            first = False
        prefix = address + "." if address else ""
        record = known.record
        if own := held["_parameters"]:
            found = [self._param(one, prefix + name) for name, one in own.items() if one is not None]
            if first:
                record.params = packed(found)
        if own := held["_buffers"]:
            found = [self._buffer(one, prefix + name) for name, one in own.items() if one is not None]
            if first:
                record.buffers = packed(found)
        if (own := held["_modules"]) and key not in above:
            below = above | {key}
            found = [
                self.module(one, prefix + name, below).record.index for name, one in own.items() if one is not None
            ]
            if first:
                record.children = packed(found)
        return known

    def _add(self, module: nn.Module, held: dict[str, Any], address: str) -> KnownModule:
        """Register a module alone."""
        kind = self.kinds.get(type(module))
        if kind is None:
            kind = kind_of(type(module))
            if not kind.scripted:
                self.kinds[type(module)] = kind
        record = self._builder.module_record(address, kind.name, module.training)
        known = self.modules[id(module)] = KnownModule(module, record, kind, False)
        if kind.scripted:
            self._scripted(module, address, record)
            return known
        if kind.attention:
            self.attention.append((address, module))
        known.closed = self._attributes(held, address) and kind.of_torch and not held["_modules"]
        return known

    @property
    def classes(self) -> KeysView[type]:
        """Classes of the modules that run as Python."""
        return self.kinds.keys()

    def methods(self) -> frozenset[int]:
        """Identities of the code of all methods of the model's modules."""
        return methods_of(tuple(self.kinds.values()))

    def late(self, module: nn.Module) -> KnownModule:
        """Register a module that the run met and that was not there before, under its address where it has one."""
        for address, found in cast("Iterator[tuple[str, nn.Module]]", self._root.named_modules()):
            if found is module:
                return self.module(module, address, frozenset())
        self._unattached = True
        try:
            return self.module(module, f"<{type(module).__name__}>", frozenset())
        finally:
            self._unattached = False

    def _scripted(self, module: nn.Module, address: str, record: ModuleRecord) -> None:
        """Register what a TorchScript module holds, the modules inside it included; they do not run as Python."""
        self.scripted.append(address)
        prefix = f"{address}." if address else ""
        record.params = tuple([self._param(param, prefix + name) for name, param in module.named_parameters()])
        record.buffers = tuple([self._buffer(buffer, prefix + name) for name, buffer in module.named_buffers()])

    def shape_of(self, tensor: torch.Tensor) -> tuple[int, ...]:
        """Shape of a tensor; empty for a lazy parameter that has none yet, and for a nested tensor, whose rows differ."""
        if isinstance(tensor, UninitializedTensorMixin) or tensor.is_nested:
            return ()
        size = tensor.shape
        known = self.shapes.get(size)
        if known is None:
            known = self.shapes[size] = tuple(size)
        return known

    def module_of(self, record: ModuleRecord) -> nn.Module:
        """The module that a record stands for."""
        return next(known.module for known in self.modules.values() if known.record is record)

    def _param(self, param: torch.Tensor, address: str) -> int:
        known = self.params.get(id(param))
        if known is None:
            if self._prepared and not self._unattached and isinstance(param, UninitializedTensorMixin):
                taken = any(one.record.address == address for one in self.params.values())
                self.created.append(f"{address} (replaces the one that was there)" if taken else address)
            record = self._builder.param(
                address,
                tuple(param.shape) if is_ordinary(param) else self._unusual(param),
                plain_name(param.dtype),
                "cpu" if param.is_cpu else plain_device(param.device),
                param.requires_grad,
                weakref.ref(param),
            )
            self.params[id(param)] = KnownParam(param, record)
            if record.shape == ():
                self._shapeless.append(param)
        else:
            record = known.record
            if address != record.address and address not in record.aliases:
                record.aliases += (address,)
        return record.index

    def _buffer(self, buffer: torch.Tensor, address: str) -> int:
        held = self.held.get(id(buffer))
        record = None if held is None else held.buffer
        if record is None:
            reference = weakref.ref(buffer)
            size = buffer.shape if is_ordinary(buffer) else self._unusual(buffer)
            shape = self.shapes.get(size) or self.shapes.setdefault(size, tuple(size))
            record = self._builder.buffer(
                address,
                shape,
                plain_name(buffer.dtype),
                "cpu" if buffer.is_cpu else plain_device(buffer.device),
                reference,
            )
            self.held[id(buffer)] = Held("buffer", address, reference, record)
        elif address != record.address and address not in record.aliases:
            record.aliases += (address,)
        return record.index

    def _attributes(self, held: dict[str, Any], address: str) -> bool:
        """Look for tensors and functions among the attributes of a module; whether all are plain values."""
        usual = len(_MODULE_STATE) if [*islice(held, len(_MODULE_STATE))] == _MODULE_STATE else 0
        if has_plain(map(type, islice(held.values(), usual, None))):
            return True
        plain = True
        for name, value in islice(held.items(), usual, None):
            kind = type(value)  # pyright: ignore[reportUnknownVariableType] - a cast is a call
            if kind in PLAIN_TYPES or ((kind is tuple or kind is list) and has_plain(map(type, value))):  # strides
                continue
            if not usual and name in _MODULE_STATE:
                continue
            plain = False
            path = f"{address}.{name}" if address else name
            if isinstance(value, functools.partial):
                self._partial(cast("functools.partial[Any]", value), path)
            elif kind is types.FunctionType:
                self.functions.append(value)
            elif not isinstance(value, _FUNCTIONS):
                self._scan(value, path)
        return plain

    def _scan(self, value: Any, path: str) -> None:
        for address, tensor in readable_tensors(value, path, self.truncated, self._visited):
            self._hold("constant", address, tensor)

    def _partial(self, partial: functools.partial[Any], path: str) -> None:
        self._scan([partial.args, partial.keywords], path)
        if isinstance(partial.func, types.FunctionType):
            self.functions.append(partial.func)

    def _hold(self, kind: HeldKind, address: str, tensor: torch.Tensor) -> None:
        if id(tensor) not in self.held and id(tensor) not in self.params:
            self.held[id(tensor)] = Held(kind, address, weakref.ref(tensor), None)
            if not is_ordinary(tensor):
                self._unusual(tensor)

    def _unusual(self, tensor: torch.Tensor) -> tuple[int, ...]:
        """Note a tensor that may have no values; its shape."""
        self.unusual.add(id(tensor))
        return self.shape_of(tensor)

    def find_held(self, tensor: torch.Tensor) -> Held | None:
        """What the inventory says of a tensor."""
        held = self.held.get(id(tensor))
        return held if held is not None and held.reference() is tensor else None

    def settle(self) -> None:
        """Note the shapes of parameters that were lazy before the run."""
        for param in self._shapeless:
            self.params[id(param)].record.shape = self.shape_of(param)

    def unusual_state(self) -> list[tuple[str, torch.Tensor]]:
        """The parameters and held tensors that are `unusual`, with their addresses."""
        return [(address, one) for address, one in self.state() if id(one) in self.unusual] if self.unusual else []

    def state(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Every parameter and held tensor with its address."""
        for known in self.params.values():
            yield known.record.address, known.tensor
        for held in self.held.values():
            tensor = held.reference()
            if tensor is not None:
                yield held.address, tensor


@functools.cache
def plain_name(dtype: torch.dtype) -> str:
    """Name of a dtype without its library."""
    return str(dtype).rpartition(".")[2]


@functools.cache
def plain_device(device: torch.device) -> str:
    """Name of a device."""
    return str(device)
