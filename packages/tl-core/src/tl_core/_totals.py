"""The lines under a summary: parameters, compute, memory, graph and capture of the run as a whole."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING

from tl_core._cost import plain_dtype
from tl_core._find import state_of
from tl_core._grid import printable
from tl_core._tree import shape_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tl_core._cost import TraceCost
    from tl_core._record import OpRecord, Records
    from tl_core._trace import Trace

MANY = 5
"""How many names a line gives before it says how many more there are."""

DOT = " \N{MIDDLE DOT} "
ARROW = "\N{RIGHTWARDS ARROW}"


def footer(trace: Trace, records: Records, cost: TraceCost, missing: str) -> tuple[tuple[str, str], ...]:
    """The labelled totals of a trace.

    Args:
        trace: the trace.
        records: its records.
        cost: its cost.
        missing: why no FLOPs can be counted here; empty when they can.
    """
    return (
        ("Params", _params(records, cost)),
        ("Compute", missing or _compute(cost)),
        ("Memory", _memory(records, cost)),
        ("Graph", _graph(trace, records)),
        ("Capture", _capture(trace, records, cost)),
    )


def signature(records: Records, outcome: str) -> str:
    """What goes in and what comes out: `x 1x3x224x224 float32 -> 1x1000`."""
    inputs = [op for op in records.ops if op.kind == "input"]
    outputs = [op for op in records.ops if op.kind == "output"]
    nothing = "no tensor outputs" if outcome == "complete" else f"({outcome} before it returned)"
    into, out = _boundaries(inputs), _boundaries(outputs)
    return f"{into or 'no tensor inputs'} {ARROW} {out or nothing}"


def _boundaries(ops: Sequence[OpRecord]) -> str:
    """Three of them at most; of longer lists the first two."""
    shown = ops if len(ops) <= 3 else ops[:2]
    more = len(ops) - len(shown)
    return ", ".join(map(_boundary, shown)) + (f" and {more} more" if more else "")


def _boundary(op: OpRecord) -> str:
    name = printable(op.address).removeprefix(".")
    name = f"{name} " if name else ""
    return f"{name}{shape_text(op.shape)} {plain_dtype(op.dtype)}"


def _more(count: int) -> str:
    return f" and {count - MANY} more" if count > MANY else ""


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 op`, `1,200 ops`, `2 branches`."""
    ending = "es" if noun.endswith(("ch", "s")) else "s"
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{ending}"


def _names(counts: Mapping[str, int]) -> str:
    shown = [f"{name} x{count}" if count > 1 else name for name, count in list(counts.items())[:MANY]]
    return ", ".join(shown) + _more(len(counts))


def _params(records: Records, cost: TraceCost) -> str:
    total, trainable = cost.param_count, cost.trainable_param_count
    if not total:
        text = "none"
    elif trainable == total:
        text = f"{total:,} ({cost.param_bytes}){DOT}all trainable"
    elif not trainable:
        text = f"{total:,} ({cost.param_bytes}){DOT}all frozen"
    else:
        text = f"{total:,} ({cost.param_bytes}){DOT}{trainable:,} trainable, {total - trainable:,} frozen"
    if records.buffers:
        text += f"{DOT}buffers {cost.buffer_bytes}"
    tied = [f"{param.address} = {' = '.join(param.aliases)}" for param in records.params if param.aliases]
    if tied:
        text += f"{DOT}tied: {', '.join(map(printable, tied[:MANY]))}{_more(len(tied))}"
    unread = _unread(records)
    return text + (f"{DOT}{unread:,} not used in this run" if unread else "")


def _unread(records: Records) -> int:
    read = {index for call in records.calls for index in call.params}
    read.update(index for op in records.ops for index in op.own_params)
    return sum(prod(param.shape) for param in records.params if param.index not in read) if records.calls else 0


def _compute(cost: TraceCost) -> str:
    text = f"{cost.flops}{DOT}{cost.macs}, forward only"
    unknown = cost.unknown_operators
    return text + (f"{DOT}no formula for {_names(unknown)}" if unknown else "")


def _memory(records: Records, cost: TraceCost) -> str:
    text = f"activations {cost.activation_bytes}"
    kept, total = cost.saved_count, len(records.ops)
    if not kept:
        return f"{text}{DOT}no values saved"
    values = "all" if kept == total else f"{kept:,} of {total:,}"
    return f"{text}{DOT}saved {cost.saved_bytes}, {values} values"


def _graph(trace: Trace, records: Records) -> str:
    kinds = Counter(op.kind for op in records.ops)
    parts = [plural(kinds["op"], "op")]
    layers, longest = _recurrence(trace)
    if longest > 1:
        parts.append(f"{plural(layers, 'layer')}, up to {longest:,} passes")
    called = {call.module.index for call in records.module_calls}
    if len(called) > 1:
        parts.append(f"{plural(len(called), 'module')} called")
    parts += [plural(kinds[kind], kind) for kind in ("input", "output", "buffer", "constant") if kinds[kind]]
    bools = sum(read.kind == "bool" for read in records.reads)
    if bools:
        parts.append(f"{plural(bools, 'branch')} on tensor values")
    return DOT.join(parts)


def _recurrence(trace: Trace) -> tuple[int, int]:
    state = state_of(trace)
    grouping, ops = state.grouping, state.records.ops
    sizes = [grouping.size(layer) for layer, first in enumerate(grouping.first_ops()) if ops[first].kind == "op"]
    return len(sizes), max(sizes, default=0)


def _capture(trace: Trace, records: Records, cost: TraceCost) -> str:
    info = state_of(trace).info
    parts = [f"{info.backend} {info.framework_version} in {cost.duration}"]
    parts.append(_mode(records) + ("" if info.grad_enabled else ", no grad"))
    if info.outcome == "failed":
        parts.append("the model raised; this is what ran")
    elif info.outcome == "stopped":
        parts.append("stopped early")
    verified = "verified" if trace.capture_verified else "not verified"
    parts.append(f"{verified} ({trace.capture_verification_reason})")
    if records.gaps:
        reasons = Counter(gap.reason for gap in records.gaps)
        parts.append(f"{plural(len(records.gaps), 'gap')}: {_names(dict(reasons.most_common()))}")
    if info.loaded:
        parts.append("loaded from a bundle")
    return DOT.join(parts)


def _mode(records: Records) -> str:
    modes = {module.training for module in records.modules}
    return "train and eval modules mixed" if len(modes) > 1 else "train" if modes == {True} else "eval"


def unlisted(counts: Mapping[str, int]) -> Sequence[str]:
    """A sentence about the sources that a list of ops leaves out."""
    if not counts:
        return ()
    return (f"Not listed: {', '.join(plural(count, kind) for kind, count in counts.items())}.",)
