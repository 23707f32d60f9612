"""What autograd followed during a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from tl_core._op import Op
    from tl_core._state import State


@final
class TraceAutograd:
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
