"""Two runs side by side: the first op at which they part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from tl_core._backend import backend
from tl_core._cost import plain_dtype
from tl_core._errors import ArgumentTypeError
from tl_core._find import state_of
from tl_core._payload import location, materialize
from tl_core._replay_host import array_of
from tl_core._signature import fitting
from tl_core._trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_core._record import OpRecord

CASTS = frozenset(
    {"to", "float", "double", "half", "bfloat16", "type", "astype", "convert_element_type", "cast", "cpu", "cuda"}
)
"""Functions that only one of two runs may have."""

ROUNDING = {
    "float64": 2.3e-16, "float32": 1.2e-7, "float16": 9.8e-4, "bfloat16": 7.9e-3, "complex128": 2.3e-16, "complex64": 1.2e-7,
}  # fmt: skip
"""Half the gap between neighbouring numbers, relative to their size."""
ALLOWANCE = 32.0
"""How many roundings two equal runs may be apart, as the norm of the difference over the norm of the value."""

Parting = Literal["value", "shape", "operation", "length"]


@final
class OpPair(NamedTuple):
    """The op at which two runs part."""

    label_a: str
    label_b: str
    func_name: str
    """What both ran, or `relu / tanh` where they differ."""
    parting: Parting
    value_a: object
    value_b: object
    """The values that the two runs kept; None where there is none."""
    max_abs_diff: float | None
    relative_diff: float | None
    """Norm of the difference over the norm of the value in the first run."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How far two runs agree."""

    same: bool
    """Whether no op differs; values that were not looked at are not part of it, and `compared` counts those that were."""
    first: OpPair | None
    """The first op at which they part."""
    compared: int
    """Ops whose values were compared."""
    unsaved: int
    """Ops of which one run kept no value."""
    unexamined: int
    """Ops whose values lie on disk in one run, and were not read for this."""
    skipped_casts: int
    """Casts that only one run has."""

    def __bool__(self) -> bool:
        return self.same

    def __repr__(self) -> str:
        values = "value" if self.compared == 1 else "values"
        rest = f"{self.compared} {values} compared, {self.unsaved} not saved, {self.unexamined} on disk and unexamined"
        if self.first is None:
            agree = "the runs agree" if self.compared else "the operations agree, and no value was looked at"
            return f"<Comparison: {agree}; {rest}>"
        first = self.first
        size = "" if first.relative_diff is None else f" by {100 * first.relative_diff:.3g}%"
        return f"<Comparison: they part at {first.label_a} / {first.label_b} ({first.func_name}) in {first.parting}{size}; {rest}>"


@fitting("tl.compare")
def compare(a: Trace, b: Trace, *, tolerance: float | None = None) -> Comparison:
    """Find the first op at which two runs of a model part, across dtypes, devices and versions.

    Ops are matched in execution order by function, module and position; casts that only one run has are passed over.

    Args:
        a: one run, of any backend.
        b: the other.
        tolerance: largest norm of the difference over the norm of the value; by default what the coarsest dtype
            met so far explains.

    Returns:
        The verdict; true where they agree, with `first.value_a` and `first.value_b` where they do not.

    Raises:
        ArgumentTypeError: one of the two is no trace.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> model, x = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), torch.ones(2, 4)
        >>> before = tl.trace(model, x)
        >>> _ = torch.nn.init.zeros_(model[0].bias)
        >>> compare(before, tl.trace(model, x)).first.label_a
        'linear_1_1:1'
    """
    for run in (a, b):
        if not isinstance(run, Trace):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise ArgumentTypeError(
                f"compare takes two traces, and was given a {type(run).__name__}.",
                code="compare_invalid",
                remedy="tl.compare(tl.trace(model, x), tl.trace(other, x))",
            )
    return _Walk(a, b, tolerance).run()


@final
class _Walk:
    def __init__(self, a: Trace, b: Trace, tolerance: float | None) -> None:
        self._states = state_of(a), state_of(b)
        self._backends = backend(a.backend), backend(b.backend)
        self._tolerance = tolerance
        self._rounding = 0.0
        """Of the coarsest dtype that either run has met so far."""
        self._compared = self._unsaved = self._unexamined = self._casts = 0

    def run(self) -> Comparison:
        first = next((pair for one, other in self._pairs() if (pair := self._parting(one, other)) is not None), None)
        return Comparison(
            same=first is None, first=first, compared=self._compared, unsaved=self._unsaved,
            unexamined=self._unexamined, skipped_casts=self._casts,
        )  # fmt: skip

    def _pairs(self) -> Iterator[tuple[OpRecord | None, OpRecord | None]]:
        left, right = self._states[0].records.ops, self._states[1].records.ops
        i = j = 0
        while i < len(left) or j < len(right):
            one = left[i] if i < len(left) else None
            other = right[j] if j < len(right) else None
            if _key(one) != _key(other):
                if _is_cast(one):
                    self._note_rounding(one, None)
                    i += 1
                    self._casts += 1
                    continue
                if _is_cast(other):
                    self._note_rounding(None, other)
                    j += 1
                    self._casts += 1
                    continue
            self._note_rounding(one, other)
            yield one, other
            i, j = i + 1, j + 1

    def _note_rounding(self, one: OpRecord | None, other: OpRecord | None) -> None:
        for op in (one, other):
            if op is not None:
                self._rounding = max(self._rounding, ROUNDING.get(plain_dtype(op.dtype), 0.0))

    def _parting(self, one: OpRecord | None, other: OpRecord | None) -> OpPair | None:
        if one is None or other is None:
            return self._pair(one, other, "length")
        if _key(one) != _key(other):
            return self._pair(one, other, "operation")
        if one.shape != other.shape:
            return self._pair(one, other, "shape")
        places = location(one.payload), location(other.payload)
        if "none" in places:
            self._unsaved += 1
            return None
        if "disk" in places:
            self._unexamined += 1
            return None
        self._compared += 1
        absolute, relative = self._distance(one, other)
        allowed = self._tolerance if self._tolerance is not None else ALLOWANCE * self._rounding
        return None if relative <= allowed else self._pair(one, other, "value", absolute, relative)

    def _distance(self, one: OpRecord, other: OpRecord) -> tuple[float, float]:
        """Largest difference, and the norm of the difference over the norm of the value; NaN equals NaN."""
        a, b = (
            _numbers(framework.to_host(materialize(op.payload)))
            for framework, op in zip(self._backends, (one, other), strict=True)
        )
        if not a.size:
            return 0.0, 0.0
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        if equal.all():
            return 0.0, 0.0
        finite = np.isfinite(a) & np.isfinite(b)
        if (~finite & ~equal).any():
            return float("inf"), float("inf")
        difference = np.where(finite, a - np.where(finite, b, 0), 0) if not finite.all() else a - b
        size = float(np.linalg.norm(np.where(finite, a, 0)))
        norm = float(np.linalg.norm(difference))
        return float(np.abs(difference).max()), norm / size if size else float("inf")

    def _pair(
        self,
        one: OpRecord | None,
        other: OpRecord | None,
        parting: Parting,
        absolute: float | None = None,
        relative: float | None = None,
    ) -> OpPair:
        names = list(dict.fromkeys(_name(op) for op in (one, other) if op is not None))
        labels = [
            "" if op is None else state.labels.op(op.index)
            for state, op in zip(self._states, (one, other), strict=True)
        ]
        values = [
            None if op is None or location(op.payload) == "disk" else materialize(op.payload) for op in (one, other)
        ]
        return OpPair(labels[0], labels[1], " / ".join(names), parting, values[0], values[1], absolute, relative)


def _name(op: OpRecord) -> str:
    return op.kind if op.call is None else op.call.name


def _key(op: OpRecord | None) -> tuple[object, ...] | None:
    if op is None:
        return None
    return op.kind, _name(op), op.position, "" if op.module is None else op.module.module.address


def _is_cast(op: OpRecord | None) -> bool:
    return op is not None and op.call is not None and op.call.name in CASTS


def _numbers(host: Any) -> np.ndarray[Any, np.dtype[Any]]:
    array = array_of(host)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64).reshape(-1)
