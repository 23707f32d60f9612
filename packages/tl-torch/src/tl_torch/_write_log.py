"""Noting what a call wrote, so that later readers of the same memory find it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast, final

import torch

from tl_core import CallRecord, OpRecord
from tl_torch._function_table import FunctionInfo
from tl_torch._ledger import Ledger
from tl_torch._sources import Sources
from tl_torch._structure import tensors_in
from tl_torch._torch_private import version_of
from tl_torch._writes import Region, Write

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

    def wrote(self, output: torch.Tensor, args: Sequence[Any], kwargs: dict[str, Any] | None) -> bool:
        """Whether a call returned a tensor that existed before and changed what it holds (`F.relu(x, inplace=True)`)."""
        entry = self._ledger.known.get(id(output))
        if entry is None or entry.reference() is not output:
            return False
        version = version_of(output)
        if version == -1:  # nothing counts the writes of an inference tensor
            return any(a is True for a in args) or bool(kwargs and kwargs.get("inplace"))
        return version != entry.version and not entry.memory.has_seen(version)

    def note(
        self, call: CallRecord, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None,
        versions: Versions | None, outputs: Sequence[torch.Tensor],
    ) -> None:  # fmt: skip
        """Note the writes of a call whose outputs are recorded."""
        if info.name in _REBINDING:
            self._rebound(info, args[0])
            return
        if info.write_rule == "first":
            written = [tensor for _, tensor in tensors_in(args[0])] if args else []
        elif versions is not None:
            written = _moved(versions, info, args, kwargs)
        else:
            written = [] if kwargs and "out" in kwargs else [outputs[0]]
        if kwargs and "out" in kwargs:
            written.extend(tensor for _, tensor in tensors_in(kwargs["out"]))
        first = cast("OpRecord", self._ledger.known[id(outputs[0])].record)
        for tensor in written:
            entry = self._ledger.find(tensor)
            if entry is None:
                continue
            own = entry.record
            returned = isinstance(own, OpRecord) and own.call is call
            region = Region(_written_part(info, tensor, args))
            entry.memory.note(version_of(tensor))
            entry.memory.add_write(Write(own if returned else first, region, not returned))  # pyright: ignore[reportArgumentType]

    def _rebound(self, info: FunctionInfo, tensor: torch.Tensor) -> None:
        entry = self._ledger.find(tensor)
        if entry is not None:
            entry.memory.note(version_of(tensor))
        if info.name in {"set_data", "set_"}:
            held = self._sources.find_held(tensor)
            if held is not None and held.buffer is not None:
                self.redirected.append(held.address)


def _moved(
    versions: Versions, info: FunctionInfo, args: Sequence[Any], kwargs: dict[str, Any] | None
) -> list[torch.Tensor]:
    moved = {id(tensor): tensor for tensor, version in versions if version_of(tensor) != version}
    if info.undeclared is not None:
        moved.update((id(tensor), tensor) for tensor in info.undeclared(args, kwargs or {}) if tensor is not None)
    return list(moved.values())


def _written_part(info: FunctionInfo, tensor: torch.Tensor, args: Sequence[Any]) -> torch.Tensor:
    """The part of a tensor that a call wrote: all of it, but for an assignment through a basic index."""
    if info.name != "setitem" or tensor is not args[0]:
        return tensor
    index = args[1] if type(args[1]) is tuple else (args[1],)
    if not all(type(step) in (int, slice, type(None), type(Ellipsis)) for step in index):
        return tensor
    return tensor.detach()[index]
