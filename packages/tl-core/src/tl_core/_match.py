"""Selectors turned into checks of live records: the part of `save=` that runs for every op."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, cast, final

from tl_core._context import OpContext
from tl_core._errors import ArgumentTypeError
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
from tl_core._spelling import ROOT, call_label, label_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._op import Op
    from tl_core._record import ModuleCallRecord, OpRecord

Check = Callable[["OpRecord"], bool]


@final
class LiveFacts:
    """What is known so far about the ops of a running capture, beyond their records."""

    __slots__ = ("containers", "exits", "remember", "sites")

    def __init__(self, *, remember: bool, containers: frozenset[str] = frozenset()) -> None:
        self.containers = containers
        """Addresses of modules that only hold others."""
        self.exits: dict[int, set[str]] = {}
        """By op index: the `module(...)` addresses whose calls have returned that op."""
        self.sites: dict[int, frozenset[Selector]] = {}
        """By op index: the label selectors that name the op through an earlier trace."""
        self.remember = remember
        """Whether a predicate's answer must be kept because the op is judged again when its module returns it."""


def func_matches(asked: str, name: str) -> bool:
    """Whether `func(asked)` means the function called `name`."""
    return asked in (name, name.removesuffix("_"), label_type(name))


def call_matches(asked: str, call: ModuleCallRecord) -> bool:
    """Whether a module address or call label means this call."""
    module = call.module
    if asked == module.address or asked in module.aliases or asked == call_label(call):
        return True
    if not module.address and asked in (ROOT, f":{call.number}"):
        return True
    return any(asked == f"{alias}:{call.number}" for alias in module.aliases)


CONTAINERS = frozenset({"ModuleList", "ModuleDict"})
"""Classes of modules that hold others and are never called themselves: what is inside them is what is inside those."""


def held_in(container: str, call: ModuleCallRecord) -> bool:
    """Whether the module that was called is registered below the address `container`."""
    inside = f"{container}."
    module = call.module
    return module.address.startswith(inside) or any(alias.startswith(inside) for alias in module.aliases)


def judge(selector: Where, op: OpContext | Op) -> bool:
    """Ask the predicate of `selector`.

    Args:
        selector: whose predicate it is.
        op: what the predicate sees: the context of a live op, or an op of a finished trace.

    Raises:
        ArgumentTypeError: it returned something other than a bool or None.
    """
    # an Op has every attribute of an OpContext
    answer: object = selector.predicate(cast("OpContext", op))
    if answer is None or answer is False:
        return False
    if answer is True:
        return True
    raise ArgumentTypeError(
        f"The predicate {selector!r} returned {answer!r} ({type(answer).__name__}) for op {op.index} "
        f"({op.func_name}, shape {op.shape}); it must return True, False or None.",
        code="predicate_return_invalid",
        remedy="wrap the result in bool(...)",
        predicate=repr(selector),
        returned=repr(answer),
        op=op.index,
    )


def live_check(selector: Selector, facts: LiveFacts) -> Check:
    """Compile `selector` into a function of a live record."""
    match selector:
        case Func(name):
            return _func_check(name)
        case ModuleOutput(address):
            exits = facts.exits
            return lambda record: address in exits.get(record.index, ())
        case InModule(address):
            return _inside_check(address, container=address in facts.containers)
        case Label() | LabelContains():
            sites = facts.sites
            return lambda record: selector in sites.get(record.index, ())
        case Where():
            return _predicate_check(selector, remember=facts.remember)
        case And() | Or():
            inner, nodes = spine(selector)
            check = live_check(inner, facts)
            for kind, run in groupby(nodes, type):
                check = _joined(kind, [check, *(live_check(node.right, facts) for node in run)])
            return check
        case Not(inner):
            inside = live_check(inner, facts)
            return lambda record: not inside(record)
        case _:
            raise foreign_selector(selector)


def _joined(kind: type[And | Or], checks: Sequence[Check]) -> Check:
    """What all of `checks` say, or any."""
    if len(checks) > 2:
        if kind is And:
            return lambda record: all(check(record) for check in checks)
        return lambda record: any(check(record) for check in checks)
    first, second = checks
    if kind is And:
        return lambda record: first(record) and second(record)
    return lambda record: first(record) or second(record)


def _func_check(asked: str) -> Check:
    known: dict[str, bool] = {}

    def check(record: OpRecord) -> bool:
        call = record.call
        if call is None:
            return False
        name = call.name
        answer = known.get(name)
        if answer is None:
            answer = known[name] = func_matches(asked, name)
        return answer

    return check


def _inside_check(asked: str, *, container: bool) -> Check:
    known: dict[int, bool] = {}

    def inside(call: ModuleCallRecord | None) -> bool:
        if call is None:
            return False
        answer = known.get(call.index)
        if answer is None:
            answer = known[call.index] = (held_in(asked, call) if container else call_matches(asked, call)) or inside(
                call.parent
            )
        return answer

    return lambda record: record.kind == "op" and inside(record.module)


def _predicate_check(selector: Where, *, remember: bool) -> Check:
    if not remember:
        return lambda record: judge(selector, OpContext(record))
    known: dict[int, bool] = {}

    def check(record: OpRecord) -> bool:
        answer = known.get(record.index)
        if answer is None:
            answer = known[record.index] = judge(selector, OpContext(record))
        return answer

    return check
