"""A loaded trace made to run again: names become functions, and names of dtypes and devices the framework's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol, cast, final, runtime_checkable

from tl_core._bundle_columns import FUNCTION_KEY
from tl_core._bundle_template import EnumValue, FrameworkValue, StructValue
from tl_core._record import AliasRead, CallRecord, Opaque, OpRecord, Records

if TYPE_CHECKING:
    from collections.abc import Sequence


@runtime_checkable
class ResolvingBackend(Protocol):
    """A backend whose bundles can be validated where they are loaded: its functions have names that lead back."""

    def identify(self, function: Callable[..., Any]) -> str | None:
        """The name under which `resolve` finds a function again; None for one that has no such name."""
        ...

    def resolve(self, identity: str) -> Callable[..., Any] | None:
        """The function that a name stands for; None unless it computes values from values and does nothing else."""
        ...

    def revive(self, value: FrameworkValue) -> object:
        """A dtype, device, memory format or layout from its name."""
        ...


def foreign_calls(records: Records, framework: ResolvingBackend) -> list[tuple[OpRecord, str]]:
    """The first op of each call whose function no name leads back to, with that name.

    A call all of whose outputs were dropped needs no function.
    """
    found: dict[int, tuple[OpRecord, str]] = {}
    known: dict[str, bool] = {}
    for op in records.ops:
        if op.call is not None and op.call.index not in found:
            name = function_name(op.call)
            if name not in known:
                known[name] = framework.resolve(name) is not None
            if not known[name]:
                found[op.call.index] = (op, name or op.call.kernel)
    return list(found.values())


def function_name(call: CallRecord) -> str:
    """The name of its function that a loaded call carries."""
    kept = None if call.meta is None else call.meta.get(FUNCTION_KEY)
    return kept if isinstance(kept, str) else ""


def revived(records: Records, framework: ResolvingBackend) -> Records:
    """A copy of loaded records whose calls have functions and whose arguments are the framework's own.

    The loaded records stay as they are; saved values are shared.
    """
    return _Reviver(records, framework).records


@final
class _Reviver:
    def __init__(self, loaded: Records, framework: ResolvingBackend) -> None:
        self._framework = framework
        self._ops = [copy(op) for op in loaded.ops]
        self.records = copy_of(loaded)
        self.records.ops = self._ops
        self.records.calls = [self._call(call) for call in loaded.calls]
        for op in self._ops:
            if op.call is not None:
                op.call = self.records.calls[op.call.index]

    def _call(self, loaded: CallRecord) -> CallRecord:
        call = copy(loaded)
        call.func = self._framework.resolve(function_name(loaded))
        call.args = [self._argument(value) for value in loaded.args]
        if loaded.kwargs is not None:
            call.kwargs = {name: self._argument(value) for name, value in loaded.kwargs.items()}
        return call

    def _argument(self, value: object) -> object:
        if isinstance(value, OpRecord):
            return value if value.index < 0 else self._ops[value.index]
        if isinstance(value, AliasRead):
            base = value.base
            if isinstance(base, OpRecord) and base.index >= 0:
                base = self._ops[base.index]
            return AliasRead(base, tuple([self._ops[writer.index] for writer in value.writers]), value.value)
        if isinstance(value, FrameworkValue):
            return self._framework.revive(value)
        if isinstance(value, EnumValue):
            return Opaque(value.type_name)
        if isinstance(value, StructValue):  # as named tuples are given to functions that take tuples
            return tuple([self._argument(item) for item in value.fields.values()])
        if isinstance(value, (list, tuple)):
            items = [self._argument(item) for item in cast("Sequence[object]", value)]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, slice):
            whole = cast("slice[object, object, object]", value)
            return slice(*[self._argument(bound) for bound in (whole.start, whole.stop, whole.step)])
        if isinstance(value, Mapping):
            return {key: self._argument(item) for key, item in cast("Mapping[Any, object]", value).items()}
        return value


def copy_of(records: Records) -> Records:
    """Records that share their lists with others until one is replaced."""
    twin = Records()
    for name in type(records).__slots__:
        setattr(twin, name, getattr(records, name))
    return twin
