"""Who made which tensor: identities and memory, tracked without tagging the user's tensors."""

from __future__ import annotations

import weakref
from types import CodeType
from typing import final

import torch
from msgspec import Struct

from tl_core import OpRecord, ParamRecord
from tl_torch._torch_private import parts_of, pin_storage_key, storage_key, unpin_storage_key, version_of
from tl_torch._writes import Region, Write, last_writers

NO_STORAGE = (NotImplementedError, RuntimeError, ValueError)
"""What torch raises when a tensor without an ordinary storage is asked for it."""


UNSEEN = 1 << 62
"""Later than every op."""


@final
class Exposure:
    """Memory that NumPy or a raw storage can write: what it held when a call of torch last wrote it.

    Such writes move no version counter, so the bytes are compared when somebody reads the memory again.
    """

    __slots__ = ("_bytes", "_copy")

    def __init__(self, tensor: torch.Tensor) -> None:
        self._bytes = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
        self._copy = self._bytes.clone()

    def renew(self) -> None:
        """Note that the bytes are as they should be."""
        self._copy = self._bytes.clone()

    def changed(self) -> bool:
        """Whether somebody wrote since; asks once for each write."""
        if torch.equal(self._bytes, self._copy):
            return False
        self.renew()
        return True


@final
class Memory(Struct, gc=False, eq=False):
    """One storage that the run has met."""

    owner: OpRecord | ParamRecord | None
    """What the storage first appeared as; None for memory without an ordinary storage, or that nobody has read yet."""
    shared: bool
    """Whether it may be reachable from outside the run, so that a copy-on-write snapshot is not enough."""
    key: int
    """Identity of the storage, or 0."""
    pin: int
    """Token that keeps the identity of the storage from being used again, or 0."""
    holder: weakref.ref[torch.Tensor] | None = None
    """In place of a pin: the tensor of the model that keeps the storage, while nothing else has shown or written it."""
    versions: set[int] | None = None
    """Values of version counters after writes that were seen; aliases may have counters of their own."""
    writes: list[Write] | None = None
    """The writes into it, oldest first."""
    exposed: Exposure | None = None
    """Set once Python could write into it without a call of torch."""
    marked: list[CodeType] | None = None
    """Forwards of each `autograd.Function` that said it has written into it."""
    explained: int = 0
    """How many of the writes have explained such a word."""
    latest: int = -1
    """Index of the op that wrote it last: -1 where none did, `UNSEEN` where anything may have."""

    def secure(self) -> bool:
        """Pin the identity of the storage, where its holder still has it; whether it has."""
        tensor = None if self.holder is None else self.holder()
        self.holder = None
        if tensor is None or storage_key(tensor) != self.key:
            return False
        self.pin = pin_storage_key(tensor)
        return True

    def note(self, version: int) -> None:
        """Note the version counter of a tensor after a write into this memory that was seen."""
        if self.versions is None:
            self.versions = {version}
        else:
            self.versions.add(version)

    def has_seen(self, version: int) -> bool:
        """Whether a write that was seen explains this value of a version counter."""
        seen = self.versions
        if seen is None or version in seen:
            return seen is not None
        if self.marked is None or version - 1 not in seen or not self._was_written_in(self.marked):
            return False
        seen.add(version)
        return True

    def mark(self, code: CodeType) -> None:
        """Note that an `autograd.Function` says it has written into this memory; `code` is its forward."""
        if self.marked is None:
            self.marked = [code]
        elif all(code is not known for known in self.marked):
            self.marked.append(code)

    def _was_written_in(self, codes: list[CodeType]) -> bool:
        """Whether a call on the way from one of `codes` wrote into it since that was last asked."""
        writes = self.writes or []
        calls = [write.record.call for write in writes[self.explained :]]
        self.explained = len(writes)
        return any(frame[0] is code for call in calls if call for frame in call.frames for code in codes)

    def add_write(self, write: Write) -> None:
        """Note a write."""
        if self.holder is not None:
            self.secure()
        if self.writes is None:
            self.writes = [write]
        else:
            self.writes.append(write)
        if self.exposed is not None:
            self.exposed.renew()
        elif write.record.index > self.latest:
            self.latest = write.record.index

    def expose(self, tensor: torch.Tensor) -> None:
        """Note that memory of `tensor` can be written from outside from now on."""
        self.shared = True
        if self.holder is not None:
            self.secure()
        if self.exposed is None and self.owner is not None:
            self.exposed = Exposure(tensor)
            self.latest = UNSEEN  # so that every reader looks


@final
class Entry(Struct, gc=False, eq=False):
    """A tensor that the run knows."""

    reference: weakref.ref[torch.Tensor]
    record: OpRecord | ParamRecord
    """What made it."""
    version: int
    """Its version counter then."""
    memory: Memory


def _place(tensor: torch.Tensor) -> tuple[object, ...]:
    """Which elements of its memory a tensor shows, and how."""
    return tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def _made(entry: Entry) -> int:
    return entry.record.index if isinstance(entry.record, OpRecord) else -1


@final
class Ledger:
    """All tensors and storages of one run."""

    __slots__ = ("_parts", "known", "memories")

    def __init__(self) -> None:
        self.known: dict[int, Entry] = {}
        self.memories: dict[int, Memory] = {}
        self._parts: list[tuple[int, tuple[torch.Tensor, ...]]] = []
        """Indices of ops that made sparse tensors, whose memory is that of their parts."""

    def memory_of(self, tensor: torch.Tensor) -> Memory | None:
        """The memory of a tensor where it was met before."""
        try:
            return self.met(storage_key(tensor))
        except NO_STORAGE:
            return None

    def met(self, key: int) -> Memory | None:
        """The memory with this identity where it was met before; its identity is pinned from now on."""
        memory = self.memories.get(key)
        if memory is not None and memory.holder is not None and not memory.secure():
            del self.memories[key]  # what the model held there is gone, and the identity is in use again
            return None
        return memory

    def memory_for(
        self,
        tensor: torch.Tensor,
        owner: OpRecord | ParamRecord | None,
        holder: weakref.ref[torch.Tensor] | None = None,
    ) -> Memory:
        """The memory of a tensor that was there before the run, or that nothing recorded has made.

        Args:
            tensor: the tensor.
            owner: what it appears as, where its memory was not met before; None where that shows later.
            holder: what leads to a tensor of the model, whose memory is pinned once anything else shows or writes it.
        """
        try:
            key = storage_key(tensor)
        except NO_STORAGE:
            return Memory(None, True, 0, 0)
        memory = self.memories.get(key)
        if memory is not None and memory.holder is not None:
            memory = self.met(key)
        if memory is None:
            memory = self.memories[key] = Memory(
                owner, True, key, pin_storage_key(tensor) if holder is None else 0, holder
            )  # fmt: skip
        return memory

    def add(self, tensor: torch.Tensor, record: OpRecord | ParamRecord, memory: Memory) -> Entry:
        """Make `record` the producer of `tensor`."""
        entry = Entry(weakref.ref(tensor), record, version_of(tensor), memory)
        self.known[id(tensor)] = entry
        return entry

    def find(self, tensor: torch.Tensor) -> Entry | None:
        """The entry of a known tensor."""
        entry = self.known.get(id(tensor))
        return entry if entry is not None and entry.reference() is tensor else None

    def twin(self, tensor: torch.Tensor, memory: Memory) -> Entry | None:
        """The entry of the latest other tensor that shows the same elements of a memory in the same way."""
        place = _place(tensor)
        found: Entry | None = None
        for entry in self.known.values():
            if entry.memory is memory and (found is None or _made(entry) > _made(found)):
                other = entry.reference()
                if other is not None and other is not tensor and _place(other) == place:
                    found = entry
        return found

    def tensors(self) -> list[torch.Tensor]:
        """The tensors that the run has met and that are still there."""
        found = [entry.reference() for entry in self.known.values()]
        return [tensor for tensor in found if tensor is not None]

    def scattered(self, tensor: torch.Tensor, index: int) -> Memory:
        """What stands for the memory of a tensor that has none of its own; remembers what it consists of.

        Args:
            tensor: such a tensor.
            index: the op that made it.
        """
        parts = parts_of(tensor)
        if parts:
            self._parts.append((index, parts))
        return Memory(None, True, 0, 0)

    def written_parts(self) -> list[int]:
        """The ops that made sparse tensors whose parts were written later, through what they were made of or gave."""
        return [index for index, parts in self._parts if any(self._was_written(part, index) for part in parts)]

    def _was_written(self, tensor: torch.Tensor, after: int) -> bool:
        memory = self.memory_of(tensor)
        return memory is not None and bool(last_writers(Region(tensor), memory.writes or (), after)[0])

    def close(self) -> None:
        """Give back every pinned storage identity."""
        unpin = unpin_storage_key
        for memory in self.memories.values():
            if memory.pin:
                unpin(memory.pin)
        self.memories.clear()
        self.known.clear()
        self._parts.clear()
