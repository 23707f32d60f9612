"""Examining values through host memory, for frameworks that bring no examiner of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from tl_core._backend import HostArray
from tl_core._replay import Difference, ExaminableBackend, Examiner, Finiteness, Leaf, Replayed, UnreplayableError

if TYPE_CHECKING:
    from tl_core._backend import Backend
    from tl_core._record import CallRecord, GeneratorRead, OpRecord, Records

_TOLERANCES = {"float64": 1e-12, "complex128": 1e-12, "float32": 2e-5, "complex64": 2e-5, "float16": 4e-3}
_COARSE = {"bfloat16": 4e-2, "float8_e4m3fn": 0.25, "float8_e5m2": 0.5}
_SEED = 0x7E57


def examiner_of(backend: Backend) -> Examiner:
    """Whoever examines the values of a backend."""
    return backend.examiner() if isinstance(backend, ExaminableBackend) else HostExaminer(backend)


def array_of(value: HostArray) -> np.ndarray[Any, np.dtype[Any]]:
    """The elements as numbers that numpy can work with; bfloat16 as float32, other small floats as their bits."""
    if value.dtype == "bfloat16":
        bits = np.frombuffer(value.data, dtype=np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).reshape(value.shape)
    try:
        dtype = np.dtype(value.dtype)
    except TypeError:
        size = len(value.data) // max(1, int(np.prod(value.shape)))
        dtype = np.dtype(f"u{size or 1}")
    return np.frombuffer(value.data, dtype=dtype).reshape(value.shape)


@final
class HostExaminer:
    """An `Examiner` for functional frameworks: calls write nothing, and draw from keys that are arguments."""

    variants = 1

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._random = np.random.default_rng(_SEED)
        self._kind: type | None = None

    def begin(self, records: Records, random_state: object) -> None:
        """Calls need nothing but their arguments."""

    def gradient(self, call: CallRecord) -> bool:
        """Gradients are taken by transforms, outside calls."""
        del call
        return False

    def is_zero(self, value: object) -> bool:
        """Whether every element is zero."""
        return not bool(self._array(value).any())

    def is_tensor(self, value: object) -> bool:
        """Whether `value` is of the type of the values seen so far."""
        return self._kind is not None and isinstance(value, self._kind)

    def describe(self, value: object) -> tuple[tuple[int, ...], object]:
        """Shape and dtype of a tensor."""
        host = self._backend.to_host(value)
        self._kind = type(value)
        return host.shape, host.dtype

    def replay(
        self,
        call: CallRecord,
        outputs: Sequence[OpRecord],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        variant: int = 0,
    ) -> Replayed:
        """Run a recorded call on values."""
        del variant
        if call.func is None:
            raise UnreplayableError("function_missing", "the function was not kept")
        result = self._backend.replay(call, args, kwargs)
        found = list(_flat(result))
        return Replayed(found[: max(len(outputs), 1)] if len(found) >= len(outputs) else found)

    def _array(self, value: object) -> np.ndarray[Any, np.dtype[Any]]:
        self._kind = type(value)
        return array_of(self._backend.to_host(value))

    def same(self, left: object, right: object) -> bool:
        """Whether two values have the same shape, dtype and elements; NaN equals NaN."""
        one, other = self._backend.to_host(left), self._backend.to_host(right)
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        if one.data == other.data:
            return True
        a, b = array_of(one), array_of(other)
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))

    def difference(self, saved: object, again: object, depth: int) -> Difference | None:
        """How two values differ beyond rounding, or None."""
        one, other = self._backend.to_host(saved), self._backend.to_host(again)
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return Difference(f"{other.dtype}{list(other.shape)} instead of {one.dtype}{list(one.shape)}")
        if one.data == other.data:
            return None
        tolerance = _COARSE.get(one.dtype) or _TOLERANCES.get(one.dtype, 0.0)
        return array_difference(array_of(one), array_of(other), tolerance * max(1.0, depth**0.5 / 32))

    def finiteness(self, value: object) -> Finiteness:
        """How many elements are finite."""
        array = self._array(value)
        if array.dtype.kind not in "fc" or not array.size:
            return "all"
        finite = int(np.count_nonzero(np.isfinite(array)))
        return "all" if finite == array.size else "some" if finite else "none"

    def perturbed(self, value: object, attempt: int, call: CallRecord, others: Sequence[object]) -> object | None:
        """Another value of the same shape and dtype."""
        del call, others
        host = self._backend.to_host(value)
        array = array_of(host)
        changed = _changed(array, attempt, self._random)
        if changed is None or host.dtype == "bfloat16" or host.dtype != array.dtype.name:
            return None
        data = np.ascontiguousarray(changed.astype(array.dtype))
        flat = data.reshape(-1).view(np.uint8).data if data.size else memoryview(b"")
        return self._backend.from_host(HostArray(dtype=host.dtype, shape=host.shape, data=flat))

    def reshaped(self, value: object, attempt: int) -> object | None:
        """Nothing is excused, so no other shape is tried."""
        del value, attempt

    def enlarged(self, value: object) -> object | None:
        """Other shapes are not tried."""
        del value

    def excuse(self, call: CallRecord, leaf: Leaf) -> str | None:
        """No call is excused without a table."""
        del call, leaf
        return None

    def uninitialised(self, call: CallRecord) -> bool:
        """Functional frameworks return no memory as they found it."""
        del call
        return False

    def contains(self, value: object, sources: Sequence[object]) -> bool:
        """Whether each element of `value` occurs in one of `sources`."""
        elements = self._array(value)
        known = np.concatenate([self._array(source).reshape(-1) for source in sources] or [np.empty(0)])
        return bool(np.all(np.isin(elements, known) | (elements != elements)))

    def generator(self, read: GeneratorRead) -> object:
        """Refused: calls draw from keys."""
        raise UnreplayableError("opaque_argument", f"a generator on {read.device} is not kept")

    def random_state(self) -> object:
        """Calls draw from keys."""
        return None

    def restore_random_state(self, state: object) -> None:
        """Calls draw from keys."""


def array_difference(
    saved: np.ndarray[Any, np.dtype[Any]], again: np.ndarray[Any, np.dtype[Any]], tolerance: float
) -> Difference | None:
    """How two arrays of equal shape differ by more than `tolerance`, relative to the largest element; or None."""
    if saved.dtype.kind not in "fc":
        unequal = saved != again
        if not np.any(unequal):
            return None
        apart = np.abs(saved.astype(np.float64) - again.astype(np.float64)).max()
        return Difference(f"{int(np.count_nonzero(unequal))} of {saved.size} elements differ", float(apart))
    nan = int(np.count_nonzero(np.isnan(saved) != np.isnan(again)))
    infinite = np.isinf(saved) | np.isinf(again)
    inf = int(np.count_nonzero(infinite & (saved != again) & ~np.isnan(saved) & ~np.isnan(again)))
    finite = np.isfinite(saved) & np.isfinite(again)
    wide = np.complex128 if saved.dtype.kind == "c" else np.float64
    a, b = saved[finite].astype(wide), again[finite].astype(wide)
    apart = np.abs(a - b)
    largest = float(apart.max()) if apart.size else 0.0
    scale = float(np.abs(a).max()) if a.size else 0.0
    if not nan and not inf and largest <= tolerance * scale:
        return None
    smallest = np.finfo(np.float64).tiny
    with np.errstate(over="ignore"):
        relative = float((apart / np.maximum(np.abs(a), smallest)).max()) if apart.size else 0.0
    count = int(np.count_nonzero(apart > tolerance * scale)) + nan + inf
    return Difference(f"{count} of {saved.size} elements differ, by up to {largest:.3g}", largest, relative, nan, inf)


def _changed(
    array: np.ndarray[Any, np.dtype[Any]], attempt: int, random: np.random.Generator
) -> np.ndarray[Any, np.dtype[Any]] | None:
    kind = array.dtype.kind
    if kind == "b":
        ways: list[Any] = [~array, np.ones_like(array), np.zeros_like(array)]
    elif kind in "iu":
        low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
        ways = [array.reshape(-1)[::-1].reshape(array.shape), random.integers(low, high + 1, array.shape), array + 1]
        ways += [np.maximum(array, 1) - 1, np.zeros_like(array)]
    else:
        base = np.nan_to_num(array, posinf=1.0, neginf=-1.0)
        ways = [0.37 - 0.7 * base, base + random.standard_normal(array.shape), random.uniform(-3, 3, array.shape)]
        ways += [random.uniform(0, 1, array.shape), 1e3 * random.standard_normal(array.shape), np.zeros_like(array)]
    return ways[attempt] if attempt < len(ways) else None


def _flat(result: object) -> Iterator[object]:
    if isinstance(result, (list, tuple)):
        for item in cast("Sequence[object]", result):
            yield from _flat(item)
    elif isinstance(result, Mapping):
        for item in cast("Mapping[object, object]", result).values():
            yield from _flat(item)
    elif not isinstance(result, (type(None), bool, int, float, str)):
        yield result
