"""What parameters and buffers have in common."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Generic, TypeVar

from tl_core._cost import plain_dtype, tensor_bytes
from tl_core._quantity import Bytes
from tl_core._record import BufferRecord, ParamRecord

if TYPE_CHECKING:
    from tl_core._state import State

R = TypeVar("R", ParamRecord, BufferRecord)


class StateTensor(Generic[R]):
    """A tensor that a module of the model holds by name: base of `Param` and `Buffer`."""

    __slots__ = ("__weakref__", "_record", "_state")

    def __init__(self, state: State, record: R) -> None:
        self._state = state
        self._record = record

    @property
    def address(self) -> str:
        """First dotted path from the model: `layer1.0.conv1.weight`."""
        return self._record.address

    @property
    def addresses(self) -> tuple[str, ...]:
        """All dotted paths to the same tensor."""
        return (self._record.address, *self._record.aliases)

    @property
    def index(self) -> int:
        """Position among the parameters, or among the buffers, of the model, from 0."""
        return self._record.index

    @property
    def module(self) -> str:
        """Address of the module that owns it."""
        return self._record.address.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Name within its module: `weight`."""
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
    def size(self) -> int:
        """Number of scalars."""
        return prod(self._record.shape)

    @property
    def size_bytes(self) -> Bytes:
        """Size of the tensor."""
        return Bytes(tensor_bytes(self._record.shape, self._record.dtype))

    @property
    def value(self) -> object:
        """The live tensor as it is now; None when the model is gone, and on a loaded trace."""
        reference = self._record.reference
        return None if reference is None else reference()
