"""Where the first value that is not a number appeared in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, final

import numpy as np

from tl_core._backend import backend
from tl_core._cost import plain_dtype
from tl_core._find import state_of
from tl_core._payload import location, materialize
from tl_core._record import AliasRead, OpRecord, ParamRecord
from tl_core._replay import leaves_of, plain_numbers
from tl_core._replay_host import array_of, examiner_of
from tl_core._source import Source

if TYPE_CHECKING:
    from tl_core._backend import Backend
    from tl_core._record import CallRecord
    from tl_core._replay import Examiner
    from tl_core._trace import Trace

Kind = Literal["nan", "inf"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FindNanResult:
    """The first op of a run that made a NaN or an infinity out of finite values, and how much was looked at."""

    found: bool
    kind: Kind | None = None
    """`nan`, or `inf` where the run holds no NaN."""
    label: str = ""
    """Op with its pass."""
    module_address: str = ""
    func_name: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    source_line: str = ""
    """File and line of the user's call."""
    scope: str = "trace"
    uncertainty_zone: tuple[str, ...] = ()
    """Ops upstream whose values were not looked at: the value may have appeared there."""
    checked: int = 0
    """Ops whose values were looked at."""
    unsaved: int = 0
    """Ops that kept no value."""
    unexamined: int = 0
    """Ops whose values lie on disk, and were not read for this."""

    @property
    def message(self) -> str:
        """All of it in a sentence or two."""
        missing = [f"{self.unsaved} were not saved"] if self.unsaved else []
        missing += [f"{self.unexamined} lie on disk and are unexamined"] if self.unexamined else []
        rest = f"; {' and '.join(missing)}" if missing else ""
        if not self.found:
            return f"No NaN and no infinity in {self.checked} values{rest}."
        where = f" in {self.module_address}" if self.module_address else ""
        line = f" ({self.source_line})" if self.source_line else ""
        doubt = f" {len(self.uncertainty_zone)} ops before it were not looked at." if self.uncertainty_zone else ""
        name = "NaN" if self.kind == "nan" else "infinity"
        return f"The first {name} appears in {self.label}: {self.func_name}{where}{line}; {self.checked} values checked{rest}.{doubt}"

    def __bool__(self) -> bool:
        return self.found

    def __repr__(self) -> str:
        return f"<FindNanResult: {self.message}>"


def find_nan(trace: Trace) -> FindNanResult:
    """The first op whose output holds a NaN, or else the first that made an infinity out of finite values.

    Values on disk are reported as unexamined and not read; `op.payload.materialize_out()` reads one. An infinity
    that the code itself gives, such as the fill value of a mask, does not count.

    Args:
        trace: a run of any backend.

    Returns:
        The op and how much was looked at; true where something was found.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> class Net(torch.nn.Module):
        ...     def forward(self, x):
        ...         return torch.relu(torch.log(x) * 0.0)
        >>> find_nan(tl.trace(Net(), torch.tensor([1.0, -1.0]))).label
        'log_1_1:1'
    """
    return _Search(trace).run()


@final
class _Search:
    def __init__(self, trace: Trace) -> None:
        self._state = state_of(trace)
        self._backend: Backend = backend(trace.backend)
        self._examiner: Examiner = examiner_of(self._backend)
        self._known: dict[int, Kind | None] = {}
        """By op index: what its value holds."""

    def run(self) -> FindNanResult:
        ops = self._state.records.ops
        unsaved = unexamined = 0
        first: OpRecord | None = None
        first_inf: OpRecord | None = None
        for op in ops:
            place = location(op.payload)
            if place == "memory":
                kind = self._known[op.index] = self._kind(materialize(op.payload))
                if kind == "nan" and first is None:
                    first = op
                elif kind == "inf" and first_inf is None and self._made_here(op):
                    first_inf = op
            elif place == "disk":
                unexamined += 1
            else:
                unsaved += 1
        found = first or first_inf
        if found is None:
            return FindNanResult(found=False, checked=len(self._known), unsaved=unsaved, unexamined=unexamined)
        return self._result(found, "nan" if first is not None else "inf", unsaved, unexamined)

    def _kind(self, value: object) -> Kind | None:
        if self._examiner.finiteness(value) == "all":
            return None
        return "nan" if bool(np.isnan(array_of(self._backend.to_host(value))).any()) else "inf"

    def _made_here(self, op: OpRecord) -> bool:
        """Whether nothing that the op was given was infinite."""
        call: CallRecord | None = op.call
        if call is None:
            return op.kind != "output"
        if any(isinstance(number, float) and number in {float("inf"), float("-inf")} for number in plain_numbers(call)):
            return False
        for leaf in leaves_of(call):
            record = leaf.base if isinstance(leaf, AliasRead) else leaf
            if not isinstance(record, ParamRecord) and self._known.get(record.index) is not None:
                return False
        return True

    def _result(self, op: OpRecord, kind: Kind, unsaved: int, unexamined: int) -> FindNanResult:
        state = self._state
        upstream = [index for index in state.edges.upstream(op.index) if index not in self._known]
        source = Source(op.call.frames) if op.call is not None and op.call.frames else None
        return FindNanResult(
            found=True, kind=kind, label=state.labels.op(op.index),
            module_address="" if op.module is None else op.module.module.address,
            func_name=op.kind if op.call is None else op.call.name,
            dtype=plain_dtype(op.dtype), shape=op.shape,
            source_line="" if source is None else f"{source.file}:{source.line}",
            uncertainty_zone=tuple(state.labels.op(index) for index in upstream),
            checked=len(self._known), unsaved=unsaved, unexamined=unexamined,
        )  # fmt: skip
