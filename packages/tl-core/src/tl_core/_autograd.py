"""What autograd followed during a run."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol, final, runtime_checkable

from tl_core._backend import backend, backend_entry_points
from tl_core._payload import DeferredPayload
from tl_core._view import View

if TYPE_CHECKING:
    from tl_core._op import Op
    from tl_core._record import OpRecord
    from tl_core._state import State


@runtime_checkable
class DifferentiatingBackend(Protocol):
    """A backend whose kept values stay attached to the graph that made them."""

    def node_name(self, value: object) -> str | None:
        """Class name of the autograd node that made the tensor of which `value` is a copy; None where none did."""
        ...


@cache
def _differentiating(backend_name: str) -> DifferentiatingBackend | None:
    found = backend(backend_name) if backend_name in backend_entry_points() else None
    return found if isinstance(found, DifferentiatingBackend) else None


def node_name(record: OpRecord, backend_name: str) -> str | None:
    """Class name of the autograd node that made an op's output; None where none did, or no attached value was kept.

    The name is looked up when it is asked for: torch keeps a wrapper for each node that was looked at, which on a long
    run costs the garbage collector as much as the recording.
    """
    if record.grad_fn is not None or not record.requires_grad or record.kind != "op":
        return record.grad_fn
    if record.payload is None or isinstance(record.payload, DeferredPayload):
        return None
    differentiating = _differentiating(backend_name)
    return None if differentiating is None else differentiating.node_name(record.payload)


@final
class TraceAutograd(View):
    """Autograd's view of a run: `trace.autograd`."""

    __slots__ = ("_state",)

    def __init__(self, state: State) -> None:
        self._state = state

    @property
    def grad_enabled(self) -> bool:
        """Whether gradients were on when the run began."""
        return self._state.info.grad_enabled

    @property
    def ops(self) -> tuple[Op, ...]:
        """The ops whose outputs require a gradient."""
        return tuple([self._state.op(op.index) for op in self._state.records.ops if op.requires_grad])

    def __repr__(self) -> str:
        return f"<autograd: {'on' if self.grad_enabled else 'off'}, {len(self.ops)} ops require a gradient>"
