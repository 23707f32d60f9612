"""Where the run depended on a value: tests on tensors, and the arm that ran."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, final

from tl_core._source import SourceLine, Span, span_of, stack_of
from tl_core._syntax import UNKNOWN, Test, TestKind, find_test
from tl_core._view import View

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from tl_core._record import Frames, Records
    from tl_core._state import State

Arm = Literal["then", "else", "body", "exit", "passed", "failed", "kept", "skipped", "stopped", "continued"]
"""`if`, `a if t else b`: then, else. `while`: body, exit. `assert`: passed, failed. A comprehension or a guard: kept,
skipped. `and`, `or` outside a test: stopped where the operand settled it, else continued."""

_ARMS: dict[TestKind, tuple[Arm, Arm]] = {
    "if": ("then", "else"),
    "ifexp": ("then", "else"),
    "while": ("body", "exit"),
    "assert": ("passed", "failed"),
    "comprehension": ("kept", "skipped"),
    "guard": ("kept", "skipped"),
}
"""Arm of a test that was true, and of one that was false."""
LOOKAHEAD = 2000
"""How many later events are searched for signs of the arm that ran."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Conditional(View):
    """One time that the run asked a tensor for its truth."""

    op: str | None
    """Label of the op that was asked; None for a parameter."""
    value: bool
    """The answer."""
    kind: TestKind
    """What asked; `unknown` where the source is not at hand."""
    arm: Arm | None
    """What ran next; None where neither the answer nor a later event tells."""
    test: str
    """Source text of the whole test, such as `x.sum() > 0 and self.gated`."""
    source: SourceLine | None
    """Where it stands; None where no user code was on the stack."""
    span: Span | None
    """The whole test in its file."""
    arm_span: Span | None
    """The arm that ran, in the same file; None where there is none or it is unknown."""

    def __repr__(self) -> str:
        return f"<Conditional {self}>"

    def __str__(self) -> str:
        where = f" at {self.source}" if self.source is not None else ""
        return f"{self.kind} {self.test or self.op}: {self.value} -> {self.arm or 'unknown'}{where}"


def conditionals(state: State) -> tuple[Conditional, ...]:
    """Every `bool(tensor)` of the run, in order."""
    if state.info.conditionals is not None:
        return state.info.conditionals
    reads = state.records.reads
    return tuple([_conditional(state, number) for number, read in enumerate(reads) if read.kind == "bool"])


def portable(found: tuple[Conditional, ...]) -> tuple[Conditional, ...]:
    """Conditionals without the paths of this machine."""
    return tuple(
        [each if each.source is None else replace(each, source=replace(each.source, path=None)) for each in found]
    )


def _conditional(state: State, number: int) -> Conditional:
    read = state.records.reads[number]
    value = bool(read.value)
    test, arm = UNKNOWN, None
    if read.frames and len(read.frames[0]) == 2:
        code, offset = read.frames[0]
        test = find_test(code, offset, value)
        arm = _arm(state.records, number, test)
    first = _ARMS.get(test.kind, (None, None))[0]
    ran = None if arm is None else test.then if arm == first else test.otherwise
    return Conditional(
        op=None if read.op < 0 else state.labels.op(read.op),
        value=value,
        kind=test.kind,
        arm=arm,
        test=test.text,
        source=stack_of(read.frames[:1])[0] if read.frames else None,
        span=test.span,
        arm_span=ran,
    )


def _arm(records: Records, number: int, test: Test) -> Arm | None:
    if test.kind == "boolop":
        return "continued" if test.value is None else "stopped"
    arms = _ARMS.get(test.kind)
    if arms is None:
        return None
    value = _evidence(records, number, test) if test.value is None else test.value
    return None if value is None else arms[0] if value else arms[1]


def _evidence(records: Records, number: int, test: Test) -> bool | None:
    """Truth of a test as what followed in the same function call shows it: a later operand, or the first thing to run."""
    site = records.reads[number].frames
    for frames, answer in islice(_events_after(records, number), LOOKAHEAD):
        frame = _frame_in(frames, site)
        if frame is None:
            return None  # the function has returned
        span = span_of(*frame)
        if answer is not None and frame is frames[0]:
            other = find_test(*frame, answer)
            if other.span == test.span:
                if other.value is not None:
                    return other.value
                continue
        if _inside(span, test.then):
            return True
        if _inside(span, test.otherwise):
            return False
        if not _inside(span, test.span):
            return None  # neither an arm nor the rest of the test
    return None


def _events_after(records: Records, number: int) -> Iterator[tuple[Frames, bool | None]]:
    """Call sites of what followed a read: further reads, with the answer where it was a truth value, and calls."""
    reads = records.reads
    following = number + 1
    for index in range(reads[number].op_count, len(records.ops) + 1):
        while following < len(reads) and reads[following].op_count <= index:
            read = reads[following]
            yield read.frames, bool(read.value) if read.kind == "bool" else None
            following += 1
        call = records.ops[index].call if index < len(records.ops) else None
        if call is not None:
            yield call.frames, None


def _frame_in(frames: Frames, site: Frames) -> tuple[CodeType, int] | None:
    """The frame of the function call that `site` stands in; None if that call is not on the stack."""
    code = site[0][0]
    outside = site[1:]
    for depth, frame in enumerate(frames):
        if frame[0] is code and len(frame) == 2:
            known = min(len(outside), len(frames) - depth - 1)  # long stacks are cut at the outer end
            if frames[depth + 1 : depth + 1 + known] == outside[:known]:
                return frame
    return None


def _inside(span: Span | None, whole: Span | None) -> bool:
    if span is None or whole is None:
        return False
    begins = (whole.line, whole.column) <= (span.line, span.column)
    return begins and (span.end_line, span.end_column) <= (whole.end_line, whole.end_column)
