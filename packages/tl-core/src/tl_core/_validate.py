"""Validation of a trace: every op runs again from its parents' saved values, and everything is held against the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, final
from weakref import WeakKeyDictionary

from tl_core._backend import backend
from tl_core._caller import warn_caller
from tl_core._cost import plain_dtype
from tl_core._errors import ArtifactError, ConfigurationError, TorchLensError, TorchLensWarning
from tl_core._find import state_of
from tl_core._payload import materialize
from tl_core._perturb import Perturber
from tl_core._replay import leaves_of
from tl_core._replay_host import examiner_of
from tl_core._status import Decision, ValidationFailure, ValidationStatus, note_failure
from tl_core._validate_aten import aten_findings
from tl_core._validate_call import CallChecker, Verdict
from tl_core._validate_finding import Finding, GroundTruth
from tl_core._validate_gap import gap_findings
from tl_core._validate_given import given_outputs
from tl_core._validate_invariant import invariant_findings
from tl_core._validate_loaded import MAX_OPS_NAMED, load_status, moved_values, resolving_backend, runnable_records
from tl_core._validate_memory import BufferMemory
from tl_core._validate_random import RandomReplay
from tl_core._validate_truth import (
    buffer_findings,
    module_findings,
    non_finite_findings,
    output_findings,
    source_findings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tl_core._backend import Backend
    from tl_core._record import CallRecord, OpRecord, Records
    from tl_core._replay import Examiner
    from tl_core._state import State
    from tl_core._trace import Trace

_statuses: WeakKeyDictionary[State, ValidationStatus] = WeakKeyDictionary()
"""What the last validation of each living trace said."""

_REMEDIES = {
    "random_state_unknown": "Where the random generators stood is not known; trace with "
    "capture=tl.CaptureOptions(save_rng=True), or ask tl.validate.",
}
"""What to do, by the reason why not everything could be checked."""


def validation_status(state: State) -> ValidationStatus:
    """What is known of the validation of a trace, without running one."""
    known = _statuses.get(state)
    if known is not None:
        return known
    info = state.info
    if not info.loaded:
        return ValidationStatus(state="available", backend=info.backend, source="live")
    try:
        resolving_backend(state)
    except TorchLensError as refusal:
        stripped = isinstance(refusal, ArtifactError)
        return ValidationStatus(
            state="unavailable",
            backend=info.backend,
            source="loaded",
            payload_load_status=load_status(state.records),
            reason="loaded_trace_runtime_capture_stripped" if stripped else refusal.code,
            message=str(refusal),
        )
    status = load_status(state.records)
    return ValidationStatus(state="available", backend=info.backend, source="loaded", payload_load_status=status)


def validate_trace(trace: Trace, truth: GroundTruth) -> ValidationStatus:
    """Check a trace, remember what was found, and warn when it is wrong.

    Args:
        trace: what to check.
        truth: what it is held against.

    Raises:
        ArtifactError: it was loaded from a bundle whose calls cannot run again; see `resolving_backend`.
        ConfigurationError: it is incomplete, or kept no values.
    """
    state = state_of(trace)
    info = state.info
    records = runnable_records(state) if info.loaded else state.records
    if info.outcome != "complete":
        raise ConfigurationError(
            f"The run of {trace.name!r} is {info.outcome}; only a complete run can be validated.",
            code="validation_incomplete_run",
            remedy="trace the model again, without stopping it",
            outcome=info.outcome,
        )
    unsaved = [op for op in records.ops if op.kind == "op" and op.payload is None]
    if unsaved and info.saved != "'all'":  # of what cannot be copied, that call alone is not judged
        raise ConfigurationError(
            f"{len(unsaved)} of {len(records.ops)} ops of {trace.name!r} kept no value, and a replay starts from values.",
            code="validation_values_missing",
            remedy='trace with save="all"',
            ops=tuple(state.labels.op(op.index) for op in unsaved[:MAX_OPS_NAMED]),
        )
    found = backend(info.backend)
    if truth.outputs is not None:
        truth = replace(truth, outputs=given_outputs(truth.outputs, found) or None)
    status = _Validation(state, records, found, truth).run()
    _statuses[state] = status
    note_failure(status.failure)
    if status.failure is not None:
        warn_caller(TorchLensWarning(f"Validation failed: {status.failure.summary()}", code="validation_failed"))
    return status


def note_unverified(status: ValidationStatus) -> None:
    """Make what could not be checked the last failure, and warn, where a caller only learns True or False."""
    row = next((row for row in status.decisions if row.state == "unverified"), None)
    reasons = ", ".join(f"{reason} x{count}" for reason, count in status.unverified_reason_counts.items())
    failure = ValidationFailure(
        check="precondition_refusal",
        op_label="" if row is None else row.op_label,
        func_name="" if row is None else row.func_name,
        message=f"nothing was wrong, and not everything could be checked: {reasons or status.message}",
        extra={"reasons": dict(status.unverified_reason_counts)},
    )
    note_failure(failure)
    warn_caller(TorchLensWarning(f"Validation incomplete: {failure.summary()}", code="validation_incomplete"))


@final
class _Validation:
    """One validation of one trace."""

    def __init__(self, state: State, records: Records, framework: Backend, truth: GroundTruth) -> None:
        self._state = state
        self._records = records
        self._truth = truth
        self._backend = framework
        self._examiner: Examiner = examiner_of(framework)
        self._examiner.begin(self._records, truth.random_state)
        weights, constant = _origins(self._records, self._examiner)
        self._perturber = Perturber(self._examiner, weights, constant)
        moved = state.info.loaded and moved_values(records)
        self._random = RandomReplay(self._examiner, truth.random_state, noted=records.random_noted, moved=moved)
        self._checker = CallChecker(
            self._records.ops, self._examiner, self._perturber, self._depth, constant, self._random
        )
        self._findings: list[Finding] = []
        self._unverified: dict[int, str] = {}
        self._memory = BufferMemory(self._records, truth.buffers_sharing)

    def run(self) -> ValidationStatus:
        """Check everything; the generators are left as they were."""
        examiner = self._examiner
        before = examiner.random_state()
        try:
            self._check()
        finally:
            examiner.restore_random_state(before)
        return self._status()

    def _check(self) -> None:
        records, truth, examiner = self._records, self._truth, self._examiner
        self._findings += gap_findings(records, truth.unaccounted)
        self._findings += non_finite_findings(records, examiner)
        self._findings += invariant_findings(records, self._state.grouping, self._describe)
        self._findings += self._label_findings()
        self._findings += source_findings(records, truth, examiner)
        self._check_calls()
        self._findings += aten_findings(records, examiner)
        self._findings += self._memory_findings()
        self._findings += self._output_edge_findings()
        late: list[Finding] = []
        late += module_findings(records, truth, examiner)
        late += output_findings(records, truth, examiner)
        late += buffer_findings(records, truth, examiner, self._memory.written, self._memory.unsure)
        if not self._findings:
            self._findings += late

    def _label_findings(self) -> Iterator[Finding]:
        """Labels that two ops share, and parents that do not list an op among their children."""
        first: dict[str, int] = {}
        starts, targets = self._state.edges.child_rows()
        down = {
            (parent, child)
            for parent in range(len(starts) - 1)
            for child in targets[starts[parent] : starts[parent + 1]]
        }
        for op in self._records.ops:
            label = self._state.labels.op(op.index)
            if first.setdefault(label, op.index) != op.index:
                yield Finding(op.index, "metadata_invariant", f"another op is called {label} too")
            if any((parent, op.index) not in down for parent in op.parents if 0 <= parent < op.index):
                yield Finding(op.index, "metadata_invariant", "a parent does not list it among its children")

    def _check_calls(self) -> None:
        outputs: dict[int, list[OpRecord]] = {}
        for op in self._records.ops:
            if op.call is not None:
                outputs.setdefault(op.call.index, []).append(op)
        doubtful: list[tuple[Verdict, list[OpRecord]]] = []
        for call in self._records.calls:
            made = outputs.get(call.index, [])
            verdict = self._checker.check(call, made)
            if verdict.unverified and verdict.findings:
                doubtful.append((verdict, made))
                continue
            self._findings += verdict.findings
            if verdict.unverified:
                self._unverified.update({op.index: verdict.unverified for op in made})
            self._memory.after(call, made, verdict)
        # Where the generators end elsewhere than in the run, something reseeded them, and no draw can be repeated.
        state = self._random.state
        believed = state is not None and state == self._truth.random_state_after
        for verdict, made in doubtful:
            if believed:
                self._findings += verdict.findings
            else:
                self._unverified.update({op.index: verdict.unverified for op in made})

    def _memory_findings(self) -> Iterator[Finding]:
        """Buffers that were read again after a write, with another value than the write leaves."""
        self._memory.note_reads(len(self._records.ops))
        for op, expected in self._memory.read_again:
            saved = materialize(op.payload)
            if saved is None or self._examiner.same(saved, expected):
                continue
            difference = self._examiner.difference(saved, expected, 1)
            if difference is not None:
                message = f"it is not what its writer left: {difference.message}"
                yield Finding(op.index, "forward_replay", message, difference, saved, expected)

    def _output_edge_findings(self) -> Iterator[Finding]:
        """Outputs have to hold the value of the op that they stand for."""
        for op in self._records.ops:
            saved = materialize(op.payload) if op.kind == "output" else None
            parents = [self._records.ops[parent] for parent in op.parents]
            sources = [materialize(parent.payload) for parent in parents]
            if saved is None or not sources or any(source is None for source in sources):
                continue
            if len(sources) == 1 and self._examiner.same(saved, sources[0]):
                continue
            if not self._examiner.contains(saved, sources):
                yield Finding(op.index, "forward_replay", "it is not the value of its parent", None, sources[0], saved)

    def _describe(self, value: object) -> tuple[tuple[int, ...], str]:
        shape, dtype = self._examiner.describe(value)
        return shape, plain_dtype(dtype)

    def _depth(self, call: CallRecord, outputs: Sequence[OpRecord]) -> int:
        cost = self._backend.cost(call, outputs) if outputs else None
        if cost is None or not cost.macs:
            return 1
        size = 1
        for length in outputs[0].shape:
            size *= length
        return max(1, cost.macs // max(1, size))

    # ---------------------------------------------------------------- status

    def _status(self) -> ValidationStatus:
        failures: dict[int, Finding] = {}
        for finding in self._findings:
            failures.setdefault(finding.op, finding)
        decisions = tuple([self._decision(op, failures.get(op.index)) for op in self._records.ops])
        replayed = sum(
            row.state == "passed" and bool(op.call) for row, op in zip(decisions, self._records.ops, strict=True)
        )
        exempted = self._perturber.exempted + self._checker.exempted
        first = _first(self._findings)
        verified = not self._unverified
        state = "failed" if first is not None else "passed" if verified else "unverified"
        reason = first.check if first is not None else "" if verified else next(iter(self._unverified.values()))
        return ValidationStatus(
            state=state,
            backend=self._state.info.backend,
            source="loaded" if self._state.info.loaded else "live",
            payload_load_status=load_status(self._records) if self._state.info.loaded else "live",
            reason=reason,
            message=_REMEDIES.get(reason, "") if first is None else first.message,
            replayed_node_count=replayed,
            unverified_node_count=len(self._unverified),
            pure_unverified_node_count=sum(not self._inplace(index) for index in self._unverified),
            failed_node_count=sum(row.state == "failed" for row in decisions),
            perturbed_parent_count=self._perturber.answered,
            exempted_parent_count=sum(self._perturber.exempted.values()),
            unverified_reason_counts=dict(Counter(self._unverified.values())),
            exempted_reason_counts=dict(exempted),
            conditional_reason_counts=dict(self._perturber.conditional),
            decisions=decisions,
            failure=None if first is None else self._failure(first),
        )

    def _inplace(self, index: int) -> bool:
        call = self._records.ops[index].call
        return call is not None and call.inplace

    def _decision(self, op: OpRecord, finding: Finding | None) -> Decision:
        label, name = self._state.labels.op(op.index), op.kind if op.call is None else op.call.name
        if finding is not None:
            return Decision(label, name, "failed", finding.check)
        reason = self._unverified.get(op.index, "")
        return Decision(label, name, "unverified" if reason else "passed", reason)

    def _failure(self, finding: Finding) -> ValidationFailure:
        op = self._records.ops[finding.op] if finding.op >= 0 else None
        difference = finding.difference
        saved = None if finding.saved is None else self._describe(finding.saved)
        again = None if finding.recomputed is None else self._describe(finding.recomputed)
        extra = dict(finding.extra)
        parent = extra.get("parent")
        if isinstance(parent, int):
            extra["parent"] = self._state.labels.op(parent)
        if finding.saved is not None:
            extra["saved"] = finding.saved
        if finding.recomputed is not None:
            extra["recomputed"] = finding.recomputed
        message = finding.message
        if isinstance(parent, int):
            message = message.replace("{parent}", str(extra["parent"]))
        return ValidationFailure(
            check=finding.check,
            op_label="" if op is None else self._state.labels.op(op.index),
            func_name="" if op is None else op.kind if op.call is None else op.call.name,
            message=message,
            saved_shape=saved[0] if saved else None,
            recomputed_shape=again[0] if again else None,
            saved_dtype=saved[1] if saved else None,
            recomputed_dtype=again[1] if again else None,
            max_abs_diff=difference.max_abs if difference else None,
            max_rel_diff=difference.max_rel if difference else None,
            nan_mismatch=difference.nan_mismatch if difference else None,
            inf_mismatch=difference.inf_mismatch if difference else None,
            reduction_depth=finding.depth,
            extra=extra,
        )


def _first(findings: Sequence[Finding]) -> Finding | None:
    """Degenerate final outputs and gradients before everything, else the earliest op."""
    for finding in findings:
        if finding.extra.get("scope") == "final_outputs" or finding.extra.get("degenerate_kind") == "zero_gradient":
            return finding
    return min(findings, key=lambda finding: finding.op, default=None)


def _origins(records: Records, examiner: Examiner) -> tuple[bytearray, bytearray]:
    """Which ops depend on parameters and buffers alone, and which on none of inputs, parameters and buffers."""
    ops = records.ops
    weights, constant = bytearray(len(ops)), bytearray(len(ops))
    for op in ops:
        if op.kind == "buffer":
            weights[op.index] = 1
        elif op.kind == "constant":
            constant[op.index] = 1
        elif op.call is not None:
            params = bool(op.call.params)
            known = [parent for parent in op.parents if 0 <= parent < op.index]
            weights[op.index] = (params or bool(known)) and all(weights[parent] for parent in known)
            constant[op.index] = not params and (
                all(constant[parent] for parent in known)
                or all(examiner.excuse(op.call, leaf) == "shape_only" for leaf in leaves_of(op.call))
            )
    return weights, constant
