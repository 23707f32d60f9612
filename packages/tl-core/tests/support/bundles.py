"""Traces to save: built by hand, without a framework."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tl_core import AliasRead, CaptureOptions, Trace, TraceBuilder, TraceInfo
from tl_core._aten import AtenOp, TensorFacts

BACKEND_FOLDER = Path(__file__).parent / "numpy_backend"
if str(BACKEND_FOLDER) not in sys.path:
    sys.path.append(str(BACKEND_FOLDER))

from numpy_backend import Value  # noqa: E402 - the folder has to be on the path first


def info(**changes: object) -> TraceInfo:
    facts = {
        "name": "net_1",
        "backend": "numpy",
        "model_class_name": "Net",
        "framework_version": "2.0",
        "duration_ns": 1234,
        "options": CaptureOptions(recurrence_detection=False),
    }
    return TraceInfo(**(facts | changes))


def trace_of(*values: object, **changes: object) -> Trace:
    """A chain of ops, one for each value."""
    builder = TraceBuilder()
    x = builder.source("input", "x", (2,), "float32", "cpu", False)
    for value in values:
        call = builder.call("relu", "relu", None, (x,), None, (), (), 10, False)
        shape, dtype, device = (2,), "float32", "cpu"
        if isinstance(value, Value):
            shape, dtype, device = value.array.shape, value.dtype, value.device
        x = builder.output(call, 0, (x.index,), shape, dtype, device, False, None, value)
    builder.source("output", "", x.shape, x.dtype, x.device, False, parents=(x.index,))
    return builder.finish(info(**changes))


def here() -> tuple[object, int]:
    """The call site of the caller, as capture records it."""
    frame = sys._getframe(1)
    return frame.f_code, frame.f_lasti


def network() -> Trace:
    """A small network with one of everything that records can hold.

    An input and a buffer feed `linear`; its output is written through a view, read by Python, and read again as an
    alias by `cat`.
    """
    builder = TraceBuilder()
    root = builder.module_record("", "Net", True)
    lin = builder.module_record("lin", "Linear", False)
    lin.aliases += ("head",)
    root.children += (1,)
    weight = builder.param("lin.weight", (3, 2), "float32", "cpu", True, lambda: None)
    weight.aliases += ("head.weight",)
    lin.params += (0,)
    buffer = builder.buffer("scale", (3,), "float64", "cpu", None)
    buffer.aliases += ("also_scale",)
    root.buffers += (0,)

    x = builder.source("input", "x", (2,), "float32", "cpu", False, value(2))
    outer = builder.enter(root)
    scale = builder.source("buffer", "scale", (3,), "float64", "cpu", False, Value(np.arange(3.0)))
    inner = builder.enter(lin, "project")
    call = builder.call(
        "linear",
        "addmm",
        np.dot,
        (x, weight),
        {"bias": None, "out": [scale, {"deep": (1, x)}]},
        (0,),
        (here(),),
        500,
        False,
    )
    call.meta = {"transform_kind": "vmap", "level": 2}
    y_value = value(2, 3)
    y = builder.output(call, 0, (0, 1), (2, 3), "float32", "cpu", True, "AddmmBackward0", y_value)
    builder.exit(inner)
    inner.inputs, inner.outputs = (0,), (2,)
    builder.read("bool", y.index, True, (here(),))
    view = builder.call("getitem", "getitem", None, (y, (slice(None, 1), ...)), None, (), (here(),), 40, False)
    v = builder.output(view, 0, (2,), (1, 3), "float32", "cpu", True, None, Value(y_value.array[:1]))
    write = builder.call("add_", "add_", None, (v, 1.5), None, (), (), 30, True)
    w = builder.output(write, 0, (3,), (1, 3), "float32", "cpu", True, None, None)
    alias = AliasRead(y, (w,), value(2, 3, start=100))
    cat = builder.call("cat", "cat", None, ([alias, weight],), {"dim": 0}, (0,), (here(),), 60, False)
    z = builder.output(cat, 1, (2, 4), (5, 3), "float32", "cpu", True, "CatBackward0", y_value)
    builder.exit(outer)
    outer.inputs, outer.outputs = (0,), (5,)
    out = builder.source("output", "logits", (5, 3), "float32", "cpu", True, y_value, (z.index,))
    seen = TensorFacts((2,), "float32", "cpu")
    builder.records.aten = [
        AtenOp(3, "aten", "addmm", "default", "addmm(...)", "op", 1, 0, ("lin:1",), (seen, seen), (seen,), "none", False,
               "returned", None, value(2)),
        AtenOp(4, "aten", "add_", "Tensor", "add_(...)", "none", None, 1, (), (), (), "in_place", True, "raised", "TypeError"),
    ]  # fmt: skip
    builder.records.witnessed = True
    builder.gap("unattributed_tensor_args", "an argument of unknown origin", 5, (here(),))
    options = CaptureOptions(recurrence_detection=False, detach_saved_activations=True)
    facts = info(output={"logits": out, "loss": None}, options=options, grad_enabled=False)
    return builder.finish(facts)


def value(*shape: int, start: int = 0) -> Value:
    """Counting numbers from `start`."""
    count = int(np.prod(shape))
    return Value(np.arange(start, start + count, dtype=np.float32).reshape(shape))


def facts_of(record: object, depth: int = 0) -> object:
    """Everything that a record says, down to plain values; values that lie on disk are read."""
    from tl_core._bundle_template import EnumValue, FrameworkValue, StructValue
    from tl_core._payload import DeferredPayload
    from tl_core._record import CallRecord, ModuleCallRecord, ModuleRecord, Opaque, OpRecord, ParamRecord

    if isinstance(record, OpRecord | ParamRecord | CallRecord | ModuleRecord | ModuleCallRecord) and depth > 0:
        return type(record).__name__, record.index
    if isinstance(record, DeferredPayload):
        record = record.materialize()
    if isinstance(record, Value):
        return record.dtype, record.array.shape, record.array.tobytes()
    if isinstance(record, list | tuple):
        return type(record)([facts_of(item, depth + 1) for item in record])
    if isinstance(record, dict):
        return {key: facts_of(item, depth + 1) for key, item in record.items()}
    if isinstance(record, StructValue | Opaque | EnumValue | FrameworkValue):
        return repr(record)
    fields = getattr(type(record), "__struct_fields__", None)
    if fields is None:
        return record
    return {name: facts_of(getattr(record, name), depth + 1) for name in fields}


def everything(trace: Trace) -> dict[str, object]:
    """All facts of a trace, values included."""
    records = trace._state.records
    tables = {name: facts_of(getattr(records, name), -1) for name in type(records).__slots__}
    labels = [op.label for op in trace.ops]
    return tables | {"labels": labels, "name": trace.name, "output": facts_of(trace._state.info.output, 1)}
