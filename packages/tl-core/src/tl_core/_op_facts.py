"""What is known of an op from the moment it appears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_core._cost import plain_dtype
from tl_core._spelling import module_stack, type_name
from tl_core._view import View

if TYPE_CHECKING:
    from tl_core._record import OpKind, OpRecord


class OpFacts(View):
    """The facts of an op that a running capture knows as well as a finished trace: base of `Op` and `OpContext`."""

    __slots__ = ()
    _record: OpRecord

    @property
    def index(self) -> int:
        """Position in execution order, from 0."""
        return self._record.index

    @property
    def kind(self) -> OpKind:
        """`input`, `buffer`, `constant`, `op` or `output`."""
        return self._record.kind

    @property
    def func_name(self) -> str:
        """The function as people know it (`relu`, `add_`); the kind for sources and outputs."""
        call = self._record.call
        return self._record.kind if call is None else call.name

    @property
    def type(self) -> str:
        """The function in the spelling of labels: `batchnorm` for `batch_norm`."""
        call = self._record.call
        return self._record.kind if call is None else type_name(call.name)

    @property
    def func_call_id(self) -> int:
        """1-based number of the function call; 0 for sources and outputs. Outputs of one call share it."""
        call = self._record.call
        return 0 if call is None else call.index + 1

    @property
    def output_index(self) -> int:
        """Which tensor of the call's output it is, from 0."""
        return self._record.position

    @property
    def is_inplace(self) -> bool:
        """Whether the call wrote into one of its arguments."""
        call = self._record.call
        return call is not None and call.inplace

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
    def requires_grad(self) -> bool:
        """Whether autograd follows the tensor."""
        return self._record.requires_grad

    @property
    def parent_indices(self) -> tuple[int, ...]:
        """Positions of the ops that it was computed from."""
        return self._record.parents

    @property
    def module(self) -> str:
        """Address of the innermost running module; empty in the model itself and outside all modules."""
        call = self._record.module
        return "" if call is None else call.module.address

    @property
    def module_class(self) -> str:
        """Class name of the innermost running module; empty outside all modules."""
        call = self._record.module
        return "" if call is None else call.module.class_name

    @property
    def modules(self) -> tuple[str, ...]:
        """Labels of the running module calls, outermost first: `("encoder:1", "encoder.0:1")`; the model is left out."""
        return module_stack(self._record.module)

    @property
    def address(self) -> str:
        """Where a source or output lives (`x`, `bn.running_mean`, `[0].logits`); empty for computed ops."""
        return self._record.address
