"""A buffer of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tl_core._grid import printable
from tl_core._record import BufferRecord
from tl_core._state_tensor import StateTensor

if TYPE_CHECKING:
    from tl_core._op import Op


@final
class Buffer(StateTensor[BufferRecord]):
    """One registered buffer of a module, such as the running mean of a batch norm."""

    __slots__ = ()

    @property
    def ops(self) -> tuple[Op, ...]:
        """The `buffer` ops of the run, one each time it was read anew; empty when it was not read."""
        addresses = self.addresses
        return tuple(
            [
                self._state.op(op.index)
                for op in self._state.records.ops
                if op.kind == "buffer" and op.address in addresses
            ]
        )

    def __repr__(self) -> str:
        return printable(f"<Buffer {self.address}: {self.dtype}{list(self.shape)}>")
