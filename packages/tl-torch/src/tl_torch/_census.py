"""A census of what torch dispatched: every operator is tied to the recorded call that it was part of.

Opt-in: a dispatch mode costs some microseconds for each operator, so an ordinary trace runs without one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast, final

import torch
from msgspec import Struct
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC2701 - torch gives it no public name

from tl_core import AtenOp, AtenOwner, Frames, ModuleCallRecord, TensorFacts
from tl_torch._frames import caller
from tl_torch._snapshot import CopiedPayload
from tl_torch._sources import plain_device, plain_name
from tl_torch._structure import tensors_in
from tl_torch._torch_private import (
    innermost_dispatch_mode,
    is_mutable,
    is_view_operator,
    schema_text,
    torch_function_disabled,
    torch_function_enabled,
    without_dispatch_mode,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from types import FrameType

    from tl_core import TraceBuilder
    from tl_torch._frames import FrameWalker

_TORCH = os.path.dirname(torch.__file__) + os.sep
_OURS = os.path.dirname(__file__) + os.sep
_PASSING = frozenset({"_composite", "_run", "module_call", "method_call", "_call_impl", "run"})
"""Functions of ours that only stand between two pieces of the user's or torch's code."""
MAX_NAMED = 6
"""Most operators that a message names."""


@final
class Span(Struct, gc=False, eq=False):
    """One function that the recorder ran."""

    func: Callable[..., Any]
    before: int = -1
    """How many calls were recorded when it returned: the number of its own record, if it got one."""
    reads: int = -1
    """How many reads were recorded then."""


@final
class _Dispatch(Struct, gc=False, eq=False):
    """One operator, as it was noted while the model ran."""

    operator: Any
    span: Span | None
    status: AtenOwner
    module: ModuleCallRecord | None
    frames: Frames
    inputs: tuple[TensorFacts, ...] = ()
    outputs: tuple[TensorFacts, ...] = ()
    raised: str | None = None
    out: object = None


@final
class Census(TorchDispatchMode):
    """Watches the dispatches of one run on one thread."""

    def __init__(self, builder: TraceBuilder, frames: FrameWalker, *, rows: bool, values: bool) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType] - torch does not annotate it
        self._builder = builder
        self._frames = frames
        self._rows = rows
        self._values = values
        self._span: Span | None = None
        self._spans: list[Span] = []
        self._dispatches: list[_Dispatch] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # compiled parts run as their source; without this torch loads its compiler for a plain mode

    def run(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None) -> Any:
        """Run a function that the recorder records; what it dispatches is its work."""
        return self.run_as(func, lambda: func(*args, **kwargs) if kwargs else func(*args))

    def run_as(self, func: Callable[..., Any], work: Callable[[], Any]) -> Any:
        """Run something as the work of `func`."""
        outer, span = self._span, Span(func)
        self._span = span
        try:
            return work()
        finally:
            self._span = outer
            records = self._builder.records
            span.before = len(records.calls)
            span.reads = len(records.reads)
            self._spans.append(span)

    def aside(self) -> AbstractContextManager[Any]:
        """A context in which nothing is watched: higher-order operators know only modes of torch's own."""
        return without_dispatch_mode() if innermost_dispatch_mode() is self else nullcontext()

    def run_visibly(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None) -> Any:
        """Run it in sight of the user's own modes and tensor subclasses."""
        with torch_function_enabled():
            return self.run(func, args, kwargs)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with torch_function_disabled():  # running an operator again is no call of the model
            return self._dispatch(func, args, kwargs or {})

    def _dispatch(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        span = self._span
        status: AtenOwner = "op"
        frames: Frames = ()
        if span is None:
            frame, found = _origin(caller(2))
            if found is None:  # our own snapshots and comparisons
                return func(*args, **kwargs)
            status = "alias" if found == "none" and is_view_operator(func) else found
            if status == "none":
                frames = self._frames.where(frame)
        inputs = self._facts(args) if self._rows else ()
        note = _Dispatch(func, span, status, self._builder.module, frames, inputs)
        self._dispatches.append(note)
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            note.raised = type(error).__name__
            raise
        if self._rows:
            note.outputs = self._facts(result)
            if self._values:
                note.out = next((_snapshot(tensor) for _, tensor in tensors_in(result)), None)
        return result

    @staticmethod
    def _facts(value: object) -> tuple[TensorFacts, ...]:
        return tuple(
            [
                TensorFacts(tuple(tensor.shape), plain_name(tensor.dtype), plain_device(tensor.device))
                for _, tensor in tensors_in(value)
            ]
        )

    # ---------------------------------------------------------------- after the run

    def settle(self) -> list[tuple[str, Frames]]:
        """Hand the rows to the records, and note what nobody owns as a gap; returns what that is and where it ran."""
        owners = self._owners()
        slots: Counter[int | None] = Counter()
        rows: list[AtenOp] = []
        unowned: list[_Dispatch] = []
        for note in self._dispatches:
            status, call_id = _owner(note, owners)
            if status == "none":
                unowned.append(note)
            if self._rows:
                rows.append(_row(len(rows), note, status, call_id, slots[call_id]))
                slots[call_id] += 1
        if self._rows:
            self._builder.records.aten = rows
        if unowned:
            self._gap(unowned)
        self._dispatches.clear()
        self._spans.clear()
        return [(str(note.operator), note.frames) for note in unowned]

    def _owners(self) -> dict[int, tuple[AtenOwner, int | None]]:
        """Owner of each span, by its identity: of several that ended before the same call, the last is its own."""
        records = self._builder.records
        owners: dict[int, tuple[AtenOwner, int | None]] = {}
        for number, span in {span.reads: span for span in self._spans}.items():
            if number < len(records.reads):
                owners[id(span)] = ("read", None)
        for number, span in {span.before: span for span in self._spans}.items():
            if number < len(records.calls) and records.calls[number].func is span.func:
                owners[id(span)] = ("op", number + 1)
        return owners

    def _gap(self, unowned: list[_Dispatch]) -> None:
        self._builder.records.unaccounted = len(unowned)
        names = Counter(str(note.operator) for note in unowned)
        shown = ", ".join(f"{name} x{count}" if count > 1 else name for name, count in names.most_common(MAX_NAMED))
        more = ", ..." if len(names) > MAX_NAMED else ""
        self._builder.gap(
            "unaccounted_dispatch",
            f"{len(unowned)} of {len(self._dispatches)} dispatches belong to no recorded call: {shown}{more}.",
            -1, unowned[0].frames,
        )  # fmt: skip


def _owner(note: _Dispatch, owners: dict[int, tuple[AtenOwner, int | None]]) -> tuple[AtenOwner, int | None]:
    if note.span is None:
        return note.status, None
    return owners.get(id(note.span), ("untracked", None))


def _origin(frame: FrameType) -> tuple[FrameType, AtenOwner | None]:
    """The innermost frame outside torch, and what it says of a dispatch that no recorded function made."""
    while True:
        file = frame.f_code.co_filename
        if file.startswith(_OURS):
            name = frame.f_code.co_name
            return frame, "untracked" if name == "__torch_function__" else "none" if name in _PASSING else None
        if not file.startswith(_TORCH) or frame.f_back is None:
            return frame, "none"
        frame = frame.f_back


def _snapshot(tensor: torch.Tensor) -> CopiedPayload:
    return CopiedPayload(tensor.detach().clone())


def _row(sequence: int, note: _Dispatch, status: AtenOwner, call_id: int | None, slot: int) -> AtenOp:
    operator = note.operator
    namespace, _, name = cast("str", operator.name()).partition("::")
    writes = is_mutable(operator)
    name, _, overload = name.partition(".")
    overload = overload or "default"
    return AtenOp(
        sequence, namespace, name, overload, schema_text(operator), status, call_id, slot,
        _labels(note.module), note.inputs, note.outputs,
        "none" if not writes else "out" if "out" in overload else "in_place",
        is_view_operator(operator), "returned" if note.raised is None else "raised", note.raised, note.out,
    )  # fmt: skip


def _labels(call: ModuleCallRecord | None) -> tuple[str, ...]:
    labels: list[str] = []
    while call is not None:
        if call.module.address:
            labels.append(f"{call.module.address}:{call.number}")
        call = call.parent
    return tuple(reversed(labels))
