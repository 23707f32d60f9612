"""The contract between the records and a framework, and the registry of those who fulfil it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, NamedTuple, Protocol, final

from tl_core._errors import BackendUnsupportedError, MissingDependencyError
from tl_core._near import meant

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from tl_core._record import CallRecord, OpRecord


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HostArray:
    """A value as plain bytes in host memory."""

    dtype: str
    """Plain name: `float32`, `bfloat16`, `float8_e4m3fn`, `complex64`, `bool`..."""
    shape: tuple[int, ...]
    data: memoryview
    """Row-major, contiguous, little-endian bytes; empty for an empty tensor."""
    strides: tuple[int, ...] | None = None
    """Steps in elements in which the value is to lie where it is rebuilt, as a hint; None for row after row."""


@final
class MemoryKey(NamedTuple):
    """Where the elements of a value lie; values with equal keys hold the same elements.

    Values in one `space` whose byte ranges overlap share those bytes.
    """

    space: Hashable
    """Device, and whatever else changes what the bytes mean (a conjugate bit)."""
    address: int
    """Byte address of the first element within `space`."""
    dtype: str
    """Plain name, as in `HostArray`."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Steps between neighbours along each axis, in elements."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OpCost:
    """Work of one function call; `None` where no formula is known."""

    flops: int | None
    """Floating-point operations; a fused multiply-add counts as 2."""
    macs: int | None
    """Fused multiply-adds."""


class Backend(Protocol):
    """What a framework supplies so that its traces can be costed, saved, loaded and replayed."""

    @property
    def name(self) -> str:
        """Registered name."""
        ...

    def cost(self, call: CallRecord, outputs: Sequence[OpRecord]) -> OpCost | None:
        """Work of a recorded call, from shapes alone; None for an unknown operator."""
        ...

    def to_host(self, value: object) -> HostArray:
        """Copy a payload into host memory."""
        ...

    def from_host(self, array: HostArray, device: str = "cpu") -> object:
        """Rebuild a framework value from host memory."""
        ...

    def storage_key(self, value: object) -> object:
        """A hashable identity of memory, shape and strides: two payloads with equal keys hold the same values.

        Return a `MemoryKey` where addresses are known: then a bundle stores the bytes under several views once.

        Raises:
            TypeError: the payload cannot be read as one block of elements; the message says what it is (`a meta tensor`).
        """
        ...

    def replay(self, call: CallRecord, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Run a recorded call again on framework values."""
        ...


@cache
def backend_entry_points() -> dict[str, EntryPoint]:
    """Names of the installed backends; scanning imports none of them."""
    return {point.name: point for point in entry_points(group="torchlens.backends")}


@cache
def backend(name: str) -> Backend:
    """Load the backend called `name`.

    Raises:
        BackendUnsupportedError: no installed distribution registers that name.
        MissingDependencyError: the distribution is there and its framework is not.
    """
    points = backend_entry_points()
    if name not in points:
        raise BackendUnsupportedError(
            f"No backend is called {name!r}; installed: {', '.join(sorted(points)) or 'none'}.{meant(name, points)}",
            code="unknown_backend",
            remedy="pip install tl-torch"
            if name == "torch"
            else f"install the distribution that registers {name!r} in the entry-point group 'torchlens.backends'",
            asked=name,
            installed=sorted(points),
        )
    try:
        factory = points[name].load()
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"Backend {name!r} needs {error.name}, which is not installed.",
            code="missing_dependency",
            remedy=f"pip install {error.name}",
            backend=name,
        ) from error
    return factory()
