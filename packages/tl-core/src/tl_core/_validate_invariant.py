"""What holds for every trace, whatever the model: positions, shapes, edges, module calls, layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_core._cost import plain_dtype
from tl_core._payload import LazyPayload, materialize
from tl_core._record import ParamRecord
from tl_core._replay import leaves_of
from tl_core._validate_finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tl_core._grouping import Grouping
    from tl_core._record import ModuleCallRecord, OpRecord, Records


def invariant_findings(
    records: Records, grouping: Grouping, describe: Callable[[object], tuple[tuple[int, ...], str]]
) -> Iterator[Finding]:
    """Everything about a trace that contradicts itself.

    Args:
        records: what was recorded.
        grouping: layers and passes derived from it.
        describe: shape and plain dtype of a framework value.
    """
    seen_calls = -1
    for index, op in enumerate(records.ops):
        for message in _op_messages(records, index, op, describe):
            yield _finding(index, message)
        if op.call is not None:
            if op.call.index < seen_calls:
                yield _finding(index, "its call is older than that of the op before it")
            seen_calls = op.call.index
    yield from _call_findings(records)
    yield from _module_findings(records)
    yield from _layer_findings(records, grouping)


def _finding(op: int, message: str) -> Finding:
    return Finding(op, "metadata_invariant", message)


def _op_messages(
    records: Records, index: int, op: OpRecord, describe: Callable[[object], tuple[tuple[int, ...], str]]
) -> Iterator[str]:
    if op.index != index:
        yield f"it says that it is op {op.index}, and stands at {index}"
    if any(not 0 <= parent < index for parent in op.parents):
        yield f"its parents are ops {list(op.parents)}, and it is op {index}"
    if len(set(op.parents)) != len(op.parents):
        yield f"a parent is listed twice in {list(op.parents)}"
    if (op.kind == "op") != (op.call is not None):
        yield f"it is of kind {op.kind!r} and {'has a' if op.call else 'has no'} call"
    if op.kind == "input" and op.parents:
        yield f"it is of kind {op.kind!r} and has parents"
    if op.call is not None and (op.call.index >= len(records.calls) or records.calls[op.call.index] is not op.call):
        yield "its call is not among the calls of the trace"
    if (
        op.call is not None
        and op.call.meta is not None
        and op.call.meta.get("is_edited")
        and not op.call.meta.get("edit")
    ):
        yield "its value is marked as a replacement, and no intervention asked for one"
    if op.payload is not None and not isinstance(op.payload, LazyPayload):
        shape, dtype = describe(materialize(op.payload))
        if shape != op.shape:
            yield f"its value has the shape {list(shape)}, and its record says {list(op.shape)}"
        if dtype != plain_dtype(op.dtype):
            yield f"its value is {dtype}, and its record says {plain_dtype(op.dtype)}"


def _call_findings(records: Records) -> Iterator[Finding]:
    first: dict[int, int] = {}
    positions: dict[int, list[int]] = {}
    for op in records.ops:
        if op.call is not None:
            first.setdefault(op.call.index, op.index)
            positions.setdefault(op.call.index, []).append(op.position)
    for number, found in positions.items():
        if found != sorted(set(found)):
            yield _finding(first[number], f"the outputs of its call are at the positions {found}")
        call = records.calls[number] if number < len(records.calls) else None
        if call is None:
            continue
        read = {leaf.index for leaf in leaves_of(call) if isinstance(leaf, ParamRecord)}
        if call.inplace and call.args and isinstance(overwritten := call.args[0], ParamRecord):
            read -= {overwritten.index}.difference(call.params)  # as `copy_` does, which reads nothing of it
        if not read.issubset(call.params) or any(not 0 <= p < len(records.params) for p in call.params):
            yield _finding(
                first[number], f"its call reads the parameters {sorted(read)}, and lists {list(call.params)}"
            )


def _module_findings(records: Records) -> Iterator[Finding]:
    passes: dict[int, int] = {}
    for number, call in enumerate(records.module_calls):
        name = f"{call.module.address or 'the model'}:{call.number}"
        if call.index != number:
            yield _finding(-1, f"module call {name} says that it is {call.index}, and stands at {number}")
        expected = passes.get(call.module.index, 0) + 1
        passes[call.module.index] = expected
        if call.number != expected:
            yield _finding(-1, f"module call {name} follows call {expected - 1} of its module")
        above = call.parent
        if not call.first_op <= call.stop_op <= len(records.ops) or (
            above is not None and not above.first_op <= call.first_op <= call.stop_op <= above.stop_op
        ):
            yield _finding(
                -1, f"module call {name} covers the ops {call.first_op} to {call.stop_op}, beyond its caller"
            )
        late = [index for index in call.outputs if index >= call.stop_op and records.ops[index].kind != "output"]
        if late:
            yield _finding(late[0], f"it is an output of module call {name}, which had returned before")
    for op in records.ops:
        if op.module is not None and op.kind != "output" and not op.module.first_op <= op.index < op.module.stop_op:
            yield _finding(op.index, f"it lies outside its module call {_name(op.module)}")


def _name(call: ModuleCallRecord) -> str:
    return f"{call.module.address or 'the model'}:{call.number}"


def _layer_findings(records: Records, grouping: Grouping) -> Iterator[Finding]:
    counted: dict[int, int] = {}
    for op in records.ops:
        layer = grouping.layer_of[op.index]
        counted[layer] = counted.get(layer, 0) + 1
        if grouping.pass_of[op.index] != counted[layer]:
            yield _finding(
                op.index, f"it is pass {grouping.pass_of[op.index]} of its layer, and {counted[layer]} was due"
            )
