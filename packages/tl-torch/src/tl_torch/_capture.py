"""The hot path: a function mode that writes down every call that torch makes."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns
from types import CodeType
from typing import Any, cast, final

import torch
from torch import nn
from torch.nn.parameter import UninitializedTensorMixin
from torch.overrides import TorchFunctionMode

from tl_core import AliasRead, CallRecord, CaptureError, Frames, OpRecord, ParamRecord, SavePolicy, TraceBuilder
from tl_torch._composite import Opener
from tl_torch._constants import find_constant
from tl_torch._frames import FrameWalker
from tl_torch._function_table import FUNCTION_TABLE, UNDECLARED_WRITERS, FunctionInfo, describe
from tl_torch._ledger import NO_STORAGE, Entry, Ledger, Memory
from tl_torch._module_calls import ModuleCalls, method_codes
from tl_torch._snapshot import Keeper
from tl_torch._sources import Sources, shape_of
from tl_torch._structure import PLAIN_TYPES, replaced, tensors_in
from tl_torch._torch_private import (
    FRESH_USE_COUNT,
    current_functorch_level,
    pin_storage_key,
    storage_key,
    storage_use_count,
    version_of,
)
from tl_torch._writes import Region, Write, last_writers

_TENSOR = torch.Tensor
_PARAMETER = nn.Parameter
_REBINDING = frozenset({
    "set_data", "set_", "resize_", "resize_as_", "unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_",
    "swapdims_", "as_strided_", "rename_", "detach_", "share_memory_", "requires_grad_", "swap_tensors",
})  # fmt: skip
"""In-place functions that change what a tensor object refers to and write no memory."""
_REDIRECTING = frozenset({"set_data", "set_"})


@final
class _AliasedRead:
    """An argument whose memory was written since it was made, until the call tells which part it reads."""

    __slots__ = ("entry", "position", "read", "region")

    def __init__(self, entry: Entry, read: AliasRead, region: Region, position: int) -> None:
        self.entry = entry
        self.read = read
        self.region = region
        self.position = position


@final
class Recorder(TorchFunctionMode):
    """Writes down one run on one thread; made for the run and thrown away with it."""

    def __init__(
        self, builder: TraceBuilder, model: nn.Module, policy: SavePolicy, keeper: Keeper, entry: CodeType
    ) -> None:
        super().__init__()
        self.builder = builder
        self.ledger = Ledger()
        self.sources = Sources(builder, model)
        methods, forwards = method_codes(self.sources.classes)
        self.calls = ModuleCalls(self, forwards)
        self.frames = FrameWalker(entry, ModuleCalls.module_call.__code__, methods)
        self._entry = entry
        self._policy = policy
        self._save_all = policy.mode == "all"
        self._save_some = policy.mode == "some"
        self._keeper = keeper
        self._functions: dict[Callable[..., Any], FunctionInfo] = dict(FUNCTION_TABLE)
        self._opener = Opener()
        self._opened: set[Callable[..., Any]] = set()
        self._parents: list[int] = []
        self._params: list[int] = []
        self._aliases: list[_AliasedRead] = []
        self._redirected: list[str] = []
        self._known = self.ledger.known
        self._memories = self.ledger.memories

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        info = self._functions.get(func)
        if info is None:
            info = self._functions[func] = describe(func)
        role = info.role
        if role == "metadata" or current_functorch_level() is not None:
            return func(*args, **kwargs) if kwargs else func(*args)
        if role == "call":
            return self._call(func, info, args, kwargs)
        if role == "composite":
            return self._composite(func, info, args, kwargs)
        if role == "rebind":
            lazy = isinstance(args[0], UninitializedTensorMixin)  # it gets its memory; it held no value before
            return func(*args) if lazy else self._call(func, info, args, kwargs)
        return self._read_value(func, info, args, kwargs)

    def close(self) -> None:
        """Let go of everything that the run has met."""
        self.ledger.close()
        self._aliases = []
        self.calls.close()

    # ---------------------------------------------------------------- calls

    def _call(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> Any:
        template, named = self._arguments(info, args, kwargs)
        versions = self._versions(args, kwargs) if info.write_rule == "moved" else None
        # What they were found to be is taken along now: a function that is opened later has arguments of its own.
        parents, params, aliases = self._parents, self._params, self._aliases

        start = perf_counter_ns()
        result = func(*args, **kwargs) if kwargs else func(*args)
        duration = perf_counter_ns() - start

        if type(result) is _TENSOR:
            outputs: Sequence[torch.Tensor] = (result,)
        else:
            outputs = self._outputs(result, info, args, kwargs, versions)
            if not outputs:
                return result
        writes = (
            info.write_rule != "none"
            or self._wrote(outputs[0], args, kwargs)
            or (kwargs is not None and "out" in kwargs)
        )
        calls = self.calls
        frames = self.frames
        site = frames.walk(sys._getframe(2), calls.running, len(calls.running))
        if frames.method_frames or calls.direct:
            calls.attribute(frames.method_frames)
        call = self.builder.call(
            info.name, info.kernel, func, template, named, tuple(dict.fromkeys(params)) if params else (), site,
            duration, writes and info.write_rule != "moved",
        )  # fmt: skip
        if info.meta is not None:
            call.meta = dict(info.meta)
        own = tuple(parents) if len(parents) < 2 or aliases else tuple(dict.fromkeys(parents))
        self._record_outputs(call, outputs, own, aliases, info)
        if writes:
            self._log_writes(call.index, info, args, kwargs, versions, outputs)
        return result

    def _arguments(
        self, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> tuple[tuple[object, ...], dict[str, object] | None]:
        """Arguments with each tensor replaced by what made it, which is noted as a parent."""
        parents = self._parents = []
        self._params = []
        aliases = self._aliases = []
        template = [a if type(a) in PLAIN_TYPES else self._argument(a) for a in args]
        if info.overwrites:
            del parents[:], aliases[:]
            self._params = []
            template[1:] = [self._argument(a) for a in args[1:]]
        if not kwargs:
            return tuple(template), None
        named: dict[str, object] = {}
        for key, value in kwargs.items():
            before = len(parents), len(aliases)
            named[key] = value if type(value) in PLAIN_TYPES else self._argument(value)
            if key == "out":
                del parents[before[0] :], aliases[before[1] :]
        return tuple(template), named

    def _wrote(self, output: torch.Tensor, args: Sequence[Any], kwargs: dict[str, Any] | None) -> bool:
        """Whether a call returned a tensor that existed before and changed what it holds (`F.relu(x, inplace=True)`)."""
        entry = self._known.get(id(output))
        if entry is None or entry.reference() is not output:
            return False
        version = version_of(output)
        if version == -1:  # nothing counts the writes of an inference tensor
            return any(a is True for a in args) or bool(kwargs and kwargs.get("inplace"))
        return version not in (entry.version, entry.memory.version)

    def _record_outputs(
        self,
        call: CallRecord,
        outputs: Sequence[torch.Tensor],
        own: tuple[int, ...],
        aliases: list[_AliasedRead],
        info: FunctionInfo,
    ) -> None:
        known = self._known
        position = 0
        for output in outputs:
            memory = self._memory(output)
            made = tuple(self._parents_of(output, memory, info, own, aliases)) if aliases else own
            grad_fn = output.grad_fn
            record = self.builder.output(
                call, position, made, tuple(output.shape), output.dtype, output.device, output.requires_grad,
                None if grad_fn is None else type(grad_fn).__name__, None,
            )  # fmt: skip
            if memory is None:
                memory = self._new_memory(output, record, info)
            if self._save_all or (self._save_some and self._policy.wants(record)):
                record.payload = self._keeper.keep(output, memory)
            known[id(output)] = Entry(weakref.ref(output), record, version_of(output), memory)
            position += 1

    def _argument(self, value: Any) -> object:
        kind = type(value)
        if kind is _TENSOR:
            return self._read(value)
        if kind is _PARAMETER:
            return self._read_parameter(value)
        if kind in PLAIN_TYPES:
            return value
        return replaced(value, self._read)

    def _read(self, tensor: torch.Tensor) -> object:
        """What an argument is in the record; notes it as a parent of the call under way."""
        entry = self._known.get(id(tensor))
        if entry is None or entry.reference() is not tensor:
            entry = self._adopt(tensor)
        record = entry.record
        memory = entry.memory
        if memory.writes is not None or version_of(tensor) != entry.version:
            return self._read_written(tensor, entry)
        if type(record) is OpRecord:
            self._parents.append(record.index)
        else:
            self._params.append(record.index)
        return record

    def _read_parameter(self, tensor: torch.Tensor) -> object:
        read = self._read(tensor)
        if type(read) is OpRecord:  # a parameter that the run itself has written
            param = self.sources.params.get(id(tensor))
            if param is not None:
                self._params.append(param[1].index)
        return read

    def _read_written(self, tensor: torch.Tensor, entry: Entry) -> object:
        record, memory = entry.record, entry.memory
        version = version_of(tensor)
        if version not in (entry.version, memory.version):
            self._unseen_write(record, memory, version)
        is_op = type(record) is OpRecord
        after = record.index if is_op else -1
        writes = memory.writes
        if writes is not None and writes[-1].record.index > after:
            region = Region(tensor)
            found, old = last_writers(region, writes, after)
            if found:
                writers = tuple(dict.fromkeys(write.record for write in found))
                if is_op and cast("OpRecord", record).kind == "buffer" and any(write.hidden for write in found):
                    return self._reread_buffer(tensor, cast("OpRecord", record), writers, old, memory)
                value = self._keeper.keep(tensor, memory) if self._save_all else None
                read = AliasRead(record, writers, value)
                self._aliases.append(_AliasedRead(entry, read, region, len(self._parents)))
                return read
        if is_op:
            self._parents.append(record.index)
        else:
            self._params.append(record.index)
        return record

    def _reread_buffer(
        self, tensor: torch.Tensor, before: OpRecord, writers: Sequence[OpRecord], old: bool, memory: Memory
    ) -> OpRecord:
        parents = [before.index] if old else []
        parents.extend(writer.index for writer in writers)
        record = self._source("buffer", before.address, tensor, memory, tuple(parents))
        self._parents.append(record.index)
        return record

    def _unseen_write(self, record: OpRecord | ParamRecord, memory: Memory, version: int) -> None:
        memory.version = version
        index = record.index if isinstance(record, OpRecord) else -1
        self.builder.gap(
            "unseen_write",
            f"{self._describe(record)} was written in place by something that torch's function seam does not show.",
            index,
            self._here(),
        )

    def _parents_of(
        self, output: torch.Tensor, memory: Memory | None, info: FunctionInfo, own: Sequence[int],
        aliases: Sequence[_AliasedRead],
    ) -> Iterable[int]:  # fmt: skip
        """Parents of an output of a call that read aliased memory; a view depends on the part that it shows."""
        merged = list(own)
        for aliased in reversed(aliases):
            record = aliased.entry.record
            is_view = info.write_rule == "none" and memory is not None and memory is aliased.entry.memory
            region = Region(output) if is_view else aliased.region
            after = record.index if isinstance(record, OpRecord) else -1
            writes, old = last_writers(region, aliased.entry.memory.writes or (), after)
            made = [record.index] if old and isinstance(record, OpRecord) else []
            made.extend(write.record.index for write in writes)
            merged[aliased.position : aliased.position] = made
        return dict.fromkeys(merged)

    # ---------------------------------------------------------------- outputs

    def _memory(self, output: torch.Tensor) -> Memory | None:
        try:
            return self._memories.get(storage_key(output))
        except NO_STORAGE:
            return Memory(None, True, 0)

    def _new_memory(self, output: torch.Tensor, record: OpRecord, info: FunctionInfo) -> Memory:
        key = storage_key(output)
        shared = not info.trusted and (info.getter or storage_use_count(key) > FRESH_USE_COUNT)
        memory = self._memories[key] = Memory(record, shared, pin_storage_key(output))
        memory.version = version_of(output)
        return memory

    def _outputs(
        self,
        result: Any,
        info: FunctionInfo,
        args: Sequence[Any],
        kwargs: dict[str, Any] | None,
        versions: list[tuple[torch.Tensor, int]] | None,
    ) -> Sequence[torch.Tensor]:
        kind = type(result)
        if kind in PLAIN_TYPES:
            found: list[torch.Tensor] = []
        elif isinstance(result, torch.Tensor):
            return (result,)
        elif kind is tuple or kind is list:
            found = [item for item in result if isinstance(item, torch.Tensor)]
            if len(found) != len(result):
                found = [tensor for _, tensor in tensors_in(result)]
        else:
            found = [tensor for _, tensor in tensors_in(result)]
        if found:
            return found
        if info.write_rule == "first" and args:
            return [tensor for _, tensor in tensors_in(args[0])]
        if versions is not None:
            return [tensor for tensor, version in versions if version_of(tensor) != version]
        if kwargs and "out" in kwargs:
            return [tensor for _, tensor in tensors_in(kwargs["out"])]
        return ()

    # ---------------------------------------------------------------- writes

    def _versions(self, args: Sequence[Any], kwargs: dict[str, Any] | None) -> list[tuple[torch.Tensor, int]]:
        return [(tensor, version_of(tensor)) for _, tensor in tensors_in([args, kwargs])]

    def _log_writes(
        self,
        call: int,
        info: FunctionInfo,
        args: Sequence[Any],
        kwargs: dict[str, Any] | None,
        versions: list[tuple[torch.Tensor, int]] | None,
        outputs: Sequence[torch.Tensor],
    ) -> None:
        if info.name in _REBINDING:
            if info.name not in _REDIRECTING:
                self._known_version(args[0])
                return
            held = self.sources.find_held(args[0])
            if held is not None and held.buffer is not None:
                self._redirected.append(held.address)
            return
        first = self._known[id(outputs[0])].record
        if info.write_rule == "first":
            written = [tensor for _, tensor in tensors_in(args[0])] if args else []
        elif versions is not None:
            written = self._moved(versions, info, args, kwargs)
        elif kwargs and "out" in kwargs:
            written = []
        else:
            written = [outputs[0]]
        if kwargs and "out" in kwargs:
            written.extend(tensor for _, tensor in tensors_in(kwargs["out"]))
        for tensor in written:
            entry = self.ledger.find(tensor)
            if entry is None:
                continue
            own = entry.record
            made_here = isinstance(own, OpRecord) and own.call is not None and own.call.index == call
            record = own if made_here else first
            memory = entry.memory
            memory.version = version_of(tensor)
            region = Region(_written_part(info, tensor, args))
            write = Write(cast("OpRecord", record), region, not made_here)
            if memory.writes is None:
                memory.writes = [write]
            else:
                memory.writes.append(write)

    def _moved(
        self,
        versions: list[tuple[torch.Tensor, int]],
        info: FunctionInfo,
        args: Sequence[Any],
        kwargs: dict[str, Any] | None,
    ) -> list[torch.Tensor]:
        moved = [tensor for tensor, version in versions if version_of(tensor) != version]
        if info.undeclared is not None:
            written = {id(tensor): tensor for tensor in info.undeclared(args, kwargs or {}) if tensor is not None}
            moved.extend(tensor for key, tensor in written.items() if all(key != id(other) for other in moved))
        return moved

    def _known_version(self, tensor: torch.Tensor) -> None:
        entry = self.ledger.find(tensor)
        if entry is not None:
            entry.memory.version = version_of(tensor)

    # ---------------------------------------------------------------- sources

    def _adopt(self, tensor: torch.Tensor) -> Entry:
        """Find out where a tensor came from that no recorded call made."""
        sources = self.sources
        param = sources.params.get(id(tensor))
        if param is not None and param[0] is tensor:
            param[1].shape = shape_of(tensor)  # a lazy one has got its shape by now
            memory = self.ledger.add_memory(tensor, param[1], shared=True)
            return self.ledger.add(tensor, param[1], memory)
        held = sources.find_held(tensor)
        memory = self.ledger.memory_of(tensor)
        if held is not None:
            self._source(held.kind, held.address, tensor, memory, ())
            return self._known[id(tensor)]
        if memory is not None and memory.owner is not None:
            return self.ledger.add(tensor, memory.owner, memory)
        sources = self.sources
        address = find_constant(tensor, sys._getframe(1), self._entry, sources.classes, sources.functions)
        record = self._source("constant", address or "", tensor, None, ())
        if address is not None:
            return self._known[id(tensor)]
        self.builder.gap(
            "unseen_source",
            f"A tensor of shape {tuple(tensor.shape)} was read that no recorded call made and that the model does not "
            "hold.",
            record.index,
            self._here(),
        )
        return self._known[id(tensor)]

    def _source(
        self, kind: Any, address: str, tensor: torch.Tensor, memory: Memory | None, parents: tuple[int, ...]
    ) -> OpRecord:
        record = self.builder.source(
            kind, address, tuple(tensor.shape), tensor.dtype, tensor.device, tensor.requires_grad, None, parents
        )
        if memory is None:
            memory = self.ledger.add_memory(tensor, record, shared=True)
        self.ledger.add(tensor, record, memory)
        if self._save_all or (self._save_some and self._policy.wants(record)):
            record.payload = self._keeper.keep(tensor, memory)
        return record

    def input(self, address: str, tensor: torch.Tensor) -> OpRecord:
        """Record an input of the model; a tensor that is given twice counts as the first."""
        known = self.ledger.find(tensor)
        record = self._source("input", address, tensor, None if known is None else known.memory, ())
        if known is not None:
            self._known[id(tensor)] = known
        return record

    def output(self, address: str, tensor: torch.Tensor) -> OpRecord:
        """Record an output of the model."""
        entry = self.ledger.find(tensor) or self._adopt(tensor)
        self._parents, self._params, self._aliases = [], [], []
        self._read(tensor)
        parents = tuple(self._parents)
        if self._aliases:
            parents = tuple(self._parents_of(tensor, entry.memory, _NO_WRITE, parents, self._aliases))
        record = self.builder.source(
            "output", address, tuple(tensor.shape), tensor.dtype, tensor.device, tensor.requires_grad, None, parents
        )
        if self._save_all or (self._save_some and self._policy.wants(record)):
            record.payload = self._keeper.keep(tensor, entry.memory)
        return record

    def check_buffers(self) -> None:
        """Refuse a run that gave a registered buffer other memory.

        Raises:
            CaptureError: code `buffer_data_assigned`.
        """
        if self._redirected:
            raise CaptureError(
                f"The forward pass assigned to the data of the buffer {self._redirected[0]!r}; what other holders of the "
                "buffer see from then on is not defined.",
                code="buffer_data_assigned",
                remedy="write into the buffer with buffer.copy_(value), or assign a new tensor to the attribute",
                buffers=tuple(self._redirected),
            )

    # ---------------------------------------------------------------- reads of values

    def _read_value(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> Any:
        self._parents, self._params, self._aliases = [], [], []
        for _, tensor in tensors_in(args):
            self._read(tensor)
        if info.role == "expose":
            entry = self.ledger.find(args[0])
            if entry is not None:
                entry.memory.shared = True
        result = func(*args, **kwargs) if kwargs else func(*args)
        kind = info.read_kind
        assert kind is not None
        index = self._parents[0] if self._parents else self._aliases[0].read.writers[-1].index if self._aliases else -1
        value = result if isinstance(result, (bool, int, float, complex)) else None
        self.builder.read(kind, index, value, self._here(1))
        return result

    # ---------------------------------------------------------------- composites

    def _composite(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> Any:
        twin = None if func in self._opened else self._opener.open(cast("Any", func))
        if twin is None:
            return self._call(func, info, args, kwargs)
        recorded = self.builder.records.calls
        before = len(recorded)
        self._opened.add(func)
        try:
            with self:
                result = twin(*args, **kwargs) if kwargs else twin(*args)
        finally:
            self._opened.discard(func)
        if len(recorded) == before + 1:
            recorded[before].name = info.name
        return result

    def _here(self, depth: int = 0) -> Frames:
        return self.frames.walk(sys._getframe(depth + 2), self.calls.running, len(self.calls.running))

    def _describe(self, record: OpRecord | ParamRecord) -> str:
        if isinstance(record, ParamRecord):
            return f"Parameter {record.address!r}"
        if record.call is not None:
            return f"The result of {record.call.name!r}"
        return f"The {record.kind} {record.address!r}"

    # ---------------------------------------------------------------- module calls

    def ops_in(self, value: Any) -> tuple[int, ...]:
        """Indices of the known ops among the tensors inside `value`."""
        found: dict[int, None] = {}
        for _, tensor in tensors_in(value):
            entry = self.ledger.find(tensor)
            if entry is not None and type(entry.record) is OpRecord:
                found[entry.record.index] = None
        return tuple(found)

    def returned(self, value: Any, call: Any) -> tuple[int, ...]:
        """Indices of the ops that a module call returns; decides once more which of them are kept."""
        if not self._policy.needs_exit:
            return self.ops_in(value)
        for _, tensor in tensors_in(value):
            entry = self.ledger.find(tensor)
            if entry is None or type(entry.record) is not OpRecord:
                continue
            record = entry.record
            if not self._policy.at_exit(record, call, record.payload is not None):
                record.payload = None
            elif record.payload is None:
                record.payload = self._keeper.keep(tensor, entry.memory)
        return self.ops_in(value)


def _written_part(info: FunctionInfo, tensor: torch.Tensor, args: Sequence[Any]) -> torch.Tensor:
    """The part of a tensor that a call wrote: all of it, but for an assignment through a basic index."""
    if info.name != "setitem" or tensor is not args[0]:
        return tensor
    index = args[1] if type(args[1]) is tuple else (args[1],)
    if not all(type(step) in (int, slice, type(None), type(Ellipsis)) for step in index):
        return tensor
    return tensor.detach()[index]


_NO_WRITE = FunctionInfo("output", "output", "call")
