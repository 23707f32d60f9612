"""What parameters and buffers have in common."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Never, TypeVar

from tl_core._absent import absent
from tl_core._cost import plain_dtype, tensor_bytes
from tl_core._quantity import Bytes
from tl_core._record import BufferRecord, ParamRecord
from tl_core._registered import Registered

R = TypeVar("R", ParamRecord, BufferRecord)


class StateTensor(Registered[R]):
    """A tensor that a module of the model holds by name: base of `Param` and `Buffer`."""

    __slots__ = ()

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Never:
            raise absent(self, type(self).__name__.lower(), name)

    @property
    def module(self) -> str:
        """Address of the module that owns it."""
        return self._record.address.rpartition(".")[0]

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
