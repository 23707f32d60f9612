"""What a run costs, counted from shapes and clocks: `trace.cost`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import TYPE_CHECKING, final

from tl_core._backend import backend
from tl_core._quantity import Bytes, Duration, Flops, Macs
from tl_core._view import View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tl_core._backend import OpCost
    from tl_core._record import BufferRecord, OpRecord, ParamRecord, Records


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCost:
    """The calls of one function, added up."""

    func_name: str
    calls: int
    uncounted: int
    """Calls for which no formula is known; they are in none of the sums but `duration`."""
    flops: Flops
    macs: Macs
    duration: Duration
    """Time inside the function, as `TraceCost.function_duration` counts it."""


@final
class TraceCost(View):
    """Work, memory and time of one traced run.

    Every number is read from shapes, except the times. A number never contains a guess: what no formula is known
    for is counted in `unknown_operators` and left out of the sums.
    """

    __slots__ = ("_backend_name", "_calls", "_duration_ns", "_records")

    def __init__(self, records: Records, backend_name: str, duration_ns: int) -> None:
        self._records = records
        self._backend_name = backend_name
        self._duration_ns = duration_ns
        self._calls: tuple[OpCost | None, ...] | None = None

    @property
    def calls(self) -> tuple[OpCost | None, ...]:
        """Cost of each function call in order, `None` where the operator is unknown.

        Not the work of the kernels that ran: it is what the formula of the operator says for the shapes at hand.

        Raises:
            BackendUnsupportedError: the backend that recorded the trace is not installed here.
            MissingDependencyError: its framework is not installed here.
        """
        if self._calls is None:
            formula = backend(self._backend_name).cost
            outputs = _outputs(self._records)
            self._calls = tuple([formula(call, outputs[call.index]) for call in self._records.calls])
        return self._calls

    @property
    def flops(self) -> Flops:
        """Floating-point operations of the recorded forward run, a fused multiply-add counted as 2.

        Not the backward pass, not integer work or memory traffic, not the rate of any hardware, and not the operators
        in `unknown_operators`.
        """
        return Flops(sum(cost.flops for cost in self.calls if cost is not None and cost.flops is not None))

    @property
    def macs(self) -> Macs:
        """Fused multiply-adds of the recorded forward run.

        Not half of `flops`: elementwise work is FLOPs without MACs. Operators in `unknown_operators` are left out.
        """
        return Macs(sum(cost.macs for cost in self.calls if cost is not None and cost.macs is not None))

    @property
    def unknown_operators(self) -> Mapping[str, int]:
        """Functions without a FLOP formula and how often they were called, most frequent first.

        Not necessarily costly ones: nothing is known about them, so they add nothing to `flops` and `macs`.
        """
        names = (
            call.name
            for call, cost in zip(self._records.calls, self.calls, strict=True)
            if cost is None or cost.flops is None
        )
        return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))

    @property
    def functions(self) -> tuple[FunctionCost, ...]:
        """Cost by function, the most FLOPs first and then the most time.

        Not a profile: the durations are single measurements of one run, taken while it was recorded.
        """
        return _by_function(self._records, self.calls)

    @property
    def activation_bytes(self) -> Bytes:
        """Size of all tensors that function calls returned, as if each had memory of its own.

        Not the peak memory of the run: views and in-place results share memory, and most values are freed on the way.
        Inputs, parameters and buffers are not in it.
        """
        return Bytes(sum(tensor_bytes(op.shape, op.dtype) for op in self._records.ops if op.kind == "op"))

    @property
    def saved_bytes(self) -> Bytes:
        """Size of the values that the trace keeps, inputs, buffers and constants included.

        Not what the trace adds to the process: values that share memory with each other or with the model are counted
        each, and values on disk are counted as if they were in memory.
        """
        return Bytes(sum(tensor_bytes(op.shape, op.dtype) for op in self._records.ops if op.payload is not None))

    @property
    def saved_count(self) -> int:
        """Number of ops whose value the trace keeps.

        Not the number of tensors in memory: two ops may share one.
        """
        return sum(op.payload is not None for op in self._records.ops)

    @property
    def param_count(self) -> int:
        """Number of scalars in the model's parameters; tied parameters are counted once.

        Not only the ones that the run read: unused parameters are in it, buffers are not.
        """
        return sum(prod(param.shape) for param in self._records.params)

    @property
    def trainable_param_count(self) -> int:
        """Number of scalars in the parameters that require a gradient; tied parameters are counted once.

        Not the number that an optimizer updates: it may hold fewer.
        """
        return sum(prod(param.shape) for param in self._records.params if param.requires_grad)

    @property
    def param_bytes(self) -> Bytes:
        """Size of the model's parameters; tied parameters are counted once.

        Not the size of a checkpoint: buffers and optimizer state are not in it.
        """
        return _held_bytes(self._records.params)

    @property
    def buffer_bytes(self) -> Bytes:
        """Size of the model's registered buffers.

        Not in `param_bytes`, and nothing else that the model keeps in attributes.
        """
        return _held_bytes(self._records.buffers)

    @property
    def duration(self) -> Duration:
        """Wall time of the recorded forward run.

        Not the speed of the model: recording is in it, and so is whatever a first run prepares.
        """
        return Duration.from_ns(self._duration_ns)

    @property
    def function_duration(self) -> Duration:
        """Time inside the recorded function calls, added up.

        Not device time: a call that only starts work on an accelerator is over before the work is.
        """
        return Duration.from_ns(sum(call.duration_ns for call in self._records.calls))

    def __repr__(self) -> str:
        return (
            f"<TraceCost: {self.param_count:,} parameters ({self.param_bytes}), "
            f"activations {self.activation_bytes}, {self.duration}>"
        )


@cache
def item_bits(dtype: str) -> int:
    """Bits of one element of a dtype given by its plain name; 0 for dtypes without a fixed size, such as strings."""
    if dtype == "bool":
        return 8
    packed = re.fullmatch(r"[a-z]+(\d+)_\w+_x(\d+)", dtype)
    if packed is not None:
        return int(packed[1]) * int(packed[2])
    found = re.match(r"[a-z]+(\d+)", dtype)
    return int(found[1]) if found is not None else 0


@cache
def plain_dtype(dtype: object) -> str:
    """Plain name of a framework's dtype: `float32` for `torch.float32`."""
    return str(dtype).rpartition(".")[2]


@cache
def plain_device(device: object) -> str:
    """Name of a framework's device: `cuda:0`."""
    return str(device)


def tensor_bytes(shape: tuple[int, ...], dtype: object) -> int:
    """Bytes of a dense tensor.

    Args:
        shape: its sizes.
        dtype: the framework's dtype or its plain name.
    """
    return (prod(shape) * item_bits(plain_dtype(dtype)) + 7) // 8


def _outputs(records: Records) -> list[tuple[OpRecord, ...]]:
    """The ops that each call made."""
    outputs: list[tuple[OpRecord, ...]] = [()] * len(records.calls)
    for op in records.ops:
        call = op.call
        if call is not None:
            others = outputs[call.index]
            outputs[call.index] = (*others, op) if others else (op,)
    return outputs


def _held_bytes(tensors: Sequence[ParamRecord] | Sequence[BufferRecord]) -> Bytes:
    return Bytes(sum(tensor_bytes(tensor.shape, tensor.dtype) for tensor in tensors))


def _by_function(records: Records, costs: Sequence[OpCost | None]) -> tuple[FunctionCost, ...]:
    sums: dict[str, list[int]] = {}
    for call, cost in zip(records.calls, costs, strict=True):
        row = sums.setdefault(call.name, [0, 0, 0, 0, 0])
        row[0] += 1
        row[4] += call.duration_ns
        if cost is None or cost.flops is None:
            row[1] += 1
        if cost is not None:
            row[2] += cost.flops or 0
            row[3] += cost.macs or 0
    ordered = sorted(sums.items(), key=lambda item: (-item[1][2], -item[1][4], item[0]))
    return tuple(
        FunctionCost(
            func_name=name,
            calls=calls,
            uncounted=uncounted,
            flops=Flops(flops),
            macs=Macs(macs),
            duration=Duration.from_ns(duration),
        )
        for name, (calls, uncounted, flops, macs, duration) in ordered
    )
