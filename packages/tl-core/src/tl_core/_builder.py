"""The recorder that every backend drives: it appends, and never reads a value or formats a string."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tl_core._record import (
    BufferRecord,
    CallRecord,
    Frames,
    GapRecord,
    ModuleCallRecord,
    ModuleRecord,
    OpKind,
    OpRecord,
    ParamRecord,
    ReadKind,
    ReadRecord,
    Records,
)
from tl_core._trace import Trace, TraceInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@final
class TraceBuilder:
    """Collects the records of one run; `finish` turns them into a `Trace`."""

    __slots__ = ("_calls", "_passes", "module", "ops", "records")

    def __init__(self) -> None:
        self.records = Records()
        self.ops = self.records.ops
        self._calls = self.records.calls
        self.module: ModuleCallRecord | None = None
        """The innermost running module call."""
        self._passes: dict[int, int] = {}

    def param(
        self,
        address: str,
        shape: tuple[int, ...],
        dtype: str,
        device: str,
        requires_grad: bool,
        reference: Callable[[], object] | None,
    ) -> ParamRecord:
        """Register a parameter of the model."""
        params = self.records.params
        record = ParamRecord(len(params), address, shape, dtype, device, requires_grad, reference)
        params.append(record)
        return record

    def buffer(
        self, address: str, shape: tuple[int, ...], dtype: str, device: str, reference: Callable[[], object] | None
    ) -> BufferRecord:
        """Register a buffer of the model."""
        buffers = self.records.buffers
        record = BufferRecord(len(buffers), address, shape, dtype, device, reference)
        buffers.append(record)
        return record

    def module_record(self, address: str, class_name: str, training: bool) -> ModuleRecord:
        """Register a module object of the model."""
        modules = self.records.modules
        record = ModuleRecord(len(modules), address, class_name, training)
        modules.append(record)
        return record

    def source(  # noqa: PLR0913 - one fact an argument; a record in between would cost a microsecond an op
        self,
        kind: OpKind,
        address: str,
        shape: tuple[int, ...],
        dtype: object,
        device: object,
        requires_grad: bool,
        payload: object = None,
        parents: tuple[int, ...] = (),
    ) -> OpRecord:
        """Append an input, buffer, constant or output of the model."""
        ops = self.ops
        record = OpRecord(
            len(ops), kind, None, 0, parents, shape, dtype, device, requires_grad, None, payload, address, self.module
        )
        ops.append(record)
        return record

    def enter(self, module: ModuleRecord, method: str = "forward") -> ModuleCallRecord:
        """Open a call of `module` inside the innermost running one."""
        calls = self.records.module_calls
        number = self._passes.get(module.index, 0) + 1
        self._passes[module.index] = number
        record = ModuleCallRecord(len(calls), module, number, self.module, len(self.ops), method)
        calls.append(record)
        self.module = record
        return record

    def exit(self, call: ModuleCallRecord) -> None:
        """Close `call` and whatever was left open inside it."""
        call.stop_op = len(self.ops)
        self.module = call.parent

    def call(  # noqa: PLR0913 - one fact an argument; a record in between would cost a microsecond an op
        self,
        name: str,
        kernel: str,
        func: Callable[..., object] | None,
        args: Sequence[object],
        kwargs: Mapping[str, object] | None,
        params: tuple[int, ...],
        frames: Frames,
        duration_ns: int,
        inplace: bool,
    ) -> CallRecord:
        """Append one function call; its outputs follow through `output`."""
        calls = self._calls
        record = CallRecord(
            len(calls), name, kernel, func, args, kwargs, params, self.module, frames, duration_ns, inplace
        )
        calls.append(record)
        return record

    def output(  # noqa: PLR0913 - one fact an argument; a record in between would cost a microsecond an op
        self,
        call: CallRecord,
        position: int,
        parents: tuple[int, ...],
        shape: tuple[int, ...],
        dtype: object,
        device: object,
        requires_grad: bool,
        grad_fn: str | None,
        payload: object,
    ) -> OpRecord:
        """Append one output tensor of `call`."""
        ops = self.ops
        record = OpRecord(
            len(ops),
            "op",
            call,
            position,
            parents,
            shape,
            dtype,
            device,
            requires_grad,
            grad_fn,
            payload,
            "",
            call.module,
        )
        ops.append(record)
        return record

    def read(self, kind: ReadKind, op: int, value: object, frames: Frames) -> None:
        """Note that the value of an op became a Python object."""
        self.records.reads.append(ReadRecord(kind, op, len(self.ops), value, frames))

    def gap(self, reason: str, message: str, op: int, frames: Frames = ()) -> None:
        """Note something that happened unseen."""
        self.records.gaps.append(GapRecord(reason, message, op, frames))

    def finish(self, info: TraceInfo) -> Trace:
        """Close every open module call and hand the records over."""
        while self.module is not None:
            self.exit(self.module)
        return Trace(self.records, info)
