"""Selectors on a finished trace: sets of op indices, read from ranges and tables instead of op by op."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tl_core._errors import ArgumentTypeError
from tl_core._found import Found
from tl_core._hint import selectors_for, why_nothing
from tl_core._match import CONTAINERS, call_matches, func_matches, held_in, judge
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
    spine,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_core._op import Op
    from tl_core._record import Records
    from tl_core._state import State
    from tl_core._trace import Trace


def find(trace: Trace, selector: Selector) -> tuple[Op, ...]:
    """The ops of a finished trace that a selector means, in execution order.

    Args:
        trace: the trace to look in.
        selector: such as `func("relu") & in_module("layer1")`.

    Returns:
        The ops; an empty tuple when there are none.

    Raises:
        ArgumentTypeError: `selector` is not one, or a predicate inside `selector` returned something other than a bool or None.
    """
    state = state_of(trace)
    return found_views(trace, selector, map(state.op, find_indices(trace, selector)), ("op", "ops"))


V = TypeVar("V")


def found_views(trace: Trace, selector: Selector, views: Iterable[V], noun: tuple[str, str]) -> Found[V]:
    """Views that a selector means, as an answer that says why there are none.

    Args:
        trace: the trace that was looked in.
        selector: what was asked.
        views: what was found, in order.
        noun: what one and several of them are called.
    """
    state = state_of(trace)
    return Found(views, noun, lambda: why_nothing(state, selector, lambda part: len(_meant(trace, part))))


def find_indices(trace: Trace, selector: Selector) -> list[int]:
    """Indices of the ops that `find` returns, ascending."""
    if not isinstance(selector, Selector):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise _no_selector(state_of(trace), selector)
    return sorted(_meant(trace, selector))


def _no_selector(state: State, given: object) -> ArgumentTypeError:
    if isinstance(given, str):
        remedy = selectors_for(state, given)
    elif callable(given):
        remedy = "trace.find(tl.where(lambda op: ...)) for a function of an op"
    else:
        remedy = 'trace.find(tl.func("relu") & tl.in_module("layer1"))'
    return ArgumentTypeError(
        f"find() takes a selector, and was given {given!r} ({type(given).__name__}).",
        code="selector_invalid",
        remedy=remedy,
        given=repr(given),
    )


def state_of(trace: Trace) -> State:
    """What a trace shares with its views."""
    return trace._state  # noqa: SLF001  # another view of the same package


def records_of(trace: Trace) -> Records:
    """The records behind a trace."""
    return state_of(trace).records


def _meant(trace: Trace, selector: Selector) -> set[int]:
    match selector:
        case And() | Or():
            inner, nodes = spine(selector)
            found = _meant(trace, inner)
            for node in nodes:
                right = _meant(trace, node.right)
                found = found & right if isinstance(node, And) else found | right
            return found
        case Not(inner):
            return set(range(len(records_of(trace).ops))) - _meant(trace, inner)
        case Label(label):
            return _labelled(state_of(trace), label)
        case LabelContains(text):
            return {index for index, label in enumerate(state_of(trace).labels.ops()) if text in label}
        case Where():
            state = state_of(trace)
            return {op.index for op in state.records.ops if judge(selector, state.op(op.index))}
        case Func() | ModuleOutput() | InModule():
            return _recorded(records_of(trace), selector)
        case _:
            raise foreign_selector(selector)


def _recorded(records: Records, selector: Func | ModuleOutput | InModule) -> set[int]:
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
            container = any(
                asked in (module.address, *module.aliases)
                for module in records.modules
                if module.class_name in CONTAINERS
            )
            inside: set[int] = set()
            for call in records.module_calls:
                if held_in(asked, call) if container else call_matches(asked, call):
                    inside.update(range(call.first_op, call.stop_op))
            return {index for index in inside if ops[index].kind == "op"}


def _labelled(state: State, label: str) -> set[int]:
    """Ops that an op label, a layer label (all passes) or the short form of either means."""
    op = state.labels.find_op(label)
    if op is not None:
        return {op}
    layer = state.labels.find_layer(label)
    return set() if layer is None else set(state.grouping.members(layer))
