"""A parameter of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tl_core._grid import printable
from tl_core._record import ParamRecord
from tl_core._state_tensor import StateTensor

if TYPE_CHECKING:
    from tl_core._op import Op


@final
class Param(StateTensor[ParamRecord]):
    """One parameter tensor; tied weights are one parameter with several addresses."""

    __slots__ = ()

    @property
    def requires_grad(self) -> bool:
        """Whether it was trainable when the run began."""
        return self._record.requires_grad

    @property
    def ops(self) -> tuple[Op, ...]:
        """The ops that read it, and the outputs of the model that it is."""
        index = self._record.index
        return tuple([self._state.op(op.index) for op in self._state.records.ops if index in op.params])

    def __repr__(self) -> str:
        frozen = "" if self.requires_grad else ", frozen"
        tied = f", tied to {', '.join(self._record.aliases)}" if self._record.aliases else ""
        return printable(f"<Param {self.address}: {self.dtype}{list(self.shape)}{frozen}{tied}>")
