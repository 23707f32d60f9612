"""Reading and writing safetensors files without a framework, hashing while writing.

The official library needs all values at once and a framework for bfloat16 and float8. This one streams:
`TensorWriter` takes the values one by one, and one thread computes the checksums of what was written.
"""

from __future__ import annotations

import hashlib
import queue
import threading
import zlib
from math import prod
from typing import TYPE_CHECKING, NamedTuple, final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import BinaryIO, Self

MAX_HEADER_BYTES = 100_000_000
"""The limit of the format; the official library refuses more."""
_BATCH_BYTES = 1 << 20
_QUEUED_BATCHES = 8


@final
class StoredDtype(NamedTuple):
    """How values of a dtype lie in the file."""

    code: str
    """Name of the element type in the header."""
    itemsize: int
    """Bytes of one value."""
    suffix: tuple[int, ...] = ()
    """Axes that the header shows after the value's own: `(2,)` for the two parts of a complex number."""


DTYPES: dict[str, StoredDtype] = {
    "bool": StoredDtype("BOOL", 1),
    "uint8": StoredDtype("U8", 1),
    "int8": StoredDtype("I8", 1),
    "uint16": StoredDtype("U16", 2),
    "int16": StoredDtype("I16", 2),
    "uint32": StoredDtype("U32", 4),
    "int32": StoredDtype("I32", 4),
    "uint64": StoredDtype("U64", 8),
    "int64": StoredDtype("I64", 8),
    "float16": StoredDtype("F16", 2),
    "bfloat16": StoredDtype("BF16", 2),
    "float32": StoredDtype("F32", 4),
    "float64": StoredDtype("F64", 8),
    "float8_e4m3fn": StoredDtype("F8_E4M3", 1),
    "float8_e5m2": StoredDtype("F8_E5M2", 1),
    # Older readers do not know these types: their bytes stand as they are.
    "float8_e4m3fnuz": StoredDtype("U8", 1),
    "float8_e5m2fnuz": StoredDtype("U8", 1),
    "float8_e8m0fnu": StoredDtype("U8", 1),
    "complex32": StoredDtype("F16", 4, (2,)),
    "complex64": StoredDtype("F32", 8, (2,)),
    "complex128": StoredDtype("F64", 16, (2,)),
}
"""By plain dtype name: everything that a bundle can hold."""

_CODE_BYTES = {stored.code: stored.itemsize // prod(stored.suffix) for stored in DTYPES.values()}


class HeaderEntry(msgspec.Struct, forbid_unknown_fields=True):
    """One value in the header of the file."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]
    """First byte and one past the last, counted from the end of the header."""


@final
class Region(NamedTuple):
    """The bytes of one value, and their place after the header."""

    name: str
    start: int
    stop: int


class HeaderError(ValueError):
    """What is wrong with a file that should be safetensors."""


def encode_header(values: Sequence[tuple[str, str, tuple[int, ...]]], note: dict[str, str]) -> bytes:
    """Header of a file that holds `values` one after the other, each a name, a dtype and a shape.

    Args:
        values: names differ, dtypes are keys of `DTYPES`.
        note: free text that the file carries along.
    """
    entries: dict[str, HeaderEntry | dict[str, str]] = {"__metadata__": note}
    start = 0
    for name, dtype, shape in values:
        stored = DTYPES[dtype]
        stop = start + prod(shape) * stored.itemsize
        entries[name] = HeaderEntry(stored.code, shape + stored.suffix, (start, stop))
        start = stop
    text = msgspec.json.encode(entries)
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise HeaderError(f"a header of {len(text)} bytes for {len(values)} values")
    return len(text).to_bytes(8, "little") + text


def header_length(prefix: bytes, file_size: int) -> int:
    """Length of the header with its 8-byte prefix, checked against the size of the file."""
    if len(prefix) < 8:
        raise HeaderError("no header")
    length = int.from_bytes(prefix[:8], "little") + 8
    if length > min(file_size, MAX_HEADER_BYTES + 8):
        raise HeaderError(f"a header of {length - 8} bytes in a file of {file_size}")
    return length


def decode_header(header: bytes, file_size: int) -> list[Region]:
    """Regions of a file in order of their bytes, each checked to lie in the file and to be as long as its shape says.

    Args:
        header: the first `header_length` bytes.
        file_size: bytes of the whole file.

    Raises:
        HeaderError: it is not a header, or regions overlap, leave holes, or leave the file.
    """
    try:
        raw = msgspec.json.decode(header[8:], type=dict[str, msgspec.Raw])
        raw.pop("__metadata__", None)
        entries = {name: msgspec.json.decode(text, type=HeaderEntry) for name, text in raw.items()}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HeaderError(f"an unreadable header ({error})") from None
    regions = [Region(name, *entry.data_offsets) for name, entry in entries.items()]
    regions.sort(key=lambda region: (region.start, region.stop))
    end = 0
    for region in regions:
        _check_size(region, entries[region.name])
        if region.start != end:
            raise HeaderError(f"{region.name!r} starts at byte {region.start}, not {end}")
        end = region.stop
    if len(header) + end != file_size:
        raise HeaderError(f"values end at byte {len(header) + end} of {file_size}")
    return regions


def _check_size(region: Region, entry: HeaderEntry) -> None:
    itemsize = _CODE_BYTES.get(entry.dtype)
    if itemsize is None:
        raise HeaderError(f"{region.name!r} has the unknown type {entry.dtype!r}")
    if min(entry.shape, default=0) < 0 or prod(entry.shape) * itemsize != region.stop - region.start:
        raise HeaderError(f"{region.name!r} has shape {entry.shape} in {region.stop - region.start} bytes")


@final
class TensorWriter:
    """Streams values into a file whose header is known, and computes checksums beside the writing.

    Use it as a context manager; `sha256` and `checksums` hold after the block.
    """

    def __init__(self, file: BinaryIO, header: bytes) -> None:
        self._file = file
        self._size = len(header)
        self._batch: list[tuple[int, memoryview]] = []
        self._batch_bytes = 0
        self._batches: queue.Queue[list[tuple[int, memoryview]] | None] = queue.Queue(_QUEUED_BATCHES)
        self._digest = hashlib.sha256(header)
        self._thread = threading.Thread(target=self._hash, name="tl-bundle-checksum", daemon=True)
        self.checksums: list[int] = []
        """CRC-32 of each value, in order."""
        file.write(header)

    @property
    def size(self) -> int:
        """Bytes written so far, header included."""
        return self._size

    @property
    def sha256(self) -> str:
        """Digest of the whole file as 64 hexadecimal digits."""
        return self._digest.hexdigest()

    def write(self, data: memoryview) -> None:
        """Append the bytes of the next value; they must not change before the block ends."""
        position = len(self.checksums)
        self.checksums.append(0)
        self._batch.append((position, data))
        self._batch_bytes += len(data)
        if self._batch_bytes >= _BATCH_BYTES:
            self._send()
        self._file.write(data)
        self._size += len(data)

    def _send(self) -> None:
        self._batches.put(self._batch)
        self._batch = []
        self._batch_bytes = 0

    def _hash(self) -> None:
        while (batch := self._batches.get()) is not None:
            for position, data in batch:
                self.checksums[position] = zlib.crc32(data)
                self._digest.update(data)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._send()
        self._batches.put(None)
        self._thread.join()
