"""A trace in a few lines, for the prompt."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tl_core._cost import plain_dtype
from tl_core._grid import printable
from tl_core._spelling import call_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tl_core._record import OpRecord, Records
    from tl_core._state import State

WIDTH = 100
SHOWN = 4


def overview(state: State) -> str:
    """What the run was, how to go on, and how far to trust it."""
    if state.closed:
        return "<Trace: cleaned up>"
    info, records = state.info, state.records
    lines = [
        f"Trace {info.name} of {info.model_class_name} ({info.backend} {info.framework_version}"
        f"{', loaded' if info.loaded else ''}{'' if info.outcome == 'complete' else ', ' + info.outcome})",
        f"  inputs    {_tensors(op for op in records.ops if op.kind == 'input')}",
        f"  outputs   {_tensors(op for op in records.ops if op.kind == 'output')}",
        f"  graph     {_graph(state)}",
        f"  model     {_model(state)}",
        f"  saved     {_saved(state)}",
        f"  capture   {_trust(records)}",
    ]
    ways = _ways(state)
    if ways:
        lines.append(f"  look at   {ways}")
    return "\n".join(printable(line) if len(line) <= WIDTH else f"{printable(line[: WIDTH - 3])}..." for line in lines)


def _tensors(ops: Iterable[OpRecord]) -> str:
    found = list(ops)
    named = [
        f"{op.address + ': ' if op.address else ''}{plain_dtype(op.dtype)}{list(op.shape)}" for op in found[:SHOWN]
    ]
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return ", ".join(named + more) or "none"


def _count(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _graph(state: State) -> str:
    ops = state.records.ops
    layers = sum(ops[first].kind == "op" for first in state.grouping.first_ops())
    kinds = Counter(op.kind for op in ops)
    count = kinds.pop("op", 0)
    others = ", ".join(_count(number, kind) for kind, number in kinds.items())
    repeated = f", {_count(layers, 'layer')} with up to {state.grouping.most_passes} passes" if layers < count else ""
    return f"{_count(count, 'op')}{repeated}{', ' if others else ''}{others}"


def _model(state: State) -> str:
    records, cost = state.records, state.cost
    buffers = f", {_count(len(records.buffers), 'buffer')}" if records.buffers else ""
    return f"{_count(len(records.modules), 'module')}, {_count(cost.param_count, 'parameter')} ({cost.param_bytes}){buffers}"


def _saved(state: State) -> str:
    cost, count = state.cost, len(state.records.ops)
    text = f"{cost.saved_count:,} of {_count(count, 'value')}" + (f" ({cost.saved_bytes})" if cost.saved_count else "")
    if state.info.level == "audit":
        return f"{text}; the bundle has level 'audit'"
    return f"{text}; save={state.info.saved}" if cost.saved_count < count and state.info.saved else text


def _trust(records: Records) -> str:
    gaps = records.gaps
    if not gaps:
        return "verified: every tensor read has a recorded source"
    return f"not verified: {gaps[0].reason} ({_count(len(gaps), 'gap')}; see trace.gaps)"


def _ways(state: State) -> str:
    ways: list[str] = []
    compute: Sequence[int] = [op.index for op in state.records.ops if op.kind == "op"]
    if compute:
        middle = compute[len(compute) // 2]
        ways.append(f"trace[{state.labels.op(middle)!r}].out")
    calls = [call for call in state.records.module_calls if call.module.address]
    if calls:
        ways.append(f"trace[{call_label(calls[0]).rpartition(':')[0]!r}]")
    return ", ".join([*ways, "trace.summary()"]) if ways else ""
