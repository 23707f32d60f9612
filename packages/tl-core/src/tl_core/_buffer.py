"""A buffer of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tl_core._cost import plain_dtype, tensor_bytes
from tl_core._quantity import Bytes

if TYPE_CHECKING:
    from tl_core._op import Op
    from tl_core._record import BufferRecord
    from tl_core._state import State


@final
class Buffer:
    """One registered buffer of a module, such as the running mean of a batch norm."""

    __slots__ = ("__weakref__", "_record", "_state")

    def __init__(self, state: State, record: BufferRecord) -> None:
        self._state = state
        self._record = record

    @property
    def address(self) -> str:
        """First dotted path from the model: `bn1.running_mean`."""
        return self._record.address

    @property
    def addresses(self) -> tuple[str, ...]:
        """All dotted paths to the same tensor."""
        return (self._record.address, *self._record.aliases)

    @property
    def index(self) -> int:
        """Position among the buffers of the model, from 0."""
        return self._record.index

    @property
    def module(self) -> str:
        """Address of the module that owns it."""
        return self._record.address.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Name within its module: `running_mean`."""
        return self._record.address.rpartition(".")[2]

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the tensor."""
        return self._record.shape

    @property
    def dtype(self) -> str:
        """Plain name, such as `float32`."""
        return plain_dtype(self._record.dtype)

    @property
    def device(self) -> str:
        """Such as `cpu` or `cuda:0`."""
        return str(self._record.device)

    @property
    def size_bytes(self) -> Bytes:
        """Size of the tensor."""
        return Bytes(tensor_bytes(self._record.shape, self._record.dtype))

    @property
    def value(self) -> object:
        """The live buffer as it is now; None when the model is gone, and on a loaded trace."""
        reference = self._record.reference
        return None if reference is None else reference()

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
        return f"<Buffer {self.address}: {self.dtype}{list(self.shape)}>"
