"""Where a tensor came from that no recorded call made: the model, its code, or nowhere that is known."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, final

from tl_core import OpKind, OpRecord, ParamRecord
from tl_torch._constants import find_constant
from tl_torch._frames import caller
from tl_torch._ledger import Entry
from tl_torch._sources import CPU
from tl_torch._torch_private import UninitializedTensorMixin, is_dead_transform_wrapper, version_of
from tl_torch._writes import Region, last_writers

if TYPE_CHECKING:
    import torch

    from tl_core import Frames, SavePolicy, TraceBuilder
    from tl_torch._frames import FrameWalker
    from tl_torch._ledger import Ledger, Memory
    from tl_torch._module_calls import ModuleCalls
    from tl_torch._snapshot import Keeper
    from tl_torch._sources import Held, Sources


@final
class Origins:
    """Finds the sources of one run and records them when they are first read."""

    __slots__ = ("_builder", "_calls", "_frames", "_keeper", "_known", "_ledger", "_memories", "_policy", "_sources")

    def __init__(
        self, builder: TraceBuilder, ledger: Ledger, sources: Sources, policy: SavePolicy, keeper: Keeper,
        frames: FrameWalker, calls: ModuleCalls,
    ) -> None:  # fmt: skip
        self._builder = builder
        self._ledger = ledger
        self._known = ledger.known
        self._sources = sources
        self._policy = policy
        self._keeper = keeper
        self._frames = frames
        self._calls = calls
        self._memories: dict[int, Memory] = {}
        """Memory of what the model holds beside its parameters, by the identity of the tensor."""

    def prepare(self) -> None:
        """Meet what the model holds before the run, where one after the other costs a fraction of meeting each.

        Parameters are known from now on, and the memory of all that becomes an op when it is first read.
        """
        memory_for, known, unusual = self._ledger.memory_for, self._known, self._sources.unusual
        for key, param in self._sources.params.items():
            tensor, record = param.tensor, param.record
            if key in known or (key in unusual and isinstance(tensor, UninitializedTensorMixin)):
                continue
            reference = weakref.ref(tensor)
            known[key] = Entry(reference, record, version_of(tensor), memory_for(tensor, record, reference))
        for key, held in self._sources.held.items():
            tensor = held.reference()
            if tensor is None or key in known or (key in unusual and isinstance(tensor, UninitializedTensorMixin)):
                continue
            self._memories[key] = memory_for(tensor, None, held.reference)

    def adopt(self, tensor: torch.Tensor) -> Entry:
        """Find out where a tensor came from that no recorded call made."""
        sources, ledger = self._sources, self._ledger
        held = sources.held.get(id(tensor))
        if held is not None and held.reference() is tensor:
            return self._first_read(tensor, held)
        param = sources.params.get(id(tensor))
        if param is not None and param.tensor is tensor:
            param.record.shape = self._sources.shape_of(tensor)
            memory = ledger.memory_for(tensor, param.record)
            owner = memory.owner
            if isinstance(owner, OpRecord) and not _is_blank(owner):  # a module that was built or copied in the forward
                return self._another(tensor, memory, owner)
            return ledger.add(tensor, param.record, memory)
        memory = ledger.memory_of(tensor)
        if memory is not None and memory.owner is not None:  # another object for memory that the run knows
            return self._another(tensor, memory, memory.owner)
        if is_dead_transform_wrapper(tensor):
            return self._transformed(tensor)
        frame = caller(1) if self._calls.running else None
        address = find_constant(
            tensor, frame, self._frames.entry, sources.classes, sources.functions, sources.truncated
        )
        record = self.source("constant", address or "", tensor, None)
        if address is None:
            self._note_unseen(tensor, record)
        return ledger.known[id(tensor)]

    def _another(self, tensor: torch.Tensor, memory: Memory, owner: OpRecord | ParamRecord) -> Entry:
        """Find out what another object for memory of the run holds, as `nn.Parameter(x)` and `x.as_subclass` make."""
        ledger = self._ledger
        whole = tensor.nbytes == tensor.untyped_storage().nbytes() and tensor.is_contiguous()
        if whole and self._sources.shape_of(tensor) == owner.shape:
            return ledger.add(tensor, owner, memory)
        twin = ledger.twin(tensor, memory)
        if twin is None:
            self._builder.gap(
                "unseen_source",
                f"A tensor of shape {tuple(tensor.shape)} was read that lies in the memory of "
                f"{described(owner, inside=True)}, shows it in another way, and comes from no recorded call, such as "
                "nn.Parameter(x[0]).",
                owner.index if isinstance(owner, OpRecord) else -1, self._here(),
            )  # fmt: skip
        return ledger.add(tensor, owner if twin is None else twin.record, memory)

    def _first_read(self, tensor: torch.Tensor, held: Held) -> Entry:
        """Record a tensor that the model holds."""
        memory, shape = self._memories.get(id(tensor)), self._sources.shape_of(tensor)
        parents: tuple[int, ...] = ()
        if memory is not None and memory.writes:  # through another tensor of the model that shows the same memory
            writes, _ = last_writers(Region(tensor), memory.writes, -1)
            parents = tuple(dict.fromkeys(write.record.index for write in writes))
        record = self._builder.source(
            held.kind, held.address, shape, tensor.dtype, CPU if tensor.is_cpu else tensor.device, tensor.requires_grad, None, parents
        )  # fmt: skip
        if memory is None:
            memory = self._ledger.memory_for(tensor, record)
        elif memory.owner is None and memory.key:
            memory.owner = record
        mode = self._policy.mode
        if mode == "all" or (mode == "some" and self._policy.wants(record)):
            record.payload = self._keeper.keep(tensor, memory)
        entry = self._known[id(tensor)] = Entry(held.reference, record, version_of(tensor), memory)
        return entry

    def moved(self, tensor: torch.Tensor, record: OpRecord | ParamRecord) -> Entry:
        """Find out what a tensor holds that was given other memory unseen, as by `Tensor.set_`."""
        self._builder.gap(
            "unseen_write",
            f"{described(record)} was given other memory by something that torch's function seam does not show, such "
            "as Tensor.set_.",
            record.index if type(record) is OpRecord else -1, self._here(),
        )  # fmt: skip
        memory = self._ledger.memory_of(tensor)
        if memory is not None and memory.owner is not None:
            return self._ledger.add(tensor, memory.owner, memory)
        self.source("constant", "", tensor, None)
        return self._known[id(tensor)]

    def _note_unseen(self, tensor: torch.Tensor, record: OpRecord) -> None:
        cuts = self._sources.truncated
        message = f"A tensor of shape {record.shape} was read that no recorded call made and that the model does not "
        if cuts:
            path, why = next(iter(cuts.items()))
            message += f"seem to hold; {path!r} could not be looked into to the end: {why}."
        else:
            message += (
                "hold. NumPy, DLPack, torch.Tensor(...), torch.IntTensor(...), C++ functions bound by pybind alone and "
                "other threads make such tensors."
            )
        reason = "held_tensor_scan_truncated" if cuts else "unseen_source"
        self._builder.gap(reason, message, record.index, self._here())

    def _transformed(self, tensor: torch.Tensor) -> Entry:
        record = self.source("constant", "", tensor, None)
        self._builder.gap(
            "transform_call_route_unverified",
            f"A tensor of shape {record.shape} came out of the inside of a torch.func transform.",
            record.index, self._here(),
        )  # fmt: skip
        return self._ledger.known[id(tensor)]

    def source(
        self, kind: OpKind, address: str, tensor: torch.Tensor, memory: Memory | None, parents: tuple[int, ...] = ()
    ) -> OpRecord:
        """Record a tensor that no call made, and keep its value if that is wanted."""
        record = self._builder.source(
            kind,
            address,
            self._sources.shape_of(tensor),
            tensor.dtype,
            CPU if tensor.is_cpu else tensor.device,
            tensor.requires_grad,
            None,
            parents,
        )
        if memory is None:
            memory = self._ledger.memory_for(tensor, record)
        self._ledger.add(tensor, record, memory)
        if self._policy.mode != "none" and self._policy.wants(record):
            record.payload = self._keeper.keep(tensor, memory)
        return record

    def _here(self) -> Frames:
        return self._frames.where(caller(1))


def _is_blank(op: OpRecord) -> bool:
    """Whether an op made memory that holds no values yet."""
    return op.call is not None and op.call.name.startswith(("empty", "new_empty"))


def described(record: OpRecord | ParamRecord, *, inside: bool = False) -> str:
    """Name a tensor for a message, at the beginning of a sentence or inside of one."""
    if isinstance(record, ParamRecord):
        return f"{'parameter' if inside else 'Parameter'} {record.address!r}"
    name = f"{record.kind} {record.address!r}" if record.call is None else f"result of {record.call.name!r}"
    return f"{'the' if inside else 'The'} {name}"
