"""A backend whose values are numpy arrays, dtypes that numpy lacks included."""

from __future__ import annotations

import time

import numpy as np

from tl_core import HostArray, MemoryKey

CARRIERS = {
    "bfloat16": np.uint16,
    "float8_e4m3fn": np.uint8,
    "float8_e5m2": np.uint8,
    "float8_e4m3fnuz": np.uint8,
    "float8_e5m2fnuz": np.uint8,
    "float8_e8m0fnu": np.uint8,
    "complex32": np.uint32,
}
"""What holds the bits of a dtype that numpy does not have."""


class Value:
    """An array with the name of its dtype and a device."""

    def __init__(self, array: np.ndarray, dtype: str | None = None, device: str = "cpu") -> None:
        self.array = array
        self.dtype = dtype or array.dtype.name
        self.device = device

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        same = (self.dtype, self.array.shape, self.device) == (other.dtype, other.array.shape, other.device)
        return same and self.array.tobytes() == other.array.tobytes()

    __hash__ = None

    def __repr__(self) -> str:
        return f"Value({self.array!r}, {self.dtype}, {self.device})"


class StallingValue(Value):
    """A value that takes for ever to copy, after it has said so."""


class NumpyBackend:
    name = "numpy"

    def cost(self, call, outputs):
        return None

    def to_host(self, value: Value) -> HostArray:
        if isinstance(value, StallingValue):
            print("stalling", flush=True)
            time.sleep(600)
        data = np.ascontiguousarray(value.array)
        flat = memoryview(data.reshape(-1).view(np.uint8)) if data.size else memoryview(b"")
        return HostArray(dtype=value.dtype, shape=value.array.shape, data=flat)

    def from_host(self, array: HostArray, device: str = "cpu") -> Value:
        if device.startswith("gpu"):
            raise RuntimeError("there is no gpu here")
        dtype = CARRIERS.get(array.dtype) or np.dtype(array.dtype)
        return Value(np.frombuffer(bytearray(array.data), dtype=dtype).reshape(array.shape), array.dtype, device)

    def storage_key(self, value: Value) -> object:
        array = value.array
        address = array.__array_interface__["data"][0]
        strides = tuple(stride // array.itemsize for stride in array.strides)
        return MemoryKey(value.device, address, value.dtype, array.shape, strides)

    def replay(self, call, args, kwargs):
        return call.func(*args, **kwargs)


class NowhereBackend(NumpyBackend):
    """One that cannot tell where its values lie."""

    name = "nowhere"

    def storage_key(self, value: Value) -> object:
        return id(value.array)
