"""Where the saved value of an op lies, and values that stay on disk until they are asked for."""

from __future__ import annotations

import mmap
import os
import threading
import zlib
from abc import ABC, abstractmethod
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, final, runtime_checkable

import numpy as np

from tl_core._backend import HostArray, MemoryKey, backend, backend_entry_points
from tl_core._errors import ArtifactError
from tl_core._safetensors import DTYPES, HeaderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tl_core._safetensors import Region

PayloadLocation = Literal["memory", "disk", "none"]


class DeferredPayload(ABC):
    """A saved value that stands for another object; `materialize` gives the object itself."""

    __slots__ = ()

    @abstractmethod
    def materialize(self) -> object:
        """Return the value as the framework's own type, or say why it cannot be had."""


@final
class PayloadView(NamedTuple):
    """How one value lies in a stored region."""

    region: int
    """Position of the region in the payload file."""
    offset: int
    """First byte within the region."""
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """Steps in elements; None where the value is contiguous."""

    @property
    def size_bytes(self) -> int:
        """Bytes of the value once it is in memory."""
        return prod(self.shape) * DTYPES[self.dtype].itemsize


@final
class PayloadFile:
    """The memory-mapped payload file of one bundle; each region is checked when it is first read."""

    __slots__ = ("_checked", "_checksums", "_data_start", "_descriptor", "_lock", "_map", "_regions", "path")

    def __init__(self, path: str, descriptor: int) -> None:
        self._descriptor = descriptor
        """Open as long as a value of the trace may be asked for."""
        self.path = path
        """Where the bundle was loaded from, for messages."""
        self._data_start = 0
        self._regions: list[Region] = []
        self._checksums: list[int] = []
        self._checked: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()
        self._map: mmap.mmap | None = None

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        _close(self._descriptor)

    def list_regions(self, data_start: int, regions: list[Region], checksums: list[int]) -> None:
        """Tell what the file holds.

        Args:
            data_start: bytes before the first region.
            regions: from the header, in order of their bytes.
            checksums: CRC-32 of each.

        Raises:
            HeaderError: the header and the checksums are of different files.
        """
        if len(regions) != len(checksums):
            raise HeaderError(f"{len(regions)} values and {len(checksums)} checksums")
        self._data_start = data_start
        self._regions = regions
        self._checksums = checksums

    def holds(self, view: PayloadView) -> bool:
        """Whether `view` lies within its region."""
        stored = DTYPES.get(view.dtype)
        if stored is None or not 0 <= view.region < len(self._regions):
            return False
        region = self._regions[view.region]
        room = region.stop - region.start - view.offset
        if view.strides is None:
            return view.size_bytes <= room
        if len(view.strides) != len(view.shape):
            return False
        last = sum((length - 1) * step for length, step in zip(view.shape, view.strides, strict=True))
        return 0 not in view.shape and (last + 1) * stored.itemsize <= room

    def region(self, index: int) -> memoryview:
        """Bytes of a region, straight from the file.

        Raises:
            ArtifactError: the file was cut (`file_truncated`) or changed (`file_altered`) since it was saved.
        """
        region = self._regions[index]
        if region.start == region.stop:
            return memoryview(b"")
        with self._lock:
            state = self._state()
            if self._map is None:
                self._map = mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ)
            start = self._data_start
            view = memoryview(self._map)[start + region.start : start + region.stop]
            if self._checked.get(index) != state:
                self._check(index, view)
                self._checked[index] = state
        return view

    def _state(self) -> tuple[int, int]:
        """Size and time of the last change: what was checked once holds until they move."""
        status = os.fstat(self._descriptor)
        expected = self._data_start + (self._regions[-1].stop if self._regions else 0)
        if status.st_size < expected:
            # Touching a page beyond the end of a mapped file would kill the process.
            raise ArtifactError(
                f"{self.path} has {status.st_size} bytes, and {expected} were saved.",
                code="file_truncated",
                remedy="copy the bundle again, or save the trace again",
                file=self.path,
                expected=expected,
                found=status.st_size,
            )
        return status.st_size, status.st_mtime_ns

    def _check(self, index: int, view: memoryview) -> None:
        found = zlib.crc32(view)
        if found != self._checksums[index]:
            name = self._regions[index].name
            raise ArtifactError(
                f"The bytes of {name!r} in {self.path} are not the ones that were saved "
                f"(checksum {found:08x}, expected {self._checksums[index]:08x}).",
                code="file_altered",
                remedy="copy the bundle again, or save the trace again",
                file=self.path,
                value=name,
            )


@final
class LazyPayload(DeferredPayload):
    """A saved value on disk. Each `materialize` reads it anew; nothing is kept."""

    __slots__ = ("_backend_name", "_file", "device", "layout", "view")

    def __init__(
        self, file: PayloadFile, view: PayloadView, backend_name: str, device: str,
        layout: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        self._file = file
        self._backend_name = backend_name
        self.view = view
        self.device = device
        """Where the value is put when it is read."""
        self.layout = layout
        """Steps in elements in which it lies then; None for row after row."""

    @property
    def size_bytes(self) -> int:
        """Bytes of the value once it is in memory."""
        return self.view.size_bytes

    def materialize(self) -> object:
        """Read the value, check it, and return it as the framework's own type.

        Raises:
            ArtifactError: the file no longer holds what was saved.
            MissingDependencyError: the framework is not installed.
        """
        return backend(self._backend_name).from_host(self.host(), self.device)

    def host(self) -> HostArray:
        """Read the value as plain bytes, which may lie in read-only memory."""
        view = self.view
        region = self._file.region(view.region)
        whole = view.strides is None
        data = region[view.offset : view.offset + view.size_bytes] if whole else gather(region, view)
        return HostArray(dtype=view.dtype, shape=view.shape, data=data, strides=self.layout)

    def memory_key(self) -> MemoryKey:
        """Identity of the stored bytes, as `Backend.storage_key` gives for values in memory."""
        view = self.view
        strides = contiguous_strides(view.shape) if view.strides is None else view.strides
        space = (id(self._file), view.region)
        return MemoryKey(space, view.offset, view.dtype, view.shape, strides)

    def __repr__(self) -> str:
        return f"<{self.view.dtype}{list(self.view.shape)} on disk>"


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Steps in elements of a row-major array of `shape`."""
    strides: list[int] = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def gather(data: memoryview, view: PayloadView) -> memoryview:
    """Contiguous copy of a strided view; `view` must lie within `data`."""
    itemsize = DTYPES[view.dtype].itemsize
    element = np.dtype(f"V{itemsize}" if itemsize > 8 else f"u{itemsize}")
    steps = tuple(step * itemsize for step in view.strides or ())
    strided = np.ndarray(view.shape, dtype=element, buffer=data, offset=view.offset, strides=steps)
    return np.ascontiguousarray(strided).reshape(-1).view(np.uint8).data


def location(payload: object) -> PayloadLocation:
    """Where the saved value of an op lies."""
    if payload is None:
        return "none"
    return "disk" if isinstance(payload, LazyPayload) else "memory"


def materialize(payload: object) -> object:
    """Return the saved value itself, read from disk where it lies there; None where nothing was saved."""
    return payload.materialize() if isinstance(payload, DeferredPayload) else payload


@runtime_checkable
class LendingBackend(Protocol):
    """A backend whose values can be written to, and which can keep such writes from what a trace holds."""

    def lend(self, value: object) -> object:
        """A value equal to `value` that may be written to; `value` keeps what it holds."""
        ...


@cache
def _lender(backend_name: str) -> LendingBackend | None:
    found = backend(backend_name) if backend_name in backend_entry_points() else None
    return found if isinstance(found, LendingBackend) else None


def hand_out(payload: object, backend_name: str) -> object:
    """Return the saved value for a reader to do with as they like; None where nothing was saved.

    Args:
        payload: what the op keeps.
        backend_name: the backend that recorded it.
    """
    if payload is None:
        return None
    if isinstance(payload, DeferredPayload):
        return payload.materialize()
    lender = _lender(backend_name)
    return payload if lender is None else lender.lend(payload)
