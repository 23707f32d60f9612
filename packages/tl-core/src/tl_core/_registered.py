"""What modules, parameters and buffers have in common: they are registered on the model under an address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from tl_core._record import BufferRecord, ModuleRecord, ParamRecord
from tl_core._view import View

if TYPE_CHECKING:
    from tl_core._state import State

R = TypeVar("R", ParamRecord, BufferRecord, ModuleRecord)


class Registered(View, Generic[R]):
    """Something that the model holds by name: base of `Module`, `Param` and `Buffer`."""

    __slots__ = ("__weakref__", "_record", "_state")

    def __init__(self, state: State, record: R) -> None:
        self._state = state
        self._record = record

    @property
    def address(self) -> str:
        """First dotted path from the model, such as `layer1.0.conv1.weight`; the model itself is the empty string."""
        return self._record.address

    @property
    def addresses(self) -> tuple[str, ...]:
        """All dotted paths to the same object."""
        return (self._record.address, *self._record.aliases)

    @property
    def index(self) -> int:
        """Position among those of its kind, as they are registered on the model, from 0."""
        return self._record.index

    @property
    def name(self) -> str:
        """Name within the module that holds it: `weight`."""
        return self._record.address.rpartition(".")[2]
