"""What a predicate sees of an op: its metadata, never its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, final

if TYPE_CHECKING:
    from tl_core._record import ModuleCallRecord, OpKind, OpRecord


def label_type(name: str) -> str:
    """Spelling of a function name in labels: lower case, no underscores."""
    return name.lower().replace("_", "")


def call_label(call: ModuleCallRecord) -> str:
    """Label of a module call, such as `layer1.0:2`."""
    return f"{call.module.address}:{call.number}"


@final
class OpContext:
    """Read-only metadata of one op, as a predicate sees it during a run or on a finished trace.

    The attributes have the names that `Op` gives them. What is known only after the run (label, layer, pass,
    children) is not here, and neither is the value.
    """

    __slots__ = ("_record",)
    _record: OpRecord

    def __init__(self, record: OpRecord) -> None:
        object.__setattr__(self, "_record", record)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an OpContext is read-only; {name!r} cannot be set")

    def __getattr__(self, name: str) -> Never:
        known = ", ".join(key for key in vars(OpContext) if not key.startswith("_"))
        raise AttributeError(
            f"A predicate sees no {name!r}: labels, values and what comes later are unknown while a run is recorded. "
            f"It sees {known}."
        )

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
        return label_type(self.func_name)

    @property
    def is_inplace(self) -> bool:
        """Whether the call wrote into one of its arguments."""
        call = self._record.call
        return call is not None and call.inplace

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
        stack: list[str] = []
        call = self._record.module
        while call is not None:
            if call.module.address:
                stack.append(call_label(call))
            call = call.parent
        return tuple(reversed(stack))

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the output tensor."""
        return self._record.shape

    @property
    def dtype(self) -> str:
        """Plain name, such as `float32`."""
        return str(self._record.dtype).rpartition(".")[2]

    @property
    def device(self) -> str:
        """Such as `cpu` or `cuda:0`."""
        return str(self._record.device)

    @property
    def requires_grad(self) -> bool:
        """Whether autograd follows the output."""
        return self._record.requires_grad

    @property
    def output_index(self) -> int:
        """Which tensor of the call's output it is, from 0."""
        return self._record.position

    @property
    def func_call_id(self) -> int:
        """1-based number of the function call; 0 for sources and outputs."""
        call = self._record.call
        return 0 if call is None else call.index + 1

    @property
    def parent_indices(self) -> tuple[int, ...]:
        """Indices of the ops that it was computed from."""
        return self._record.parents

    @property
    def address(self) -> str:
        """Where a source or output lives (`x`, `bn.running_mean`); empty for computed ops."""
        return self._record.address

    def __repr__(self) -> str:
        place = f" in {self.module}" if self.module else ""
        return f"<OpContext {self.index}: {self.func_name} {self.dtype}{list(self.shape)}{place}>"
