"""Which bytes a bundle stores: each saved value once, and views inside what they are views of."""

from __future__ import annotations

from bisect import bisect_right
from math import prod
from typing import TYPE_CHECKING, final

from tl_core._backend import MemoryKey, backend
from tl_core._errors import ArtifactError
from tl_core._payload import LazyPayload, PayloadView, contiguous_strides, materialize
from tl_core._safetensors import DTYPES

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from tl_core._backend import HostArray


MAX_SCATTER = 4
"""Values that lie in more than so many times their own bytes are laid out anew when they are loaded."""


@final
class PlannedValue:
    """One distinct saved value."""

    __slots__ = ("address", "contiguous", "device", "dtype", "name", "shape", "size_bytes", "space", "strides", "value")

    def __init__(self, name: str, value: object, device: str, key: MemoryKey) -> None:
        self.name = name
        """Under which other readers find it in the file."""
        self.value = value
        self.device = device
        self.space: Hashable = key.space
        self.address = key.address
        self.dtype = key.dtype
        self.shape = key.shape
        self.strides = key.strides
        self.size_bytes = prod(key.shape) * DTYPES[key.dtype].itemsize
        self.contiguous = _is_contiguous(key.shape, key.strides)

    @property
    def extent(self) -> int:
        """Bytes from the first element to the end of the last."""
        steps = sum((length - 1) * step for length, step in zip(self.shape, self.strides, strict=True))
        return (steps + 1) * DTYPES[self.dtype].itemsize if self.size_bytes else 0


@final
class PayloadPlan:
    """Collects saved values, then decides which of them are stored and which are views of those."""

    def __init__(self, backend_name: str) -> None:
        self._backend_name = backend_name
        self._values: list[PlannedValue] = []
        self._by_identity: dict[int, int] = {}
        self._by_key: dict[object, int] = {}

    def add(self, value: object, name: str, device: str) -> int:
        """Position of the saved value, equal for values that hold the same memory; -1 for None.

        Args:
            value: it stays alive as long as the plan.
            name: under which other readers find it, if it is stored for itself.
            device: where it lies.
        """
        if value is None:
            return -1
        found = self._by_identity.get(id(value))
        if found is None:
            found = self._by_identity[id(value)] = self._add_new(value, name, device)
        return found

    def _add_new(self, value: object, name: str, device: str) -> int:
        key: object
        if isinstance(value, LazyPayload):  # its framework need not be installed
            key = value.memory_key()
        else:
            value = materialize(value)
            key = self._where(value, name)
        found = self._by_key.get(key)
        if found is None:
            found = self._by_key[key] = len(self._values)
            memory = key if isinstance(key, MemoryKey) else self._measure(value, key)
            _check_dtype(memory.dtype, name)
            self._values.append(PlannedValue(name, value, device, memory))
        return found

    def _where(self, value: object, name: str) -> object:
        """Where a value lies."""
        try:
            return backend(self._backend_name).storage_key(value)
        except TypeError as error:
            raise ArtifactError(
                f"The saved value of {name!r} is {error}, which bundles cannot hold.",
                code="payload_kind_unsupported",
                remedy=_REMEDY,
                name=name,
            ) from None

    def _measure(self, value: object, key: object) -> MemoryKey:
        """Shape and dtype of a value whose backend does not tell where it lies."""
        array = self.host(value)
        return MemoryKey(("value", key), 0, array.dtype, array.shape, contiguous_strides(array.shape))

    def host(self, value: object) -> HostArray:
        """Bytes of a saved value."""
        if isinstance(value, LazyPayload):
            return value.host()
        return backend(self._backend_name).to_host(value)

    @property
    def values(self) -> Sequence[PlannedValue]:
        """All distinct values, in order of appearance."""
        return self._values

    def arrange(self) -> tuple[list[PlannedValue], list[PayloadView]]:
        """Values to store, in the order in which to store them, and where each collected value lies in them.

        Values of wide elements come first, so that every value is aligned.
        """
        container = _containers(self._values)
        stored = [value for value, inside in zip(self._values, container, strict=True) if inside is value]
        stored.sort(key=lambda value: -DTYPES[value.dtype].itemsize)
        position = {id(value): index for index, value in enumerate(stored)}
        views = [
            _view(value, inside, position[id(inside)]) for value, inside in zip(self._values, container, strict=True)
        ]
        return stored, views


def _containers(values: Sequence[PlannedValue]) -> list[PlannedValue]:
    """For each value the one whose bytes hold it: itself, or a contiguous value that spans it."""
    spaces: dict[Hashable, list[PlannedValue]] = {}
    for value in values:
        if value.size_bytes and min(value.strides, default=0) >= 0:
            spaces.setdefault(value.space, []).append(value)
    inside: dict[int, PlannedValue] = {}
    for group in spaces.values():
        if len(group) > 1:
            _nest(group, inside)
    return [inside.get(id(value), value) for value in values]


def _nest(group: list[PlannedValue], inside: dict[int, PlannedValue]) -> None:
    """Find the values of one memory space that lie within a contiguous one."""
    outer: list[PlannedValue] = []
    whole = [value for value in group if value.contiguous]
    for value in sorted(whole, key=lambda value: (value.address, -value.size_bytes)):
        if outer and _ends_within(value, outer[-1]):
            inside[id(value)] = outer[-1]
        else:
            outer.append(value)
    starts = [value.address for value in outer]
    for value in group:
        if value.contiguous:
            continue
        found = bisect_right(starts, value.address) - 1
        if found >= 0 and _ends_within(value, outer[found]):
            inside[id(value)] = outer[found]


def _ends_within(value: PlannedValue, outer: PlannedValue) -> bool:
    return value.address + value.extent <= outer.address + outer.size_bytes


def _view(value: PlannedValue, outer: PlannedValue, region: int) -> PayloadView:
    if value is outer:
        return PayloadView(region, 0, value.dtype, value.shape, None)
    offset = value.address - outer.address
    strides = None if value.contiguous else value.strides
    return PayloadView(region, offset, value.dtype, value.shape, strides)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements follow each other in row-major order."""
    step = 1
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        if length != 1:
            if stride != step:
                return prod(shape) == 0
            step *= length
    return True


def layout_of(value: PlannedValue) -> tuple[int, ...] | None:
    """Steps in which a value lay in memory; None for row after row, and where it was thinly scattered."""
    if isinstance(value.value, LazyPayload):
        return value.value.layout
    scattered = value.extent > MAX_SCATTER * max(value.size_bytes, 1)
    return None if value.contiguous or scattered or min(value.strides) < 0 else value.strides


_REMEDY = "save with level='audit', or trace again with a save= that leaves this op out"


def _check_dtype(dtype: str, name: str) -> None:
    if dtype not in DTYPES:
        raise ArtifactError(
            f"The saved value of {name!r} has dtype {dtype}, which bundles cannot hold; they hold {', '.join(DTYPES)}.",
            code="payload_dtype_unsupported",
            remedy=_REMEDY,
            dtype=dtype,
            name=name,
        )
