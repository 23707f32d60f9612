"""A trace held against a plain forward pass: sources, outputs, module boundaries, buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_core._payload import materialize
from tl_core._validate_finding import Finding, nothing_finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tl_core._record import CallRecord, ModuleCallRecord, OpRecord, Records
    from tl_core._replay import Examiner
    from tl_core._validate_finding import GroundTruth, ModuleTruth

LOOSE_DEPTH = 1 << 20
"""Two whole forward passes may round differently, operation after operation."""


def output_findings(records: Records, truth: GroundTruth, examiner: Examiner) -> Iterator[Finding]:
    """Outputs that the plain forward did not return."""
    if truth.outputs is None:
        return
    outputs = [op for op in records.ops if op.kind == "output"]
    if len(outputs) != len(truth.outputs):
        message = f"the trace has {len(outputs)} outputs, and the model returned {len(truth.outputs)}"
        yield Finding(outputs[0].index if outputs else -1, "ground_truth", message)
        return
    for op, expected in zip(outputs, truth.outputs, strict=True):
        saved = materialize(op.payload)
        if saved is None:
            yield Finding(op.index, "ground_truth_missing_out", "its value was not saved")
            continue
        yield from _compared(op.index, saved, expected, examiner, {"scope": "output", "address": op.address})


def source_findings(records: Records, truth: GroundTruth, examiner: Examiner) -> Iterator[Finding]:
    """Inputs and buffers that did not hold what the trace says."""
    if truth.sources is None:
        return
    for op in records.ops:
        if op.kind not in {"input", "buffer"} or op.parents:
            continue
        expected = truth.sources.get((op.kind, op.address))
        saved = materialize(op.payload)
        if expected is not None and saved is not None:
            yield from _compared(op.index, saved, expected, examiner, {"scope": op.kind, "address": op.address}, 1)


def module_findings(records: Records, truth: GroundTruth, examiner: Examiner) -> Iterator[Finding]:
    """Module calls whose callers received something else."""
    if truth.modules is None:
        return
    recorded: dict[str, list[ModuleCallRecord]] = {}
    for call in records.module_calls:
        if call.method == "forward":
            recorded.setdefault(call.module.address, []).append(call)
    met: dict[str, int] = {}
    for expected in truth.modules:
        number = met.get(expected.address, 0)
        met[expected.address] = number + 1
        calls = recorded.get(expected.address, [])
        if number >= len(calls):
            message = f"call {number + 1} of module {expected.address!r} is not in the trace"
            yield Finding(-1, "ground_truth", message, extra={"scope": "module", "module": expected.address})
            continue
        yield from _module_call_findings(records, calls[number], expected, examiner)


def _module_call_findings(
    records: Records, call: ModuleCallRecord, expected: ModuleTruth, examiner: Examiner
) -> Iterator[Finding]:
    label = f"{expected.address or 'the model'}:{call.number}"
    for index in call.outputs:
        op = records.ops[index]
        saved = materialize(op.payload)
        if saved is None or any(examiner.same(saved, value) for value in expected.tensors):
            continue
        differences = [examiner.difference(saved, value, LOOSE_DEPTH) for value in expected.tensors]
        if any(difference is None for difference in differences) or _composed(records, call, expected, examiner):
            continue
        yield Finding(
            index,
            "ground_truth",
            f"module call {label} returned another value in the plain forward",
            differences[0] if len(differences) == 1 else None,
            saved,
            expected.tensors[0] if len(expected.tensors) == 1 else None,
            extra={"scope": "module", "module": label},
        )


def _composed(records: Records, call: ModuleCallRecord, expected: ModuleTruth, examiner: Examiner) -> bool:
    """Whether what was returned lies in memory that several ops of the call wrote."""
    ops = records.ops
    writers = [op for op in ops[call.first_op : call.stop_op] if op.call is not None and _writes(op.call)]
    sources = [materialize(op.payload) for op in [*(ops[index] for index in call.outputs), *writers]]
    known = [value for value in sources if value is not None]
    return bool(writers) and all(examiner.contains(value, known) for value in expected.tensors)


def _writes(call: CallRecord) -> bool:
    return call.inplace or call.name.endswith("_") or "out" in (call.kwargs or ())


def buffer_findings(
    records: Records, truth: GroundTruth, examiner: Examiner, written: dict[str, object], unsure: set[str]
) -> Iterator[Finding]:
    """Buffers whose value after the run is not what the recorded writes make of them.

    Args:
        records: the trace.
        truth: with the buffers after both runs.
        examiner: compares.
        written: by address, what the last recorded write left, computed again.
        unsure: addresses that were written through views, or whose memory other tensors show too.
    """
    if truth.buffers_after is None or truth.buffers_recorded is None or truth.sources is None:
        return
    last = {op.address: op.index for op in records.ops if op.kind == "buffer"}
    for address, after in truth.buffers_after.items():
        extra = {"scope": "buffer", "address": address}
        index = last.get(address, -1)
        recorded = truth.buffers_recorded.get(address)
        if recorded is None:
            continue
        yield from _compared(index, recorded, after, examiner, extra)
        if address in unsure or address in truth.buffers_replaced:
            continue
        expected = written.get(address, truth.sources.get(("buffer", address)))
        if expected is not None and (difference := examiner.difference(recorded, expected, LOOSE_DEPTH)) is not None:
            message = f"buffer {address!r} ended with a value that no recorded write explains: {difference.message}"
            yield Finding(
                index,
                "source_provenance",
                message,
                difference,
                recorded,
                expected,
                extra={**extra, "reasons": ["unrecorded_operator_mutation"], "n_gaps": 1},
            )


def _compared(
    op: int, saved: object, expected: object, examiner: Examiner, extra: Mapping[str, object], depth: int = LOOSE_DEPTH
) -> Iterator[Finding]:
    if examiner.same(saved, expected):
        return
    difference = examiner.difference(saved, expected, depth)
    if difference is not None:
        message = f"the plain forward gave another value: {difference.message}"
        yield Finding(op, "ground_truth", message, difference, saved, expected, extra=extra)


def non_finite_findings(records: Records, examiner: Examiner) -> Iterator[Finding]:
    """Final outputs that hold no finite element, or not only finite ones."""
    outputs = [op for op in records.ops if op.kind == "output" and op.payload is not None]
    states = [examiner.finiteness(materialize(op.payload)) for op in outputs]
    if outputs and all(state == "none" for state in states):
        yield Finding(
            outputs[0].index,
            "degenerate_forward",
            "no element of the final outputs is finite",
            saved=materialize(outputs[0].payload),
            extra={"degenerate_kind": "non_finite_output", "scope": "final_outputs"},
        )
        return
    for op, state in zip(outputs, states, strict=True):
        if state != "all":
            yield _non_finite(_origin(records, op, examiner), op, examiner)


def _non_finite(origin: OpRecord, output: OpRecord, examiner: Examiner) -> Finding:
    """What is wrong where the elements came from that are not finite and reach an output."""
    saved = materialize(origin.payload)
    if origin.call is not None and origin.parents and examiner.finiteness(saved) == "none":
        return nothing_finite(origin.index, saved)
    return Finding(
        origin.index,
        "perturbation",
        f"elements of its output are not finite, reach the output {output.address or 'of the model'}, and cannot answer "
        "to a change of its parents",
        saved=saved,
        extra={"degenerate_kind": "partly_non_finite_output"},
    )


def _origin(records: Records, op: OpRecord, examiner: Examiner) -> OpRecord:
    """The first op upstream whose output is not finite while its parents are."""
    while True:
        bad: Sequence[OpRecord] = [
            records.ops[parent]
            for parent in op.parents
            if examiner.finiteness(materialize(records.ops[parent].payload)) != "all"
        ]
        if not bad:
            return op
        op = bad[0]
