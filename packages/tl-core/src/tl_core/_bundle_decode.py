"""Tables to records, with every position checked before it is used."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, cast

from tl_core._bundle_aten import decode_aten
from tl_core._bundle_columns import FUNCTION_KEY, OP_KINDS
from tl_core._bundle_encode import scalars_of
from tl_core._bundle_template import TemplateDecoder
from tl_core._payload import LazyPayload, PayloadFile, PayloadView
from tl_core._record import (
    BufferRecord,
    CallRecord,
    Frames,
    GapRecord,
    ModuleCallRecord,
    ModuleRecord,
    OpRecord,
    ParamRecord,
    ReadKind,
    ReadRecord,
    Records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import msgspec

    from tl_core._bundle_columns import Tables


class TableError(ValueError):
    """Tables that contradict themselves."""


def decode_payloads(
    tables: Tables, file: PayloadFile | None, backend_name: str, map_location: str | None
) -> list[LazyPayload]:
    """Saved values, left on disk; none where the bundle holds none."""
    columns = tables.payloads
    if file is None:
        return []
    strings, shapes = tables.strings, tables.shapes
    count = _length(columns, but="checksum")
    _check("payloads.dtype", columns.dtype, 0, len(strings))
    _check("payloads.device", columns.device, 0, len(strings))
    _check("payloads.shape", columns.shape, 0, len(shapes))
    payloads: list[LazyPayload] = []
    for row in range(count):
        view = PayloadView(
            columns.region[row],
            columns.offset[row],
            strings[columns.dtype[row]],
            shapes[columns.shape[row]],
            columns.strides[row],
        )
        if not file.holds(view):
            raise TableError(f"a saved value of {view} does not fit into its region")
        device = map_location or strings[columns.device[row]]
        layout = columns.layout[row]
        if layout is not None and len(layout) != len(view.shape):
            raise TableError(f"a saved value of {view} lay in steps of {layout}")
        payloads.append(LazyPayload(file, view, backend_name, device, layout))
    return payloads


def decode_records(tables: Tables, payloads: Sequence[object]) -> Records:
    """Records of a trace.

    Args:
        tables: what the bundle says.
        payloads: the saved values, lazy or not; empty where the bundle holds none.

    Raises:
        TableError: a position points nowhere, or columns differ in length.
    """
    frames = _decode_stacks(tables)
    records = Records()
    _add_params(tables, records, payload_getter(payloads))
    _add_buffers(tables, records)
    _add_modules(tables, records)
    _add_module_calls(tables, records)
    _add_calls(tables, records, frames)
    _add_ops(tables, records, payload_getter(payloads))
    _add_reads(tables, records, frames)
    _add_gaps(tables, records, frames)
    _fill_templates(tables, records, payload_getter(payloads))
    if tables.aten is not None:
        records.aten = decode_aten(tables.aten, tables.strings, tables.shapes, payload_getter(payloads))
    for name in scalars_of(records).keys() & tables.scalars.keys():
        setattr(records, name, tables.scalars[name])
    return records


def payload_getter(payloads: Sequence[object]) -> Callable[[int], object]:
    """Saved value by position; None for -1, and for all where nothing was saved."""

    def get(index: int) -> object:
        return payloads[index] if payloads and index >= 0 else None

    return get


def _decode_stacks(tables: Tables) -> list[Frames]:
    strings = tables.strings
    _check("frames", chain.from_iterable((file, function) for file, _, function in tables.frames), 0, len(strings))
    _check("stacks", chain.from_iterable(tables.stacks), 0, len(tables.frames))
    frames = [(strings[file], line, strings[function]) for file, line, function in tables.frames]
    return [tuple([frames[position] for position in stack]) for stack in tables.stacks]


def _add_params(tables: Tables, records: Records, payload: Callable[[int], object]) -> None:
    columns, strings, shapes = tables.params, tables.strings, tables.shapes
    count = _length(columns)
    _check("params.shape", columns.shape, 0, len(shapes))
    _check("params", chain(columns.dtype, columns.device), 0, len(strings))
    _check("params.value", columns.value, -1, len(tables.payloads.region))
    for row in range(count):
        param = ParamRecord(
            row,
            columns.address[row],
            shapes[columns.shape[row]],
            strings[columns.dtype[row]],
            strings[columns.device[row]],
            bool(columns.requires_grad[row]),
            None,
        )
        param.aliases = columns.aliases[row]
        param.value = payload(columns.value[row])
        records.params.append(param)


def _add_buffers(tables: Tables, records: Records) -> None:
    columns, strings, shapes = tables.buffers, tables.strings, tables.shapes
    count = _length(columns)
    _check("buffers.shape", columns.shape, 0, len(shapes))
    _check("buffers", chain(columns.dtype, columns.device), 0, len(strings))
    for row in range(count):
        dtype, device = strings[columns.dtype[row]], strings[columns.device[row]]
        buffer = BufferRecord(row, columns.address[row], shapes[columns.shape[row]], dtype, device, None)
        buffer.aliases = columns.aliases[row]
        records.buffers.append(buffer)


def _add_modules(tables: Tables, records: Records) -> None:
    columns, strings = tables.modules, tables.strings
    count = _length(columns)
    _check("modules.class_name", columns.class_name, 0, len(strings))
    _check("modules.params", chain.from_iterable(columns.params), 0, len(records.params))
    _check("modules.buffers", chain.from_iterable(columns.buffers), 0, len(records.buffers))
    _check("modules.children", chain.from_iterable(columns.children), 0, count)
    for row in range(count):
        class_name = strings[columns.class_name[row]]
        module = ModuleRecord(row, columns.address[row], class_name, bool(columns.training[row]))
        module.aliases = columns.aliases[row]
        module.params = columns.params[row]
        module.buffers = columns.buffers[row]
        module.children = columns.children[row]
        records.modules.append(module)


def _add_module_calls(tables: Tables, records: Records) -> None:
    columns, strings = tables.module_calls, tables.strings
    count, op_count = _length(columns), len(tables.ops.kind)
    _check("module_calls.module", columns.module, 0, len(records.modules))
    _check("module_calls.method", columns.method, 0, len(strings))
    _check("module_calls.inputs", chain.from_iterable(columns.inputs), 0, op_count)
    _check("module_calls.outputs", chain.from_iterable(columns.outputs), 0, op_count)
    _check("module_calls.ops", chain(columns.first_op, columns.stop_op), 0, op_count + 1)
    calls = records.module_calls
    for row in range(count):
        parent = columns.parent[row]
        if parent >= row:
            raise TableError(f"module call {row} lies in the later call {parent}")
        call = ModuleCallRecord(
            row,
            records.modules[columns.module[row]],
            columns.number[row],
            None if parent < 0 else calls[parent],
            columns.first_op[row],
            strings[columns.method[row]],
        )
        call.stop_op = columns.stop_op[row]
        call.inputs = columns.inputs[row]
        call.outputs = columns.outputs[row]
        calls.append(call)


def _add_calls(tables: Tables, records: Records, frames: list[Frames]) -> None:
    columns, strings = tables.calls, tables.strings
    count = _length(columns)
    _check("calls.name", columns.name, 0, len(strings))
    _check("calls.kernel", columns.kernel, 0, len(strings))
    _check("calls.function", columns.function, -1, len(strings))
    _check("calls.module", columns.module, -1, len(records.module_calls))
    _check("calls.stack", columns.stack, 0, len(frames))
    _check("calls.params", chain.from_iterable(columns.params), 0, len(records.params))
    module_calls: list[ModuleCallRecord | None] = [*records.module_calls, None]  # -1 finds None
    metas: dict[int, dict[str, object]] = {}
    for row in range(count):
        call = CallRecord(
            row,
            strings[columns.name[row]],
            strings[columns.kernel[row]],
            None,
            (),
            None,
            columns.params[row],
            module_calls[columns.module[row]],
            frames[columns.stack[row]],
            columns.duration_ns[row],
            bool(columns.inplace[row]),
        )
        function = columns.function[row]
        if function >= 0:  # calls of one function share one small dictionary
            call.meta = metas.get(function) or metas.setdefault(function, {FUNCTION_KEY: strings[function]})
        records.calls.append(call)


def _add_ops(tables: Tables, records: Records, payload: Callable[[int], object]) -> None:
    columns, shapes = tables.ops, tables.shapes
    strings: list[str | None] = [*tables.strings, None]
    count = _length(columns, "" if columns.own_params else "own_params")
    _check("ops.kind", columns.kind, 0, len(OP_KINDS))
    _check("ops.call", columns.call, -1, len(records.calls))
    _check("ops.module", columns.module, -1, len(records.module_calls))
    _check("ops.payload", columns.payload, -1, len(tables.payloads.region))
    _check("ops.grad_fn", columns.grad_fn, -1, len(tables.strings))
    _check("ops", chain(columns.dtype, columns.device, columns.address), 0, len(tables.strings))
    _check("ops.shape", columns.shape, 0, len(shapes))
    _check("ops.own_params", chain.from_iterable(columns.own_params), 0, len(records.params))
    calls: list[CallRecord | None] = [*records.calls, None]
    module_calls: list[ModuleCallRecord | None] = [*records.module_calls, None]
    for row in range(count):
        parents = columns.parents[row]
        if parents and max(parents) >= row:
            raise TableError(f"op {row} is computed from the later op {max(parents)}")
        record = OpRecord(
            row,
            OP_KINDS[columns.kind[row]],
            calls[columns.call[row]],
            columns.position[row],
            parents,
            shapes[columns.shape[row]],
            strings[columns.dtype[row]],
            strings[columns.device[row]],
            bool(columns.requires_grad[row]),
            strings[columns.grad_fn[row]],
            payload(columns.payload[row]),
            tables.strings[columns.address[row]],
            module_calls[columns.module[row]],
            columns.own_params[row] if columns.own_params else (),
        )
        if (record.call is None) == (record.kind == "op"):
            raise TableError(f"op {row} of kind {record.kind} belongs to call {columns.call[row]}")
        records.ops.append(record)


def _add_reads(tables: Tables, records: Records, frames: list[Frames]) -> None:
    columns, strings = tables.reads, tables.strings
    count = _length(columns)
    _check("reads.kind", columns.kind, 0, len(strings))
    _check("reads.op", columns.op, -1, len(records.ops))
    _check("reads.op_count", columns.op_count, 0, len(records.ops) + 1)
    _check("reads.stack", columns.stack, 0, len(frames))
    for row in range(count):
        kind = cast("ReadKind", strings[columns.kind[row]])
        stack = frames[columns.stack[row]]
        records.reads.append(ReadRecord(kind, columns.op[row], columns.op_count[row], None, stack))


def _add_gaps(tables: Tables, records: Records, frames: list[Frames]) -> None:
    columns, strings = tables.gaps, tables.strings
    count = _length(columns)
    _check("gaps", chain(columns.reason, columns.message), 0, len(strings))
    _check("gaps.op", columns.op, -1, len(records.ops))
    _check("gaps.stack", columns.stack, 0, len(frames))
    for row in range(count):
        reason, message = strings[columns.reason[row]], strings[columns.message[row]]
        records.gaps.append(GapRecord(reason, message, columns.op[row], frames[columns.stack[row]]))


def _fill_templates(tables: Tables, records: Records, payload: Callable[[int], object]) -> None:
    """Arguments refer to ops, so they come last."""
    columns = tables.calls
    decode = TemplateDecoder(records.ops, records.params, payload).decode
    for row, call in enumerate(records.calls):
        call.args = tuple([decode(value) for value in columns.args[row]])
        kwargs, meta = columns.kwargs[row], columns.meta[row]
        if kwargs is not None:
            call.kwargs = {name: decode(value) for name, value in kwargs.items()}
        if meta is not None:
            call.meta = {name: decode(value) for name, value in meta.items()} | (call.meta or {})
    for row, read in enumerate(records.reads):
        read.value = decode(tables.reads.value[row])


def _length(columns: msgspec.Struct, but: str = "") -> int:
    """Number of rows, the same in every column."""
    lengths = {len(getattr(columns, name)) for name in columns.__struct_fields__ if name != but}
    if len(lengths) != 1:
        raise TableError(f"columns of {type(columns).__name__} have {sorted(lengths)} rows")
    return lengths.pop()


def _check(name: str, codes: Iterable[int], low: int, stop: int) -> None:
    """Refuse positions outside `low` to `stop`."""
    found = set(codes)
    if found and not low <= min(found) <= max(found) < stop:
        raise TableError(f"{name} points to {min(found)}..{max(found)}, outside {low}..{stop - 1}")
