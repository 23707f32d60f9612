"""Rarer facts of an op, in typed groups: `op.payload`, `op.autograd`, `op.cost`, `op.distance`, `op.call`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, final

from tl_core._autograd import node_name
from tl_core._cost import tensor_bytes
from tl_core._distance import UNREACHED
from tl_core._payload import hand_out, location
from tl_core._quantity import Bytes, Duration, Flops, Macs
from tl_core._record import AliasRead, CallRecord, OpRecord, ParamRecord
from tl_core._signature import fitting
from tl_core._unsaved import absence, unavailable
from tl_core._view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tl_core._backend import OpCost
    from tl_core._op import Op
    from tl_core._payload import PayloadLocation
    from tl_core._state import State


@final
class PayloadFacet(View):
    """The saved value of an op."""

    __slots__ = ("_record", "_state")

    def __init__(self, state: State, record: OpRecord) -> None:
        self._state = state
        self._record = record

    @property
    def saved(self) -> bool:
        """Whether the value was kept."""
        return self._record.payload is not None

    @property
    def location(self) -> PayloadLocation:
        """`memory`, `disk` or `none`."""
        return location(self._record.payload)

    @property
    def size_bytes(self) -> Bytes:
        """Size of the kept value as a dense tensor; 0 where nothing was kept. Values may share memory."""
        record = self._record
        return Bytes(0 if record.payload is None else tensor_bytes(record.shape, record.dtype))

    @property
    def absence(self) -> str:
        """Why there is no value: `save='none' keeps no values`; empty where there is one, or no reason is known."""
        return "" if self.saved else absence(self._state, self._record.index).reason

    @fitting("op.payload.materialize_out")
    def materialize_out(self) -> object:
        """The kept value, read from disk where it lies there.

        Raises:
            PayloadUnavailableError: the value was not saved (code `value_not_saved`); the message says why and how
                to get it.
        """
        record = self._record
        if record.payload is None:
            raise unavailable(self._state, record.index)
        return hand_out(record.payload, self._state.info.backend)

    def __repr__(self) -> str:
        if not self.saved:
            reason = self.absence
            return f"<payload: not saved{reason and ', '}{reason}>"
        return f"<payload: {self.size_bytes} {'on' if self.location == 'disk' else 'in'} {self.location}>"


@final
class AutogradFacet(View):
    """What autograd knows of an op's output."""

    __slots__ = ("_record", "_state")

    def __init__(self, state: State, record: OpRecord) -> None:
        self._state = state
        self._record = record

    @property
    def requires_grad(self) -> bool:
        """Whether autograd follows the output."""
        return self._record.requires_grad

    @property
    def grad_fn(self) -> str | None:
        """Class name of the autograd node that made the output, such as `ReluBackward0`; known where the value was kept attached."""
        return node_name(self._record, self._state.info.backend)

    def __repr__(self) -> str:
        return f"<autograd: requires_grad={self.requires_grad}, grad_fn={self.grad_fn}>"


@final
class CostFacet(View):
    """Work and time of the function calls that made an op, or all passes of a layer; shared by all outputs of a call."""

    __slots__ = ("_calls", "_state")

    def __init__(self, state: State, calls: Sequence[CallRecord]) -> None:
        self._state = state
        self._calls = calls

    @property
    def flops(self) -> Flops | None:
        """Floating-point operations, a fused multiply-add counted as 2; None where no formula is known."""
        counts = [None if cost is None else cost.flops for cost in self._costs()]
        known = [count for count in counts if count is not None]
        return Flops(sum(known)) if known and len(known) == len(counts) else None

    @property
    def macs(self) -> Macs | None:
        """Fused multiply-adds; None where no formula is known."""
        counts = [None if cost is None else cost.macs for cost in self._costs()]
        known = [count for count in counts if count is not None]
        return Macs(sum(known)) if known and len(known) == len(counts) else None

    @property
    def duration(self) -> Duration:
        """Time inside the function, measured once; 0 for sources and outputs."""
        return Duration.from_ns(sum(call.duration_ns for call in self._calls))

    def _costs(self) -> list[OpCost | None]:
        return [self._state.cost.calls[call.index] for call in self._calls]

    def __repr__(self) -> str:
        return f"<cost: {self.duration}>"


@final
class DistanceFacet(View):
    """Hops from the model's inputs and to its outputs; None where no path leads, or where the capture left them out."""

    __slots__ = ("_index", "_state")

    def __init__(self, state: State, index: int) -> None:
        self._state = state
        self._index = index

    @property
    def min_from_input(self) -> int | None:
        """Fewest hops from an input."""
        distances = self._state.distances
        return None if distances is None else _hops(distances.from_input[0][self._index])

    @property
    def max_from_input(self) -> int | None:
        """Most hops from an input."""
        distances = self._state.distances
        return None if distances is None else _hops(distances.from_input[1][self._index])

    @property
    def min_to_output(self) -> int | None:
        """Fewest hops to an output."""
        distances = self._state.distances
        return None if distances is None else _hops(distances.to_output[0][self._index])

    @property
    def max_to_output(self) -> int | None:
        """Most hops to an output."""
        distances = self._state.distances
        return None if distances is None else _hops(distances.to_output[1][self._index])

    def __repr__(self) -> str:
        return (
            f"<distance: from input {self.min_from_input}..{self.max_from_input}, "
            f"to output {self.min_to_output}..{self.max_to_output}>"
        )


def _hops(distance: int) -> int | None:
    return None if distance == UNREACHED else distance


@final
class CallFacet(View):
    """The function call that made an op, with its arguments as a template."""

    __slots__ = ("_call", "_state")

    def __init__(self, state: State, call: CallRecord) -> None:
        self._state = state
        self._call = call

    @property
    def id(self) -> int:
        """1-based number of the call in the run."""
        return self._call.index + 1

    @property
    def name(self) -> str:
        """The function as people know it."""
        return self._call.name

    @property
    def kernel(self) -> str:
        """The function that ran below it, or the same name."""
        return self._call.kernel

    @property
    def func(self) -> Callable[..., object] | None:
        """The callable itself; None on a loaded trace."""
        return self._call.func

    @property
    def args(self) -> tuple[object, ...]:
        """Positional arguments; each tensor is replaced by its `Op` or `Param`."""
        return tuple(self._template(value) for value in self._call.args)

    @property
    def kwargs(self) -> dict[str, object]:
        """Keyword arguments; each tensor is replaced by its `Op` or `Param`."""
        return {name: self._template(value) for name, value in (self._call.kwargs or {}).items()}

    @property
    def outputs(self) -> tuple[Op, ...]:
        """The ops that the call made, in order of their position."""
        return tuple(self._state.op(index) for index in self._state.outputs_of(self._call.index))

    def _template(self, value: object) -> object:
        if isinstance(value, AliasRead):
            value = value.base
        if isinstance(value, OpRecord):
            return self._state.op(value.index) if value.index >= 0 else None
        if isinstance(value, ParamRecord):
            return self._state.param(value.index)
        if isinstance(value, list):
            return [self._template(item) for item in cast("list[object]", value)]
        if isinstance(value, tuple):
            return tuple([self._template(item) for item in cast("tuple[object, ...]", value)])
        if isinstance(value, dict):
            return {key: self._template(item) for key, item in cast("dict[object, object]", value).items()}
        if isinstance(value, slice):
            part = cast("slice[object, object, object]", value)
            return slice(self._template(part.start), self._template(part.stop), self._template(part.step))
        return value

    def __repr__(self) -> str:
        return f"<call {self.id}: {self.name}>"
