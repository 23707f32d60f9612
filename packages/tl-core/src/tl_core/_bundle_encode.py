"""Records to tables."""

from __future__ import annotations

from dataclasses import fields
from os.path import basename
from typing import TYPE_CHECKING, Generic, TypeVar, cast, final

from tl_core._autograd import node_name
from tl_core._bundle_aten import encode_aten
from tl_core._bundle_columns import (
    FUNCTION_KEY,
    OP_KINDS,
    Arguments,
    BufferColumns,
    CallColumns,
    GapColumns,
    ModuleCallColumns,
    ModuleColumns,
    OpColumns,
    ParamColumns,
    PayloadColumns,
    ReadColumns,
    Tables,
)
from tl_core._bundle_plan import layout_of
from tl_core._bundle_template import TemplateEncoder
from tl_core._record import RANDOM_STATE_KEY, OpRecord
from tl_core._source import line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import CodeType

    from tl_core._aten import AtenOp
    from tl_core._bundle_plan import PayloadPlan, PlannedValue
    from tl_core._bundle_template import Template
    from tl_core._payload import PayloadView
    from tl_core._record import (
        AliasRead,
        BufferRecord,
        CallRecord,
        Frames,
        GapRecord,
        ModuleCallRecord,
        ModuleRecord,
        ParamRecord,
        ReadRecord,
        Records,
    )
    from tl_core._trace import TraceInfo

SEPARATE_FIELDS = frozenset({"groups", "level", "loaded"})
"""Fields of `TraceInfo` that do not stand in `Tables.info`."""

T = TypeVar("T")


@final
class Interned(Generic[T]):
    """Distinct values in order of appearance, each with its position."""

    __slots__ = ("_convert", "_positions", "values")

    def __init__(self, convert: Callable[[T], T] | None = None) -> None:
        self._convert = convert
        self.values: list[T] = []
        self._positions: dict[T, int] = {}

    def __call__(self, value: T) -> int:
        """Position of `value`, which is added when it is new."""
        position = self._positions.get(value)
        if position is None:
            position = self._positions[value] = len(self.values)
            self.values.append(value if self._convert is None else self._convert(value))
        return position


@final
class TableEncoder:
    """Turns the records of one trace into tables, and finds the saved values on the way."""

    def __init__(
        self, plan: PayloadPlan | None, *, identify: Callable[[Callable[..., object]], str | None] | None = None
    ) -> None:
        """Begin with nothing.

        Args:
            plan: collects the saved values; None to leave them out.
            identify: names functions so that they are found again, in a bundle whose calls can run; None for others.
        """
        self._plan = plan
        self._identify = identify
        self._template = TemplateEncoder(self._argument, runnable=identify is not None)
        self._string = Interned[str](clean)
        self._shape = Interned[tuple[int, ...]]()
        self._frame = Interned[tuple[int, int, int]]()
        self._stack = Interned[tuple[int, ...]]()
        self._frame_codes: dict[tuple[int, int], int] = {}
        self._dtype_codes: dict[object, int] = {}
        self._functions: dict[int, int] = {}

    def encode(
        self,
        records: Records,
        info: TraceInfo,
        annotations: Mapping[str, object],
        labels: Sequence[str] | None,
    ) -> Tables:
        """Tables of a trace whose saved values have no place yet; `labels` are the names of those of ops."""
        groups = info.groups
        facts = {field.name: getattr(info, field.name) for field in fields(info) if field.name not in SEPARATE_FIELDS}
        return Tables(
            ops=self._ops(records.ops, labels, info.backend),
            calls=self._calls(records.calls),
            module_calls=self._module_calls(records.module_calls),
            modules=self._modules(records.modules),
            params=self._params(records.params),
            buffers=self._buffers(records.buffers),
            reads=self._reads(records.reads),
            gaps=self._gaps(records.gaps),
            aten=None
            if records.aten is None
            else encode_aten(records.aten, self._string, self._shape, self._aten_output),
            scalars=scalars_of(records),
            payloads=PayloadColumns(
                checksum=[], region=[], offset=[], dtype=[], device=[], shape=[], strides=[], layout=[]
            ),
            layer=None if groups is None else [layer for layer, _ in groups],
            layer_pass=None if groups is None else [number for _, number in groups],
            info=self._named(facts),
            annotations=self._named(annotations),
            strings=self._string.values,
            shapes=self._shape.values,
            frames=self._frame.values,
            stacks=self._stack.values,
        )

    def place(
        self, tables: Tables, values: Sequence[PlannedValue], views: Sequence[PayloadView], checksums: list[int]
    ) -> None:
        """Tell `tables` where each saved value lies."""
        tables.payloads = PayloadColumns(
            checksum=checksums,
            region=[view.region for view in views],
            offset=[view.offset for view in views],
            dtype=[self._string(view.dtype) for view in views],
            device=[self._string(value.device) for value in values],
            shape=[self._shape(view.shape) for view in views],
            strides=[view.strides for view in views],
            layout=[layout_of(value) for value in values],
        )

    def _ops(self, ops: list[OpRecord], labels: Sequence[str] | None, backend: str) -> OpColumns:
        string, shape = self._string, self._shape
        kinds = {kind: code for code, kind in enumerate(OP_KINDS)}
        return OpColumns(
            kind=[kinds[op.kind] for op in ops],
            call=[-1 if op.call is None else op.call.index for op in ops],
            position=[op.position for op in ops],
            parents=[op.parents for op in ops],
            shape=[shape(tuple(op.shape)) for op in ops],
            dtype=[self._dtype(op.dtype) for op in ops],
            device=[string(str(op.device)) for op in ops],
            requires_grad=[int(op.requires_grad) for op in ops],
            grad_fn=[self._optional(node_name(op, backend)) for op in ops],
            payload=[-1 if op.payload is None else self._payload(op, labels) for op in ops],
            address=[string(op.address) for op in ops],
            module=[_index(op.module) for op in ops],
            own_params=[op.own_params for op in ops] if any(op.own_params for op in ops) else [],
        )

    def _payload(self, op: OpRecord, labels: Sequence[str] | None) -> int:
        if self._plan is None:
            return -1
        name = f"{op.index}:{op.kind if op.call is None else op.call.name}" if labels is None else labels[op.index]
        return self._plan.add(op.payload, clean(name), str(op.device))

    def _param(self, param: ParamRecord) -> int:
        """Position of the value that a parameter had when it was read."""
        if self._plan is None or self._identify is None:
            return -1
        return self._plan.add(param.value, f"param:{clean(param.address)}", str(param.device))

    def _argument(self, read: AliasRead | OpRecord) -> int:
        """Position of the value that an argument had when it was read, where no op stands for it."""
        if self._plan is None:
            return -1
        value, device = (read.payload, read.device) if isinstance(read, OpRecord) else (read.value, read.base.device)
        return self._plan.add(value, f"argument:{len(self._plan.values)}", str(device))

    def _aten_output(self, row: AtenOp) -> int:
        if self._plan is None or row.payload is None:
            return -1
        device = row.output_tensor_facts[0].device if row.output_tensor_facts else "cpu"
        return self._plan.add(row.payload, clean(row.label), device)

    def _calls(self, calls: list[CallRecord]) -> CallColumns:
        string, encode = self._string, self._template.encode
        return CallColumns(
            name=[string(call.name) for call in calls],
            kernel=[string(call.kernel) for call in calls],
            function=[self._function(call) for call in calls],
            args=[tuple([encode(value) for value in call.args]) for call in calls],
            kwargs=self._arguments([call.kwargs for call in calls]),
            params=[call.params for call in calls],
            module=[_index(call.module) for call in calls],
            stack=[self._frames(call.frames) for call in calls],
            duration_ns=[max(call.duration_ns, 0) for call in calls],
            inplace=[int(call.inplace) for call in calls],
            meta=self._arguments([_plain_meta(call.meta, states=self._identify is not None) for call in calls]),
        )

    def _module_calls(self, calls: list[ModuleCallRecord]) -> ModuleCallColumns:
        return ModuleCallColumns(
            module=[call.module.index for call in calls],
            number=[call.number for call in calls],
            parent=[_index(call.parent) for call in calls],
            first_op=[call.first_op for call in calls],
            stop_op=[call.stop_op for call in calls],
            inputs=[call.inputs for call in calls],
            outputs=[call.outputs for call in calls],
            method=[self._string(call.method) for call in calls],
        )

    def _modules(self, modules: list[ModuleRecord]) -> ModuleColumns:
        return ModuleColumns(
            address=[clean(module.address) for module in modules],
            aliases=_names(modules),
            class_name=[self._string(module.class_name) for module in modules],
            training=[int(module.training) for module in modules],
            params=[module.params for module in modules],
            buffers=[module.buffers for module in modules],
            children=[module.children for module in modules],
        )

    def _params(self, params: list[ParamRecord]) -> ParamColumns:
        return ParamColumns(
            address=[clean(param.address) for param in params],
            aliases=_names(params),
            shape=[self._shape(tuple(param.shape)) for param in params],
            dtype=[self._dtype(param.dtype) for param in params],
            device=[self._string(str(param.device)) for param in params],
            requires_grad=[int(param.requires_grad) for param in params],
            value=[self._param(param) for param in params],
        )

    def _buffers(self, buffers: list[BufferRecord]) -> BufferColumns:
        return BufferColumns(
            address=[clean(buffer.address) for buffer in buffers],
            aliases=_names(buffers),
            shape=[self._shape(tuple(buffer.shape)) for buffer in buffers],
            dtype=[self._dtype(buffer.dtype) for buffer in buffers],
            device=[self._string(str(buffer.device)) for buffer in buffers],
        )

    def _reads(self, reads: list[ReadRecord]) -> ReadColumns:
        return ReadColumns(
            kind=[self._string(read.kind) for read in reads],
            op=[read.op for read in reads],
            op_count=[read.op_count for read in reads],
            value=[self._template.encode(read.value) for read in reads],
            stack=[self._frames(read.frames) for read in reads],
        )

    def _gaps(self, gaps: list[GapRecord]) -> GapColumns:
        return GapColumns(
            reason=[self._string(gap.reason) for gap in gaps],
            message=[self._string(gap.message) for gap in gaps],
            op=[gap.op for gap in gaps],
            stack=[self._frames(gap.frames) for gap in gaps],
        )

    def _arguments(self, column: Sequence[Mapping[str, object] | None]) -> Arguments:
        return [None if values is None else self._named(values) for values in column]

    def _named(self, values: Mapping[str, object]) -> dict[str, Template]:
        return {clean(name): self._template.encode(value) for name, value in values.items()}

    def _optional(self, text: str | None) -> int:
        return -1 if text is None else self._string(text)

    def _dtype(self, dtype: object) -> int:
        code = self._dtype_codes.get(dtype)
        if code is None:
            code = self._dtype_codes[dtype] = self._string(plain_dtype(dtype))
        return code

    def _function(self, call: CallRecord) -> int:
        func = call.func
        if func is None:
            kept = None if call.meta is None else call.meta.get(FUNCTION_KEY)
            return self._string(kept) if isinstance(kept, str) else -1
        code = self._functions.get(id(func))
        if code is None:
            name = None if self._identify is None else self._identify(func)
            code = self._functions[id(func)] = self._string(name or qualified_name(func))
        return code

    def _frames(self, frames: Frames) -> int:
        codes = self._frame_codes
        stack: list[int] = []
        for frame in frames:
            key = (id(frame[0]), frame[1])  # the records keep the object alive
            code = codes.get(key) if len(frame) == 2 else None
            if code is None:
                file, line, function = located(frame)
                code = codes[key] = self._frame((self._string(file), line, self._string(function)))
            stack.append(code)
        return self._stack(tuple(stack))


def scalars_of(records: Records) -> dict[str, bool | int]:
    """What `records` says in single flags and counts."""
    values = {name: cast("object", getattr(records, name)) for name in type(records).__slots__}
    return {name: value for name, value in values.items() if isinstance(value, int)}


def located(frame: tuple[CodeType, int] | tuple[str, int, str]) -> tuple[str, int, str]:
    """File base name, line and function of a frame."""
    if len(frame) == 3:
        file, line, function = frame
        return basename(file), line, function
    code, offset = frame
    return basename(code.co_filename.replace("\\", "/")), line_of(code, offset), code.co_name


def plain_dtype(dtype: object) -> str:
    """Name of a dtype without its framework."""
    text = str(dtype)
    return text.rpartition(".")[2]


def qualified_name(func: Callable[..., object]) -> str:
    """Module and qualified name of a function, as far as it tells them."""
    # Builtins, method descriptors, script functions and partials share no type that has these names.
    owner = getattr(func, "__objclass__", None) or getattr(func, "__self__", None)
    module = getattr(func, "__module__", None) or (owner.__module__ if isinstance(owner, type) else "")
    name = cast("str", getattr(func, "__qualname__", None) or type(func).__qualname__)
    return f"{module}.{name}" if module else name


def clean(text: str) -> str:
    """Text that JSON can hold."""
    return text.encode("utf-8", "replace").decode()


def _index(record: CallRecord | ModuleCallRecord | None) -> int:
    return -1 if record is None else record.index


def _names(records: Sequence[ModuleRecord | ParamRecord | BufferRecord]) -> list[tuple[str, ...]]:
    return [tuple([clean(name) for name in record.aliases]) for record in records]


def _plain_meta(meta: Mapping[str, object] | None, *, states: bool) -> Mapping[str, object] | None:
    """`meta` without what stands in a column of its own, and where nothing runs again without states of generators."""
    if meta is None:
        return None
    dropped = {FUNCTION_KEY} if states else {FUNCTION_KEY, RANDOM_STATE_KEY}
    rest = {name: value for name, value in meta.items() if name not in dropped}
    return rest or None
