"""Sites of an earlier trace, recognised while another run of the model is recorded.

A label is known only when a run is over. During a run it therefore names a place in an earlier trace: the n-th call of
a function in a certain module call. The place is found again by counting, and its shape is compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from tl_core._errors import ConfigurationError, DivergenceError
from tl_core._find import find_indices, records_of, state_of
from tl_core._label import may_be_label
from tl_core._match import func_matches
from tl_core._near import near_misses
from tl_core._selector import Label, LabelContains, Selector, leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tl_core._record import CallRecord, OpRecord, Records
    from tl_core._trace import Trace

SiteKey = tuple[str, str, int]
"""Function, module and number of the module call; for a source its kind and address."""


def site_key(record: OpRecord) -> SiteKey:
    """What ops at the same place of two runs have in common; equal keys in one run are told apart by their order."""
    call = record.call
    return (record.kind, record.address, 0) if call is None else _call_key(call)


def _call_key(call: CallRecord) -> SiteKey:
    module = call.module
    return (call.name, "", 0) if module is None else (call.name, module.module.address, module.number)


@final
class Sites:
    """The sites that a set of label selectors names, and which of them came up again."""

    __slots__ = ("_counts", "_last_call", "_like", "_named", "_names", "_reached", "_records", "_slots", "_strangers")

    def __init__(self, like: Trace, selectors: Iterable[Label | LabelContains]) -> None:
        self._like = like
        self._records = records_of(like).ops
        self._named: dict[int, frozenset[Selector]] = {}
        for selector in selectors:
            for index in find_indices(like, selector):
                self._named[index] = self._named.get(index, frozenset()) | {selector}
        keys = {site_key(self._records[index]) for index in self._named}
        self._names = {key[0] for key in keys}
        self._slots = _slots(records_of(like), self._named, keys)
        self._counts = dict.fromkeys(keys, -1)
        self._last_call = -1
        self._reached: set[int] = set()
        self._strangers: list[tuple[int, OpRecord]] = []

    def locate(self, record: OpRecord) -> frozenset[Selector] | None:
        """The label selectors that name this op; to be called once for each op, in order of appearance."""
        call = record.call
        if (record.kind if call is None else call.name) not in self._names:
            return None
        key = site_key(record)
        count = self._counts.get(key)
        if count is None:
            return None
        if call is None or call.index != self._last_call:  # a further output of a call is at the same place
            count = self._counts[key] = count + 1
            self._last_call = -1 if call is None else call.index
        index = self._slots.get((key, count, record.position))
        if index is None:
            return None
        self._reached.add(index)
        if self._records[index].shape != record.shape:
            self._strangers.append((index, record))
        return self._named[index]

    def check(self, trace: Trace) -> None:
        """Compare what came up with what was named.

        Args:
            trace: the finished run; where it was ended early, later sites could not come up.

        Raises:
            DivergenceError: a site came up with another shape, or not at all.
        """
        label = state_of(self._like).labels.op
        problems: list[str] = []
        for index, record in self._strangers:
            shape = self._records[index].shape
            problems.append(f"{label(index)} has shape {shape} there and came with {record.shape}")
        if trace.outcome == "complete":
            missing = sorted(set(self._named) - self._reached)
            problems += [f"{_place(self._records[index], label(index))} was not reached" for index in missing]
        if problems:
            shown = problems[:8] + ([f"and {len(problems) - 8} more"] if len(problems) > 8 else [])
            raise DivergenceError(
                f"The run parted from the trace {self._like.name!r} given as like=:\n    "
                + "\n    ".join([*shown, *parting(self._like, trace)]),
                code="like_diverged",
                remedy="trace this model once more with inputs of the same shapes, and give that trace as like=; "
                "or select by tl.func(...), tl.module(...) or tl.where(...), which need no earlier trace",
                like=self._like.name,
                problems=tuple(problems),
            )


def parting(like: Trace, trace: Trace) -> list[str]:
    """Sentences on how two runs differ: their models, and the first op that is another; none where they are alike."""
    said: list[str] = []
    if like.model_class_name != trace.model_class_name:
        said.append(
            f"{like.name!r} is a trace of another model: {like.model_class_name}, and this is {trace.model_class_name}"
        )
    there, here = records_of(like).ops, records_of(trace).ops
    both = min(len(there), len(here))
    first = next((at for at in range(both) if _differ(there[at], here[at])), both)
    if first < both:
        said.append(f"op {first} is {_described(like, there[first])} there, and {_described(trace, here[first])} here")
    elif len(there) != len(here):
        said.append(f"the first {both} ops are alike; there are {len(there)} there, and {len(here)} here")
    return said


def _differ(one: OpRecord, other: OpRecord) -> bool:
    return site_key(one) != site_key(other) or one.shape != other.shape


def _described(trace: Trace, record: OpRecord) -> str:
    label = state_of(trace).labels.op(record.index)
    return f"{_place(record, label)} with shape {record.shape}"


def _slots(records: Records, named: Iterable[int], keys: set[SiteKey]) -> dict[tuple[SiteKey, int, int], int]:
    """Op index by place, by how often the place came up before, and by output position.

    Calls are counted rather than ops, because an op that led to nothing is no longer among the ops.
    """
    counts = dict.fromkeys(keys, 0)
    order: dict[tuple[str, int], int] = {}
    for call in records.calls:
        key = _call_key(call)
        if key in counts:
            order["call", call.index] = counts[key]
            counts[key] += 1
    for op in records.ops:
        key = site_key(op)
        if op.call is None and key in counts:
            order["source", op.index] = counts[key]
            counts[key] += 1
    slots: dict[tuple[SiteKey, int, int], int] = {}
    for index in named:
        op = records.ops[index]
        count = order["source", index] if op.call is None else order["call", op.call.index]
        slots[site_key(op), count, op.position] = index
    return slots


@final
class LiveNames(NamedTuple):
    """Names that a model that has not run yet makes known, for messages."""

    modules: Callable[[], Iterable[str]]
    """Addresses of its modules."""
    functions: Callable[[], Iterable[str]]
    """Functions that it may call."""
    containers: Callable[[], frozenset[str]] = frozenset
    """Addresses of its modules that only hold others."""


def live_sites(
    selectors: Iterable[Selector], like: Trace | None, option: str, names: LiveNames | None = None
) -> Sites | None:
    """The sites that the labels inside `selectors` name; None when there are no labels.

    Args:
        selectors: what a live option was given.
        like: the earlier trace, if there is one.
        option: the option's name, for messages.
        names: what the model makes known, for messages.

    Raises:
        ConfigurationError: a label without `like=`, or one that the trace does not have.
    """
    named = [leaf for one in selectors for leaf in leaves(one) if isinstance(leaf, (Label, LabelContains))]
    if not named:
        return None
    if like is None:
        raise _needs_like(named[0], option, names)
    for leaf in named:
        if not find_indices(like, leaf):
            raise _unknown(leaf, like, option)
    return Sites(like, named)


def _needs_like(leaf: Label | LabelContains, option: str, names: LiveNames | None) -> ConfigurationError:
    text = leaf.label if isinstance(leaf, Label) else leaf.text
    spelled = repr(text) if isinstance(leaf, Label) else f"tl.{leaf!r}"
    known = "" if names is None or not isinstance(leaf, Label) else _without_like(text, option, names)
    close = () if known or names is None or not isinstance(leaf, Label) else _near_names(text, names)
    earlier = f"first = tl.trace(model, x); tl.trace(model, x, {option}={spelled}, like=first)"
    if known:
        remedy = f"{known}. A label needs an earlier trace: {earlier}"
    elif close:
        remedy = (
            f"closest: {', '.join(f'{option}={name}' for name in close)}. A label needs an earlier trace: {earlier}"
        )
    else:
        remedy = (
            f"trace once, then name the trace: {earlier}. A function or a module needs no earlier trace: "
            f"{option}=tl.func('relu'), {option}=tl.in_module('layer1')"
        )
    return ConfigurationError(
        f"{option}={spelled} names ops by label, and labels are given when a run is over, so this run cannot know them.",
        code="live_label_needs_like",
        remedy=remedy,
        option=option,
        asked=text,
        closest=close,
    )


def _without_like(text: str, option: str, names: LiveNames) -> str:
    """How to say a name that is none of a label; empty where nothing has it."""
    ways: list[str] = []
    if text in set(names.modules()):
        ways.append(
            f"{text!r} is a module: {option}=tl.in_module({text!r}) means every op inside it, "
            f"{option}=tl.module({text!r}) what it returns"
        )
    if any(func_matches(text, name) for name in names.functions()):
        ways.append(f"{text!r} is a function: {option}=tl.func({text!r})")
    return "; ".join(ways)


def _near_names(text: str, names: LiveNames) -> tuple[str, ...]:
    if may_be_label(text):
        return ()
    modules = [f"tl.in_module({name!r})" for name in near_misses(text, names.modules(), count=3)]
    functions = [f"tl.func({name!r})" for name in near_misses(text, names.functions(), count=2, cutoff=0.8)]
    return (*modules, *functions)


def _unknown(leaf: Label | LabelContains, like: Trace, option: str) -> ConfigurationError:
    records = records_of(like)
    if isinstance(leaf, LabelContains):
        text, problem = leaf.text, f"No label of the trace {like.name!r} contains {leaf.text!r}."
    else:
        text, problem = leaf.label, f"The trace {like.name!r} given as like= has no op or layer {leaf.label!r}."
    labels = state_of(like).labels
    close = near_misses(text, labels.layers() + labels.ops())
    if any(func_matches(text, call.name) for call in records.calls):
        remedy = f"{text!r} is a function: {option}=tl.func({text!r})"
    elif any(text in (module.address, *module.aliases) for module in records.modules):
        remedy = f"{text!r} is a module: {option}=tl.in_module({text!r}) means every op inside it, "
        remedy += f"{option}=tl.module({text!r}) what it returns"
    elif close:
        remedy = f"closest labels: {', '.join(close)}"
    else:
        remedy = "trace.layers lists every label"
    return ConfigurationError(
        problem, code="unknown_label", remedy=remedy, option=option, asked=text, closest=close, like=like.name
    )


def _place(record: OpRecord, label: str) -> str:
    call = record.module
    where = "" if call is None or not call.module.address else f" in {call.module.address}:{call.number}"
    return f"{label}{where}"
