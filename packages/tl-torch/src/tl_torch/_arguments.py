"""What the arguments of a call are: each tensor is traced back to what made it, through aliases and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch
from msgspec import Struct
from torch import nn

from tl_core import AROUND_KEY, AliasRead, CallRecord, Frames, OpRecord, ParamRecord, SavePolicy, TraceBuilder
from tl_torch._frames import caller
from tl_torch._ledger import Entry, Ledger, Memory
from tl_torch._origins import described
from tl_torch._structure import PLAIN_TYPES, has_plain, is_plain_tuple, replaced, tensors_in
from tl_torch._torch_private import (
    end_share,
    storage_key,
    torch_function_disabled,
    version_of,
)
from tl_torch._writes import Region, last_writers, writers_beyond

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tl_torch._frames import FrameWalker
    from tl_torch._function_table import FunctionInfo
    from tl_torch._origins import Origins
    from tl_torch._snapshot import Keeper
    from tl_torch._sources import Sources

_TENSOR = torch.Tensor
_PARAMETER = nn.Parameter


@final
class AliasedArgument(Struct, gc=False, eq=False):
    """An argument whose memory was written since it was made; which part matters shows when the call has returned."""

    entry: Entry
    read: AliasRead
    region: Region
    position: int
    """How many parents the call had before it."""


@final
class ArgumentReader:
    """Resolves the arguments of the calls of one run."""

    __slots__ = (
        "_builder", "_frames", "_keeper", "_known", "_ledger", "_origins", "_policy", "_sources", "aliases",
        "params", "parents",
    )  # fmt: skip

    def __init__(
        self, builder: TraceBuilder, ledger: Ledger, sources: Sources, origins: Origins, policy: SavePolicy,
        keeper: Keeper, frames: FrameWalker,
    ) -> None:  # fmt: skip
        self._builder = builder
        self._ledger = ledger
        self._known = ledger.known
        self._sources = sources
        self._origins = origins
        self._policy = policy
        self._keeper = keeper
        self._frames = frames
        self.begin()

    def begin(self) -> None:
        """Start a new call."""
        self.parents: list[int] = []
        """Ops read so far, in argument order; those of `aliases` are not among them."""
        self.params: list[int] = []
        self.aliases: list[AliasedArgument] = []

    def template(
        self, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> tuple[tuple[object, ...], dict[str, object] | None]:
        """Arguments with each tensor replaced by what made it."""
        parents = self.parents = []
        params = self.params = []
        self.aliases = []
        if info.overwrites or (kwargs and "out" in kwargs):
            return self._template_of_write(info, args, kwargs)
        known = self._known
        read: list[object] = []
        for value in (*args, *kwargs.values()) if kwargs else args:
            kind = type(value)  # pyright: ignore[reportUnknownVariableType] - a cast is a call, and this is the hot path
            if kind is _TENSOR or kind is _PARAMETER:  # what nearly all go through: not written since it was met
                entry = known.get(id(value))
                if entry is None or entry.reference() is not value:
                    entry = self._origins.adopt(value)
                if version_of(value) == entry.version:
                    record, memory = entry.record, entry.memory
                    is_op = type(record) is OpRecord
                    if (
                        memory.latest <= (record.index if is_op else -1)
                        and memory.key and storage_key(value) == memory.key and (kind is _TENSOR or not is_op)
                    ):  # fmt: skip
                        (parents if is_op else params).append(record.index)
                        read.append(record)
                        continue
            elif kind in PLAIN_TYPES or (kind is tuple and has_plain(map(type, value))):  # strides, paddings
                read.append(value)
                continue
            read.append(self.argument(value))
        if not kwargs:
            return tuple(read), None
        count = len(args)
        return tuple(read[:count]), dict(zip(kwargs, read[count:], strict=True))

    def _template_of_write(
        self, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> tuple[tuple[object, ...], dict[str, object] | None]:
        """Arguments of a call that does not look at what it overwrites: its first argument, or what `out=` names."""
        positional = [self.argument(value) for value in args]
        if info.overwrites:  # what the first argument held before has no part in the result
            self.begin()
            positional[1:] = [self.argument(value) for value in args[1:]]
        if not kwargs:
            return tuple(positional), None
        return tuple(positional), self._named(kwargs, overwritten=info.overwrites and not args)

    def _named(self, kwargs: dict[str, Any], *, overwritten: bool) -> dict[str, object]:
        """Keyword arguments; what `out=` held before has no part in the result, nor has the first one if overwritten."""
        named: dict[str, object] = {}
        for key, value in kwargs.items():
            before = len(self.parents), len(self.aliases)
            named[key] = value if type(value) in PLAIN_TYPES else self.argument(value)
            if key == "out":
                for _, tensor in tensors_in(value):
                    end_share(tensor)  # it may be given another size
            if key == "out" or (overwritten and len(named) == 1):
                del self.parents[before[0] :], self.aliases[before[1] :]
        return named

    def argument(self, value: Any) -> object:
        """What stands in the record for one argument."""
        kind = type(value)  # pyright: ignore[reportUnknownVariableType] - a cast is a call, and this is the hot path
        if kind is _TENSOR:
            return self.read(value)
        if kind is _PARAMETER:
            return self._read_parameter(value)
        if kind in PLAIN_TYPES:
            return value
        if kind is tuple and is_plain_tuple(value):  # strides, paddings, sizes, indices
            return value
        return replaced(value, self.read)

    def read(self, tensor: torch.Tensor) -> object:
        """What made a tensor; notes it as a parent of the call under way."""
        entry = self._known.get(id(tensor))
        if entry is None or entry.reference() is not tensor:
            entry = self._origins.adopt(tensor)
        record, memory = entry.record, entry.memory
        if memory.key and storage_key(tensor) != memory.key:
            entry = self._origins.moved(tensor, record)
            record, memory = entry.record, entry.memory
        after = record.index if type(record) is OpRecord else -1
        if memory.latest > after or version_of(tensor) != entry.version:
            return self._read_written(tensor, entry)
        return self._note(record)

    def _note(self, record: OpRecord | ParamRecord) -> OpRecord | ParamRecord:
        if type(record) is OpRecord:
            self.parents.append(record.index)
        else:
            self.params.append(record.index)
        return record

    def _read_parameter(self, tensor: torch.Tensor) -> object:
        read = self.read(tensor)
        if type(read) is OpRecord:  # a parameter that the run itself has written
            param = self._sources.params.get(id(tensor))
            if param is not None:
                self.params.append(param.record.index)
        return read

    def _read_written(self, tensor: torch.Tensor, entry: Entry) -> object:
        record, memory = entry.record, entry.memory
        version = version_of(tensor)
        if (version != entry.version and not memory.has_seen(version)) or (
            memory.exposed is not None and memory.exposed.changed()
        ):
            self._unseen_write(record, memory, version)
        is_op = isinstance(record, OpRecord)
        after = record.index if is_op else -1
        writes = memory.writes
        if not writes or writes[-1].record.index <= after:
            return self._note(record)
        region = Region(tensor)
        found, old = last_writers(region, writes, after)
        if not found:
            return self._note(record)
        writers = tuple(dict.fromkeys(write.record for write in found))
        if is_op and record.kind == "buffer" and any(write.hidden for write in found):
            before = (record.index,) if old else ()
            parents = (*before, *(writer.index for writer in writers))
            return self._note(self._origins.source("buffer", record.address, tensor, memory, parents))
        if not is_op:
            self.params.append(record.index)
        value = self._keeper.keep(tensor, memory) if self._policy.mode == "all" else None
        read = AliasRead(record, writers, value)
        self.aliases.append(AliasedArgument(entry, read, region, len(self.parents)))
        return read

    def makers(self, tensor: torch.Tensor) -> tuple[int, ...]:
        """Indices of the ops whose values a tensor holds now; none for a tensor that the run has not met."""
        entry = self._ledger.find(tensor)
        if entry is None:
            return ()
        record, writes = entry.record, entry.memory.writes
        is_op = isinstance(record, OpRecord)
        own = (record.index,) if is_op else ()
        after = record.index if is_op else -1
        if not writes or writes[-1].record.index <= after:
            return own
        with torch_function_disabled():  # a module call ends while the mode is on
            region = Region(tensor)
        found, old = last_writers(region, writes, after)
        return (*(own if old else ()), *dict.fromkeys(write.record.index for write in found))

    def parents_of(
        self, output: torch.Tensor, memory: Memory | None, info: FunctionInfo, parents: Sequence[int],
        aliases: Sequence[AliasedArgument],
    ) -> Iterable[int]:  # fmt: skip
        """Parents of an output of a call that read aliased memory; a view depends on the part that it shows."""
        merged = list(parents)
        shown = info.write_rule == "none" and self._ledger.find(output) is None  # one given as `out=` was there before
        for aliased in reversed(aliases):
            record = aliased.entry.record
            region = Region(output) if shown and memory is aliased.entry.memory else aliased.region
            after = record.index if isinstance(record, OpRecord) else -1
            writes, old = last_writers(region, aliased.entry.memory.writes or (), after)
            made = [record.index] if old and isinstance(record, OpRecord) else []
            made.extend(write.record.index for write in writes)
            merged[aliased.position : aliased.position] = made
        return dict.fromkeys(merged)

    def facts(
        self, call: CallRecord, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> list[int]:
        """Note the rare facts of a call; returns the ops that it reads beside its arguments."""
        call.meta = info.noted(args)
        return self._beyond(call, args, kwargs) if info.layout else []

    def _beyond(self, call: CallRecord, args: Sequence[Any], kwargs: dict[str, Any] | None) -> list[int]:
        """Ops whose values a call reads in the memory around its first argument, as `as_strided` may."""
        entry = self._ledger.find(args[0]) if args and call.name in {"as_strided", "as_strided_copy"} else None
        if entry is None or not entry.memory.key:
            return []
        memory, owner = entry.memory, entry.memory.owner
        tensor = args[0].detach()
        shown = Region(torch.as_strided(tensor, *args[1:], **(kwargs or {})))
        writers, old = writers_beyond(shown, Region(tensor), memory.writes or ())
        made = [owner.index] if old and isinstance(owner, OpRecord) else []
        made.extend(writer.index for writer in writers)
        if made:
            call.meta = {**(call.meta or {}), AROUND_KEY: made}
        return made

    # ---------------------------------------------------------------- writes that no recorded call made

    def check_state(self, inputs: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Look for writes that nobody read after: into inputs, buffers and the other tensors that the model holds."""
        for _, tensor in inputs:
            self.check(tensor)
        known = self._known
        for key in self._sources.held:
            entry = known.get(key)
            tensor = None if entry is None else entry.reference()
            if entry is not None and tensor is not None and (
                version_of(tensor) != entry.version or entry.memory.exposed is not None
            ):  # fmt: skip
                self.check(tensor)
        for index in self._ledger.written_parts():
            self._builder.gap(
                "unseen_write",
                f"{described(self._builder.ops[index])} is sparse, and its values or indices were written later through another tensor; "
                "ops that read it do not show that.",
                index, self.here(),
            )  # fmt: skip

    def check(self, tensor: torch.Tensor) -> None:
        """Look once more at a tensor that the run has met: was it written by something unseen?"""
        entry = self._ledger.find(tensor)
        if entry is not None:
            memory, version = entry.memory, version_of(tensor)
            moved = version != entry.version and not memory.has_seen(version)
            if moved or (memory.exposed is not None and memory.exposed.changed()):
                self._unseen_write(entry.record, memory, version)

    def _unseen_write(self, record: OpRecord | ParamRecord, memory: Memory, version: int) -> None:
        memory.note(version)
        index = record.index if isinstance(record, OpRecord) else -1
        self._builder.gap(
            "unseen_write",
            f"{described(record)} was written in place by something that torch's function seam does not show.",
            index, self.here(),
        )  # fmt: skip

    def here(self) -> Frames:
        """Where the user stands."""
        return self._frames.where(caller(1))
