"""What `torchlens show` prints about one op, layer, module or module call."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import numpy as np

from tl_core import Buffer, Layer, Module, ModuleCall, Op, Param, backend
from torchlens._output import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_core import Trace

Rows = list[tuple[str, str]]

LONGEST_LINE = 66
"""How many characters of a fact are printed before the rest is counted."""
MOST_PASSES = 8
"""How many passes of a layer get a line of their own."""
MEASURED_DTYPES = frozenset({"bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"})
"""The dtypes that NumPy can take the mean of."""


def describe(trace: Trace, found: Op | Layer | Module | ModuleCall | Param | Buffer) -> str:
    """Return a heading and one line a fact.

    Args:
        trace: the trace in which it was found.
        found: what was looked up.
    """
    match found:
        case Op():
            heading, rows = found.label, op_rows(trace, found)
        case Layer(num_passes=1):
            heading, rows = found.label, op_rows(trace, found.ops[0])
        case Layer():
            heading, rows = found.label, layer_rows(found)
        case Module():
            heading, rows = found.address or "the model", module_rows(found)
        case ModuleCall():
            heading, rows = found.label, call_rows(found)
        case Param() | Buffer():
            heading, rows = found.address, state_rows(found)
        case _:
            assert_never(found)
    lines = [f"  {name:<10}  {fact}" for name, fact in rows if fact]
    return "\n".join(map(printable, [heading, *lines]))


def op_rows(trace: Trace, op: Op) -> Rows:
    """Return the facts of one op."""
    flops = op.cost.flops
    return [
        ("function", op.func_name),
        ("output", tensor(op)),
        ("pass", f"{op.pass_number} of {op.num_passes}" if op.num_passes > 1 else ""),
        ("address", op.address),
        ("module", " > ".join(op.modules)),
        ("parameters", names(op.params)),
        ("from", names(op.parents)),
        ("to", names(op.children)),
        ("cost", f"{flops}, {op.cost.duration}" if flops is not None else ""),
        ("source", str(op.source) if op.source else ""),
        ("value", value(trace, op)),
    ]


def layer_rows(layer: Layer) -> Rows:
    """Return the facts of a layer with several passes, and one line a pass."""
    passes = [("", f"{op.label}  {tensor(op)}") for op in layer.ops[:MOST_PASSES]]
    if layer.num_passes > MOST_PASSES:
        passes.append(("", f"and {layer.num_passes - MOST_PASSES} more"))
    return [
        ("function", layer.func_name),
        ("module", layer.module),
        ("parameters", names(layer.params)),
        ("from", names(layer.parents)),
        ("to", names(layer.children)),
        ("passes", str(layer.num_passes)),
        *passes,
    ]


def module_rows(module: Module) -> Rows:
    """Return the facts of one module of the model."""
    return [
        ("class", module.class_name),
        ("addresses", names(module.addresses) if len(module.addresses) > 1 else ""),
        ("mode", "training" if module.training else "evaluation"),
        ("parameters", f"{module.param_count:,}"),
        ("children", names(module.children)),
        ("calls", names(call.label for call in module.calls) or "none"),
        ("layers", names(layer.label for layer in module.layers)),
    ]


def call_rows(call: ModuleCall) -> Rows:
    """Return the facts of one call of a module."""
    return [
        ("class", call.module.class_name),
        ("method", call.method),
        ("called in", call.parent or ""),
        ("calls", names(call.children)),
        ("inputs", names(op.label for op in call.inputs)),
        ("outputs", names(op.label for op in call.outputs)),
        ("ops", names(op.label for op in call.ops)),
    ]


def state_rows(held: Param | Buffer) -> Rows:
    """Return the facts of a parameter or buffer."""
    shape = ", ".join(str(length) for length in held.shape)
    frozen = ", frozen" if isinstance(held, Param) and not held.requires_grad else ""
    return [
        ("kind", "parameter" if isinstance(held, Param) else "buffer"),
        (
            "tensor",
            f"{held.dtype}[{shape}], {held.size_bytes}, {held.size:,} scalar{'s' if held.size != 1 else ''}{frozen}",
        ),
        ("addresses", names(held.addresses) if len(held.addresses) > 1 else ""),
        ("module", held.module),
        ("read by", names(op.label for op in held.ops) or "none"),
    ]


def tensor(op: Op) -> str:
    """Return dtype, shape, size and where the value is."""
    shape = ", ".join(str(length) for length in op.shape)
    kept = f"on {op.payload.location}" if op.payload.location == "disk" else f"in {op.payload.location}"
    return f"{op.dtype}[{shape}], {op.size_bytes}, {kept if op.payload.saved else 'not saved'}"


def value(trace: Trace, op: Op) -> str:
    """Return smallest, mean and largest value where NumPy knows its dtype, or why there is no value."""
    saved = op.out
    if saved is None:
        return op.payload.absence and f"not saved: {op.payload.absence}"
    host = backend(trace.backend).to_host(saved)
    if host.dtype not in MEASURED_DTYPES or not host.data.nbytes:
        return ""
    array = np.frombuffer(host.data, dtype=host.dtype)
    return f"smallest {array.min():.4g}, mean {array.mean(dtype=np.float64):.4g}, largest {array.max():.4g}"


def names(labels: Iterable[str]) -> str:
    """Return as many names as fit on a line of 80 columns, and how many more there are."""
    listed = list(labels)
    shown = len(listed)
    while shown > 1 and len(enumeration(listed, shown)) > LONGEST_LINE:
        shown -= 1
    return enumeration(listed, shown)


def enumeration(listed: list[str], shown: int) -> str:
    """Return the first `shown` names, and how many more there are."""
    text = ", ".join(listed[:shown])
    return f"{text} and {len(listed) - shown:,} more" if shown < len(listed) else text
