"""Noting what a call wrote, so that later readers of the same memory find it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, final

import torch

from tl_core import CallRecord, CaptureError, OpRecord
from tl_torch._snapshot import ReferencePayload
from tl_torch._structure import tensors_in
from tl_torch._torch_private import end_share, version_of
from tl_torch._writes import Region, Write, last_writers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tl_torch._function_table import FunctionInfo
    from tl_torch._ledger import Ledger
    from tl_torch._sources import Sources

Versions = list[tuple[torch.Tensor, int]]
"""Tensors among the arguments of a call, and their version counters before it."""

_REBINDING = frozenset({
    "set_data", "set_", "resize_", "resize_as_", "unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_",
    "swapdims_", "as_strided_", "rename_", "detach_", "share_memory_", "requires_grad_", "swap_tensors",
})  # fmt: skip
"""In-place functions that change what a tensor object refers to and write no memory."""


@final
class WriteLog:
    """Notes the writes of one run in its ledger."""

    __slots__ = ("_ledger", "_sources", "redirected")

    def __init__(self, ledger: Ledger, sources: Sources) -> None:
        self._ledger = ledger
        self._sources = sources
        self.redirected: list[str] = []
        """Addresses of registered buffers that were given other memory."""

    @staticmethod
    def versions(args: Sequence[Any], kwargs: dict[str, Any] | None) -> Versions:
        """Version counters of every tensor among the arguments."""
        return [(tensor, version_of(tensor)) for _, tensor in tensors_in([args, kwargs])]

    def written(
        self, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None, versions: Versions | None,
        output: torch.Tensor,
    ) -> list[torch.Tensor]:  # fmt: skip
        """The tensors that a call wrote; its first output is `output`."""
        rule = info.write_rule
        if rule == "none":
            written = [output] if self._wrote(output, info, args, kwargs) else []
        elif rule == "first":
            first = args[0] if args else next(iter((kwargs or {}).values()), None)  # as `torch.nn.init` hands it over
            written = [first] if isinstance(first, torch.Tensor) else [tensor for _, tensor in tensors_in(first)]
        elif info.undeclared is not None:
            named = info.undeclared(args, kwargs or {})
            written = [tensor for tensor in named if tensor is not None] if named else []
        else:
            written = [tensor for tensor, version in versions or () if version_of(tensor) != version]
        if kwargs and "out" in kwargs:
            known = {id(tensor) for tensor in written}
            written.extend(tensor for _, tensor in tensors_in(kwargs["out"]) if id(tensor) not in known)
        return written

    def _wrote(
        self, output: torch.Tensor, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
    ) -> bool:
        """Whether a call returned a tensor that existed before and changed what it holds (`F.relu(x, inplace=True)`)."""
        entry = self._ledger.known.get(id(output))
        if entry is None or entry.reference() is not output:
            return False
        if info.inplace_at is not None:
            given = args[info.inplace_at] if len(args) > info.inplace_at else (kwargs or {}).get("inplace", False)
            return bool(given)
        version = version_of(output)
        return version != entry.version and not entry.memory.has_seen(version)

    def note(
        self, call: CallRecord, info: FunctionInfo, args: Sequence[Any], written: Sequence[torch.Tensor],
        first: OpRecord,
    ) -> None:  # fmt: skip
        """Note the writes of a call whose outputs are recorded; the first of them is `first`."""
        if info.name in _REBINDING:
            self._rebound(info, args[0])
            return
        known = self._ledger.known
        for tensor in written:
            entry = known.get(id(tensor))
            if entry is None or entry.reference() is not tensor:
                continue
            own, memory = entry.record, entry.memory
            record = own if type(own) is OpRecord and own.call is call else first
            region = Region(tensor if info.name != "setitem" else _assigned_part(tensor, args))
            memory.note(version_of(tensor))
            memory.add_write(Write(record, region, record is not own))

    def mark_references(self, ops: Iterable[OpRecord]) -> None:
        """Tell the payloads that are the model's own tensors which of them were written later in the run."""
        for record in ops:
            payload = record.payload
            if type(payload) is ReferencePayload:
                memory = self._ledger.memory_of(payload.value)
                if memory is not None and memory.writes is not None:
                    writes, _ = last_writers(Region(payload.value), memory.writes, record.index)
                    if writes:
                        payload.mark_written()

    def check_buffers(self) -> None:
        """Refuse a run that gave a registered buffer other memory.

        Raises:
            CaptureError: code `buffer_data_assigned`.
        """
        redirected = self.redirected
        if redirected:
            raise CaptureError(
                f"The forward pass assigned to the data of the buffer {redirected[0]!r}; what other holders of the "
                "buffer see from then on is not defined.",
                code="buffer_data_assigned",
                remedy="write into the buffer with buffer.copy_(value), or assign a new tensor to the attribute",
                buffers=tuple(redirected),
            )

    def _rebound(self, info: FunctionInfo, tensor: torch.Tensor) -> None:
        entry = self._ledger.find(tensor)
        if entry is not None:
            entry.memory.note(version_of(tensor))
        if info.name in {"set_data", "set_"}:
            held = self._sources.find_held(tensor)
            if held is not None and held.buffer is not None:
                self.redirected.append(held.address)


def make_room(info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None) -> None:
    """Let a call give memory of another size to what it writes, beside what is given as `out=`."""
    written = args[:1] if info.undeclared is None else info.undeclared(args, kwargs or {})
    for _, tensor in tensors_in(written):
        end_share(tensor)


def _assigned_part(tensor: torch.Tensor, args: Sequence[Any]) -> torch.Tensor:
    """The part of a tensor that an assignment wrote: all of it, but through a basic index."""
    if tensor is not args[0]:
        return tensor
    index = cast("tuple[Any, ...]", args[1] if isinstance(args[1], tuple) else (args[1],))
    if not all(type(step) in (int, slice, type(None), type(Ellipsis)) for step in index):
        return tensor
    return tensor.detach()[index]
