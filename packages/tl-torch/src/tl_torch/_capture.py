"""The hot path: a function mode that writes down every call that torch makes."""

from __future__ import annotations

import weakref
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, cast, final

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from tl_core import packed
from tl_torch._arguments import AliasedArgument, ArgumentReader
from tl_torch._boundaries import Boundaries
from tl_torch._composite import Opener
from tl_torch._frames import FrameWalker, asked_by_torch, caller, frame_at
from tl_torch._function_table import FUNCTION_TABLE, FunctionInfo, info_of
from tl_torch._handover import Handover
from tl_torch._itemwise import itemwise
from tl_torch._ledger import NO_STORAGE, Entry, Ledger, Memory
from tl_torch._module_calls import RUN, ModuleCalls
from tl_torch._origins import Origins
from tl_torch._sources import CPU, Sources
from tl_torch._structure import PLAIN_TYPES, tensors_in
from tl_torch._torch_private import (
    FRESH_USE_COUNT,
    UninitializedTensorMixin,
    current_functorch_level,
    function_mode_depth,
    function_modes_active,
    node_name,
    pin_storage_key,
    storage_key,
    storage_use_count,
    torch_function_disabled,
    torch_function_enabled,
    version_of,
)
from tl_torch._write_log import Versions, WriteLog, make_room

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import CodeType

    from tl_core import CallRecord, OpRecord, SavePolicy, TraceBuilder
    from tl_torch._census import Census
    from tl_torch._snapshot import Keeper
    from tl_torch._surroundings import Surroundings

    Runner = Callable[[Callable[..., Any], Sequence[Any], dict[str, Any] | None], Any]

_TENSOR = torch.Tensor
_PLAIN = frozenset({torch.Tensor, nn.Parameter})
"""Tensor classes without a `__torch_function__` of their own."""
_IN_PLACE = frozenset({"first", "none"})
"""Write rules of functions that write the tensor they return."""


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
        self.calls = ModuleCalls(self)
        self.frames = FrameWalker(entry, RUN, self.sources.methods())
        self.origins = Origins(builder, self.ledger, self.sources, policy, keeper, self.frames, self.calls)
        self.reader = ArgumentReader(
            builder, self.ledger, self.sources, self.origins, policy, keeper, self.frames
        )  # fmt: skip
        self.handover = Handover(self.ledger, self.reader, policy, keeper)
        self.writes = WriteLog(self.ledger, self.sources)
        self._policy = policy
        self._save_all = policy.mode == "all"
        self._save_some = policy.mode == "some"
        self._keeper = keeper
        self.boundaries = Boundaries(self)
        self.depth = function_mode_depth() + 1
        """Number of function modes that run while ours listens."""
        self._runner: Runner | None = None
        """What runs the functions of the calls under way, where it is not a plain call."""
        self._visible: Runner = _visibly
        """What runs them in sight of other observers, while we are out of their sight."""
        self._census: Census | None = None
        self._surroundings: Surroundings | None = None
        self.reads_of_torch: set[int] = set()
        """Numbers of the reads that torch's own Python made."""
        self._observed = function_modes_active()
        """Whether a mode of the user was running before ours."""
        self._functions: dict[Callable[..., Any], FunctionInfo] = dict(FUNCTION_TABLE)
        self._opener = Opener()
        self._opened: set[Callable[..., Any]] = set()
        self._known = self.ledger.known
        self._memories = self.ledger.memories
        self._shapes = self.sources.shapes

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        info = self._functions.get(func)
        if info is None:
            info = self._functions[func] = info_of(func)
        role = info.role
        if role == "metadata":
            return func(*args, **kwargs) if kwargs else func(*args)
        if current_functorch_level() is not None:
            self.boundaries.watch(args, kwargs)
            return func(*args, **kwargs) if kwargs else func(*args)
        if self._observed or (types and not _PLAIN.issuperset(types)):
            return self._unobserved(func, info, args, kwargs)
        if role == "call":
            return self._call(func, info, args, kwargs)
        return self._record(func, info, args, kwargs)

    def _record(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> Any:
        role = info.role
        if role == "call":
            return self._call(func, info, args, kwargs)
        if role == "composite":
            return self._composite(func, info, args, kwargs)
        if role == "rebind":
            lazy = isinstance(args[0], UninitializedTensorMixin)  # it gets its memory; it held no value before
            return self._visible(func, args, kwargs) if lazy else self._call(func, info, args, kwargs)
        if role == "resize":
            make_room(info, args, kwargs)
            return self._call(func, info, args, kwargs)
        if role == "apart":
            return self.boundaries.call_apart(func, info, args, kwargs or {})
        if role == "itemwise":
            return itemwise(self.builder, info, args, partial(self._call, func, info, args, kwargs))
        if role == "higher_order":
            return self.boundaries.higher_order_call(func, args, kwargs or {})
        return self._read_value(func, info, args, kwargs)

    def _unobserved(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> Any:
        """Record a call that a mode or a tensor subclass of the user sees too, without showing it what we look at."""
        outer, self._runner = self._runner, self._visible
        try:
            with torch_function_disabled():
                if info.role == "composite":  # runs as it is: what it calls is the observer's to see
                    return self._call(func, info, args, kwargs)
                return self._record(func, info, args, kwargs)
        finally:
            self._runner = outer

    def watch_dispatches(self, census: Census) -> None:
        """Run every function under a census of what it dispatches."""
        self._census = census
        self._runner = census.run
        self._visible = census.run_visibly

    def attend(self, surroundings: Surroundings) -> None:
        """Look around before and after every function, whoever else watches it."""
        self._surroundings = surroundings
        self._runner = surroundings.around(self._runner or _plainly)
        self._visible = surroundings.around(self._visible)

    # ---------------------------------------------------------------- what no mode sees

    def run_as(self, func: Callable[..., Any], run: Callable[[], Any]) -> Any:
        """Run something as the work of `func`."""
        if self._surroundings is not None:
            run = partial(self._surroundings.run, run)
        return run() if self._census is None else self._census.run_as(func, run)

    def aside(self) -> AbstractContextManager[Any]:
        """A context in which no dispatch is watched."""
        return nullcontext() if self._census is None else self._census.aside()

    def boundary(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any],
        run: Callable[[], Any],
    ) -> Any:  # fmt: skip
        """Record a call that came in through a seam; `run` runs it, or returns what it returned."""

        def runner(_func: Callable[..., Any], _args: Sequence[Any], _kwargs: dict[str, Any] | None) -> Any:
            return run()

        outer, self._runner = self._runner, runner
        try:
            return self._call(func, info, args, kwargs)
        finally:
            self._runner = outer

    def knows(self, tensor: torch.Tensor) -> bool:
        """Whether the run or the model knows a tensor."""
        return (
            self.ledger.find(tensor) is not None
            or id(tensor) in self.sources.params
            or self.sources.find_held(tensor) is not None
        )

    def note_gap(self, reason: str, message: str) -> None:
        """Note something that happened unseen where the user stands."""
        self.builder.gap(reason, message, -1, self.reader.here())

    # ---------------------------------------------------------------- the end

    def close(self) -> None:
        """Let go of everything that the run has met."""
        self.ledger.close()
        self.calls.close()
        self.boundaries.close()
        self._runner = self._census = self._surroundings = None
        self._visible = _visibly
        del self.reader, self.origins, self.handover

    # ---------------------------------------------------------------- calls

    def _call(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> Any:
        reader = self.reader
        template, named = reader.template(info, args, kwargs)
        # Taken along now: a function that calls back into torch has arguments of its own.
        parents, params, aliases = reader.parents, reader.params, reader.aliases
        log = self.writes
        versions = log.versions(args, kwargs) if info.write_rule == "moved" else None

        runner = self._runner
        start = perf_counter_ns()
        if runner is not None:
            result = runner(func, args, kwargs)
        elif kwargs:
            result = func(*args, **kwargs)
        else:
            result = func(*args)
        duration = perf_counter_ns() - start

        if type(result) is _TENSOR:
            outputs: Sequence[torch.Tensor] = (result,)
            pure = info.write_rule == "none" and id(result) not in self._known and not (kwargs and "out" in kwargs)
        else:
            outputs = _outputs(result, info, args, kwargs, versions)
            if not outputs:
                return result
            pure = False
        written = () if pure else log.written(info, args, kwargs, versions, outputs[0])
        site = self.calls.site
        if site is None:
            site = self.calls.site_of_op(frame_at(2))
        read = packed(params if len(params) < 2 else [*dict.fromkeys(params)]) if params else ()
        call = self.builder.call(
            info.name, info.kernel, func, template, named, read, site, duration,
             bool(written) and info.write_rule in _IN_PLACE,
        )  # fmt: skip
        if info.meta is not None:
            parents += reader.facts(call, info, args, kwargs)
        own = packed(parents if len(parents) < 2 or aliases else [*dict.fromkeys(parents)])
        first = self._record_output(call, 0, outputs[0], own, aliases, info)
        for at in range(1, len(outputs)):
            self._record_output(call, at, outputs[at], own, aliases, info)
        if written:
            log.note(call, info, args, written, first)
        return result

    def _record_output(
        self, call: CallRecord, position: int, output: torch.Tensor, own: tuple[int, ...],
        aliases: list[AliasedArgument], info: FunctionInfo,
    ) -> OpRecord:  # fmt: skip
        try:
            memory_key = storage_key(output)
            memory = self._memories.get(memory_key)
            if memory is not None and memory.holder is not None:
                memory = self.ledger.met(memory_key)
        except NO_STORAGE:
            memory_key, memory = 0, self.ledger.scattered(output, len(self.builder.ops))
        made = tuple(self.reader.parents_of(output, memory, info, own, aliases)) if aliases else own
        size = () if output.is_nested else output.shape
        shape = self._shapes.get(size)
        if shape is None:
            shape = self._shapes[size] = tuple(size)
        device = CPU if output.is_cpu else output.device
        record = self.builder.output(
            call, position, made, shape, output.dtype, device, output.requires_grad, None, None
        )
        if memory is None:
            shared = 0 in shape or output.is_quantized  # a call may size it later; a share would lose its scale
            if not (shared or info.trusted):
                shared = info.getter or storage_use_count(memory_key) > FRESH_USE_COUNT
            memory = self._memories[memory_key] = Memory(record, shared, memory_key, pin_storage_key(output))
        if self._save_all or (self._save_some and self._policy.wants(record)):
            record.payload = self._keeper.keep(output, memory)
            if (
                record.requires_grad
                and self._keeper.attached
                and (self._keeper.references or not torch.is_grad_enabled())
            ):
                record.grad_fn = node_name(output)  # elsewhere the payload leads to it
        entry = Entry(weakref.ref(output), record, version_of(output), memory)
        known, key = self._known, id(output)
        before = known.get(key)
        if before is not None and not call.inplace and before.reference() is output:
            self.calls.unchanged.append((key, entry, before))
        known[key] = entry
        return record

    # ---------------------------------------------------------------- inputs and outputs of the model

    def input(self, address: str, tensor: torch.Tensor) -> OpRecord:
        """Record an input of the model; a tensor that is given twice counts as the first."""
        known = self.ledger.find(tensor)
        record = self.origins.source("input", address, tensor, None if known is None else known.memory)
        if known is not None:
            self._known[id(tensor)] = known
        return record

    def output(self, address: str, tensor: torch.Tensor) -> OpRecord:
        """Record an output of the model."""
        reader = self.reader
        reader.begin()
        reader.read(tensor)
        memory = self._known[id(tensor)].memory
        parents = tuple(reader.parents)
        if reader.aliases:
            parents = tuple(reader.parents_of(tensor, memory, _RETURN, parents, reader.aliases))
        shape = self.sources.shape_of(tensor)
        record = self.builder.source(
            "output", address, shape, tensor.dtype, tensor.device, tensor.requires_grad, None, parents
        )  # fmt: skip
        record.own_params = packed(reader.params)
        if self._save_all or (self._save_some and self._policy.wants(record)):
            record.payload = self._keeper.keep(tensor, memory)
        return record

    # ---------------------------------------------------------------- reads of values

    def _read_value(
        self, func: Callable[..., Any], info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> Any:
        reader = self.reader
        reader.begin()
        for _, tensor in tensors_in(args):
            reader.read(tensor)
        if info.role == "expose":
            self._known[id(args[0])].memory.expose(args[0])
        index = reader.parents[0] if reader.parents else -1
        if reader.aliases and index == -1:
            index = reader.aliases[0].read.writers[-1].index
        runner = self._runner
        result = func(*args, **(kwargs or {})) if runner is None else runner(func, args, kwargs)
        assert info.read_kind is not None
        value = result if isinstance(result, (bool, int, float, complex)) else None
        if asked_by_torch(caller(2)):
            self.reads_of_torch.add(len(self.builder.records.reads))
        self.builder.read(info.read_kind, index, value, reader.here())
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


def _plainly(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None) -> Any:
    return func(*args, **kwargs) if kwargs else func(*args)


def _visibly(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None) -> Any:
    with torch_function_enabled():
        return func(*args, **(kwargs or {}))


_RETURN = FunctionInfo("return", "return", "call")
"""Stands for the return of a value from the model: a reader that writes nothing."""


def _outputs(
    result: Any, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None, versions: Versions | None
) -> Sequence[torch.Tensor]:
    """The tensors that a call made: what it returned, or else what it wrote."""
    if isinstance(result, torch.Tensor):
        return (result,)
    if type(result) not in PLAIN_TYPES:
        found = [tensor for _, tensor in tensors_in(result)]
        if found:
            return found
    if info.write_rule == "first" and args:
        return [tensor for _, tensor in tensors_in(args[0])]
    if info.undeclared is not None:
        return [tensor for tensor in info.undeclared(args, kwargs or {}) if tensor is not None]
    if versions is not None:
        return [tensor for tensor, version in versions if version_of(tensor) != version]
    if kwargs and "out" in kwargs:
        return [tensor for _, tensor in tensors_in(kwargs["out"])]
    return ()
