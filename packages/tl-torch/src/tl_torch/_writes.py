"""Which writes a tensor holds: regions of storages, and the last writer of each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
from msgspec import Struct

from tl_core import OpRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

MAX_SHADOW = 1 << 28
"""Most elements among which it is told which of them a write reached; beyond it any overlap of ranges counts."""


Mask: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.bool_]]"


@final
class Region:
    """The bytes that a strided tensor occupies in its storage."""

    __slots__ = ("dense", "high", "itemsize", "low", "shape", "strides")

    def __init__(self, tensor: torch.Tensor) -> None:
        itemsize = tensor.element_size()
        self.itemsize = itemsize
        self.low = tensor.storage_offset() * itemsize
        if tensor.is_contiguous():  # one without elements is
            self.high = self.low + tensor.nbytes
            self.dense = True
            return
        self.shape = tuple(tensor.shape)
        self.strides = tuple([step * itemsize for step in tensor.stride()])
        last = sum((size - 1) * step for size, step in zip(self.shape, self.strides, strict=True))
        self.high = self.low + last + itemsize
        self.dense = self._is_dense()

    def _is_dense(self) -> bool:
        expected = self.itemsize
        for step, size in sorted(zip(self.strides, self.shape, strict=True)):
            if size == 1:
                continue
            if step != expected:
                return False
            expected *= size
        return True

    def mask(self, grain: int) -> Mask:
        """Which pieces of `grain` bytes the region occupies, from `low` to `high` (exclusive)."""
        if self.dense:
            return np.ones((self.high - self.low) // grain, dtype=np.bool_)
        field = np.zeros((self.high - self.low) // grain, dtype=np.bool_)
        strides = (*[step // grain for step in self.strides], 1)
        view = np.lib.stride_tricks.as_strided(field, (*self.shape, self.itemsize // grain), strides, writeable=True)
        view[...] = True
        return field


@final
class Write(Struct, gc=False, eq=False):
    """One write into a storage."""

    record: OpRecord
    region: Region
    hidden: bool
    """Whether the written tensor is no output of the call, so that the record's own value is another one."""


def last_writers(read: Region, writes: Sequence[Write], after: int) -> tuple[list[Write], bool]:
    """Who wrote what `read` holds, among the writes recorded later than op `after`.

    Returns:
        The writes of at least one byte read, oldest first, and whether any byte is older than all of them.
    """
    if read.low == read.high:
        return [], True
    writers: list[Write] = []
    left = _Remainder(read)
    for write in reversed(writes):
        if write.record.index <= after:
            break
        if left.take(write.region):
            writers.append(write)
            if left.empty:
                break
    return writers[::-1], not left.empty


def writers_beyond(read: Region, inside: Region, writes: Sequence[Write]) -> tuple[list[OpRecord], bool]:
    """Who wrote what `read` holds outside of `inside`.

    Returns:
        The last writers, oldest first, and whether any such byte was never written.
    """
    left = _Remainder(read)
    left.take(inside)
    found: list[OpRecord] = []
    for write in reversed(writes):
        if left.empty:
            break
        if left.take(write.region):
            found.append(write.record)
    return found[::-1], not left.empty


def overlap(one: Region, other: Region) -> bool:
    """Whether two regions of one storage have bytes in common."""
    return _Remainder(one).take(other)


@final
class _Remainder:
    """The bytes of a read that no write looked at so far has explained, in pieces of the smallest element met."""

    __slots__ = ("_count", "_field", "_grain", "_read", "empty")

    def __init__(self, read: Region) -> None:
        self._read = read
        self._field: Mask | None = None
        self._grain = read.itemsize
        self._count = 0
        self.empty = False

    def take(self, region: Region) -> bool:
        """Take away what `region` covers; tell whether it covered anything."""
        read = self._read
        low, high = max(read.low, region.low), min(read.high, region.high)
        if low >= high:
            return False
        if self._field is None and region.dense and low == read.low and high == read.high:
            self.empty = True
            return True
        grain = min(self._grain, region.itemsize)
        if max(read.high - read.low, region.high - region.low) > MAX_SHADOW * grain:
            return True
        if self._field is None:
            self._field = read.mask(grain)
            self._count = int(np.count_nonzero(self._field))
        elif grain < self._grain:
            self._field = self._field.repeat(self._grain // grain)
            self._count *= self._grain // grain
        self._grain = grain
        part = self._field[(low - read.low) // grain : (high - read.low) // grain]
        if region.dense:
            taken = int(np.count_nonzero(part))
            part[...] = False
        else:
            written = region.mask(grain)[(low - region.low) // grain : (high - region.low) // grain]
            taken = int(np.count_nonzero(part & written))
            part &= ~written
        self._count -= taken
        self.empty = self._count == 0
        return taken > 0
