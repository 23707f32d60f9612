"""Selectors on a finished trace: sets of op indices, read from ranges and tables instead of op by op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_core._match import call_matches, func_matches, judge
from tl_core._selector import (
    And,
    Func,
    InModule,
    Label,
    LabelContains,
    ModuleOutput,
    Not,
    Or,
    Selector,
    Where,
    foreign_selector,
)

if TYPE_CHECKING:
    from tl_core._op import Op
    from tl_core._record import Records
    from tl_core._trace import Trace


def find(trace: Trace, selector: Selector) -> tuple[Op, ...]:
    """The ops of a finished trace that a selector means, in execution order.

    Args:
        trace: the trace to look in.
        selector: such as `func("relu") & in_module("layer1")`.

    Returns:
        The ops; an empty tuple when there are none.

    Raises:
        ArgumentTypeError: a predicate inside `selector` returned something other than a bool or None.
    """
    ops = trace.ops
    return tuple(ops[index] for index in find_indices(trace, selector))


def find_indices(trace: Trace, selector: Selector) -> list[int]:
    """Indices of the ops that `find` returns, ascending."""
    return sorted(_meant(trace, selector))


def records_of(trace: Trace) -> Records:
    """The records behind a trace."""
    return trace._records  # noqa: SLF001  # a view of the same package


def _meant(trace: Trace, selector: Selector) -> set[int]:
    match selector:
        case And(left, right):
            return _meant(trace, left) & _meant(trace, right)
        case Or(left, right):
            return _meant(trace, left) | _meant(trace, right)
        case Not(inner):
            return set(range(len(records_of(trace).ops))) - _meant(trace, inner)
        case Label(label):
            return labelled(trace, label)
        case LabelContains(text):
            return {op.index for op in trace.ops if text in op.label}
        case Func() | ModuleOutput() | InModule() | Where():
            return _recorded(records_of(trace), selector)
        case _:
            raise foreign_selector(selector)


def _recorded(records: Records, selector: Func | ModuleOutput | InModule | Where) -> set[int]:
    match selector:
        case Func(asked):
            names = {call.name for call in records.calls}
            wanted = {name for name in names if func_matches(asked, name)}
            return {op.index for op in records.ops if op.call is not None and op.call.name in wanted}
        case ModuleOutput(asked):
            calls = [call for call in records.module_calls if call_matches(asked, call)]
            return {index for call in calls for index in call.outputs}
        case InModule(asked):
            ops = records.ops
            inside: set[int] = set()
            for call in records.module_calls:
                if call_matches(asked, call):
                    inside.update(range(call.first_op, call.stop_op))
            return {index for index in inside if ops[index].kind == "op"}
        case Where():
            return {op.index for op in records.ops if judge(selector, op)}


def labelled(trace: Trace, label: str) -> set[int]:
    """Indices of the ops that an op label, a layer label or the short form of either means."""
    meant: set[int] = set()
    for op in trace.ops:
        if label in (op.label, op.layer_label, op.label_short, op.label_short.rpartition(":")[0]):
            meant.add(op.index)
    return meant
