"""Why a selector means no op: which name did not come up, and what was near."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_core._match import CONTAINERS, call_matches, func_matches, held_in
from tl_core._meaning import closest, meanings
from tl_core._near import near_misses
from tl_core._selector import And, Func, InModule, Label, LabelContains, Leaf, ModuleOutput, Selector, Where, leaves

if TYPE_CHECKING:
    from collections.abc import Callable

    from tl_core._state import State


def why_nothing(state: State, selector: Selector, count: Callable[[Selector], int]) -> str:
    """What to print instead of the ops that a selector does not mean.

    Args:
        state: of the trace.
        selector: means no op of it.
        count: how many ops a part of it means.
    """
    said = f"no op of {state.info.name!r} is {selector!r}."
    hints = "".join(leaf_hint(leaf, state) for leaf in leaves(selector))
    if not hints and isinstance(selector, And):
        left, right = count(selector.left), count(selector.right)
        hints = f" {selector.left!r} is {_ops(left)} and {selector.right!r} {_ops(right)}; none is both."
    return said + hints


def _ops(count: int) -> str:
    return "1 op" if count == 1 else f"{count:,} ops"


def leaf_hint(leaf: Leaf, state: State) -> str:
    """A sentence about a name that did not come up; empty where it did."""
    records = state.records
    match leaf:
        case Func(name):
            names = {call.name for call in records.calls}
            if any(func_matches(name, one) for one in names):
                return ""
            return f" No function {name!r} ran{_what_else(state, name, sorted(names))}."
        case ModuleOutput(name) | InModule(name):
            return _module_hint(name, state)
        case Label(name):
            return _label_hint(name, state)
        case LabelContains() | Where():
            return ""


def _what_else(state: State, name: str, names: list[str]) -> str:
    other = meanings(state, name, ("param", "buffer"))
    if other:
        return f"; {other[0]}"
    close = near_misses(name, names, count=3)
    return f"; closest: {', '.join(close)}" if close else ""


def _label_hint(name: str, state: State) -> str:
    if state.labels.find_op(name) is not None or state.labels.find_layer(name) is not None:
        return ""
    close = closest(state, name, ("layer", "op"))
    other = meanings(state, name, ("layer", "op", "param", "buffer"))
    hint = f"; {other[0]}" if other else f"; closest: {', '.join(close)}" if close else ""
    return f" There is no op or layer {name!r}{hint}."


def _module_hint(asked: str, state: State) -> str:
    calls = state.records.module_calls
    if any(call_matches(asked, call) for call in calls):
        return ""
    names = state.module_names()
    address = asked if asked in names else asked.rpartition(":")[0]
    if address not in names or (not address and asked):
        return f" The model has no module {asked!r}{_what_else(state, asked, sorted(names))}."
    record = state.records.modules[names[address]]
    if record.class_name in CONTAINERS:
        held = sum(held_in(address, call) for call in calls)
        if held:
            return f" {address!r} only holds modules and returns nothing; in_module({address!r}) means what they do."
    count = sum(call_matches(address, call) for call in calls)
    times = "was not called" if not count else "was called once" if count == 1 else f"was called {count} times"
    return f" The module {address!r} {times}."


def selectors_for(state: State, text: str) -> str:
    """How a text is said as a selector: what it names in the trace, or else what was near."""
    names = {call.name for call in state.records.calls}
    modules = state.module_names()
    ways: list[str] = []
    if any(func_matches(text, name) for name in names):
        ways.append(f"trace.find(tl.func({text!r})) for the function")
    if text in modules:
        ways.append(
            f"trace.find(tl.in_module({text!r})) for every op inside the module, "
            f"trace.find(tl.module({text!r})) for what it returns"
        )
    if state.labels.find_op(text) is not None or state.labels.find_layer(text) is not None:
        ways.append(f"trace[{text!r}] for the label")
    if ways:
        return "; ".join(ways)
    functions = [f"tl.func({name!r})" for name in near_misses(text, sorted(names), count=2)]
    close = [f"tl.in_module({name!r})" for name in near_misses(text, sorted(modules), count=2)]
    labels = [f"tl.label({name!r})" for name in closest(state, text, ("layer",)) if not name.startswith("trace.")][:2]
    near = [*functions, *close, *labels]
    part = f"trace.find(tl.label_contains({text!r})) for a part of a label"
    return f"closest: {', '.join(near)}; {part}" if near else part
