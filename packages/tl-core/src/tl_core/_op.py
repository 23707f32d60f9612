"""One tensor of a run, as its reader sees it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Never, final

from tl_core._absent import absent
from tl_core._aten import aten_rows
from tl_core._cost import tensor_bytes
from tl_core._errors import MutatedReferenceError
from tl_core._facet import AutogradFacet, CallFacet, CostFacet, DistanceFacet, PayloadFacet
from tl_core._grid import printable
from tl_core._op_facts import OpFacts
from tl_core._payload import hand_out
from tl_core._quantity import Bytes
from tl_core._signature import fitting
from tl_core._source import Source

if TYPE_CHECKING:
    from tl_core._aten import AtenOp
    from tl_core._record import OpRecord
    from tl_core._state import State

_BRACKETS = re.compile(r"\[['\"]?(.*?)['\"]?\]")


@final
class Op(OpFacts):
    """One output tensor of one function call, or an input, buffer, constant or output of the model.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> op = tl.trace(torch.nn.Linear(4, 2), torch.ones(3, 4)).ops["linear_1_1:1"]
        >>> op.shape, op.parents, op.params
        ((3, 2), ('input_1:1',), ('weight', 'bias'))
    """

    # In this order Python lets go of them. The record first: the list of ops then still holds the records and values
    # before it, and frees them one by one, last first. A chain of 100,000 values that only its end held would be freed
    # by recursion, by torch too.
    __slots__ = ("__weakref__", "_record", "_state")

    def __init__(self, state: State, record: OpRecord) -> None:
        self._state = state
        self._record = record

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Never:
            raise absent(self, "op", name)

    # names

    @property
    def label(self) -> str:
        """Label with the pass: `conv2d_3_7:2`."""
        return self._state.labels.op(self._record.index)

    @property
    def layer_label(self) -> str:
        """Label of the layer: `conv2d_3_7`."""
        return self._state.labels.layer(self._state.grouping.layer_of[self._record.index])

    @property
    def label_short(self) -> str:
        """Label without the position among compute layers: `conv2d_3:2`."""
        return self._state.labels.short_op(self._record.index)

    # the tensor

    @property
    def size_bytes(self) -> Bytes:
        """Size as a dense tensor, whether it was kept or not."""
        return Bytes(tensor_bytes(self._record.shape, self._record.dtype))

    @property
    def out(self) -> object:
        """The saved value; None where it was not kept (`op.payload` says why). What you write into it stays yours."""
        self._state.require_open()
        try:
            return hand_out(self._record.payload, self._state.info.backend)
        except MutatedReferenceError as error:
            raise MutatedReferenceError(
                f"The value of {self.label!r} is the model's own tensor, and that was written after it was recorded.",
                code=error.code,
                remedy=error.remedy,
                label=self.label,
                **error.fields,
            ) from None

    # the graph

    @property
    def parents(self) -> tuple[str, ...]:
        """Labels of the ops that it was computed from, in argument order."""
        name = self._state.labels.op
        return tuple([name(parent) for parent in self._record.parents])

    @property
    def children(self) -> tuple[str, ...]:
        """Labels of the ops that were computed from it, in execution order."""
        name = self._state.labels.op
        return tuple([name(child) for child in self._state.edges.children(self._record.index)])

    @fitting("op.ancestors")
    def ancestors(self) -> tuple[str, ...]:
        """Labels of all ops that it depends on, in execution order."""
        name = self._state.labels.op
        return tuple([name(op) for op in self._state.edges.upstream(self._record.index)])

    @fitting("op.descendants")
    def descendants(self) -> tuple[str, ...]:
        """Labels of all ops that depend on it, in execution order."""
        name = self._state.labels.op
        return tuple([name(op) for op in self._state.edges.downstream(self._record.index)])

    # the model

    @property
    def params(self) -> tuple[str, ...]:
        """Addresses of the parameters that the call read, or that an output of the model is."""
        params = self._state.records.params
        return tuple([params[index].address for index in self._record.params])

    # recurrence

    @property
    def pass_number(self) -> int:
        """1-based pass of the layer."""
        return self._state.grouping.pass_of[self._record.index]

    @property
    def num_passes(self) -> int:
        """Number of passes of the layer."""
        grouping = self._state.grouping
        return grouping.size(grouping.layer_of[self._record.index])

    @property
    def recurrent_ops(self) -> tuple[str, ...]:
        """Labels of all passes of the layer, this one included."""
        grouping = self._state.grouping
        layer = grouping.layer_of[self._record.index]
        label = self._state.labels.layer(layer)
        return tuple([f"{label}:{number}" for number in range(1, grouping.size(layer) + 1)])

    # what it is

    @property
    def is_input(self) -> bool:
        """Whether it came in as an argument of the model."""
        return self._record.kind == "input"

    @property
    def is_output(self) -> bool:
        """Whether it stands for a tensor that the model returned."""
        return self._record.kind == "output"

    @property
    def is_buffer(self) -> bool:
        """Whether it is a registered buffer as it was read."""
        return self._record.kind == "buffer"

    @property
    def is_constant(self) -> bool:
        """Whether it existed before the run and is neither input, parameter nor buffer."""
        return self._record.kind == "constant"

    @property
    def is_edited(self) -> bool:
        """Whether an intervention replaced its value."""
        return self._fact("is_edited") is True

    @property
    def transform_kind(self) -> str | None:
        """Transform that the call went through, such as `vmap` or `autograd.grad`; None for ordinary calls."""
        kind = self._fact("transform_kind")
        return kind if isinstance(kind, str) else None

    def _fact(self, name: str) -> object:
        call = self._record.call
        return None if call is None or call.meta is None else call.meta.get(name)

    @property
    def io_role(self) -> str:
        """`input.x`, `output.0.logits`; empty for everything inside."""
        record = self._record
        if record.kind != "input" and record.kind != "output":
            return ""
        path = _BRACKETS.sub(r".\1", record.address).strip(".")
        return f"{record.kind}.{path}" if path else record.kind

    # groups of rarer facts

    @property
    def source(self) -> Source | None:
        """Where in the user's code the call stands; None for sources, outputs and calls without user code."""
        call = self._record.call
        return Source(call.frames) if call is not None and call.frames else None

    @property
    def payload(self) -> PayloadFacet:
        """The saved value: whether, where, how large."""
        return PayloadFacet(self._state, self._record)

    @property
    def autograd(self) -> AutogradFacet:
        """What autograd knows of it."""
        return AutogradFacet(self._state, self._record)

    @property
    def cost(self) -> CostFacet:
        """Work and time of the call that made it."""
        call = self._record.call
        return CostFacet(self._state, () if call is None else (call,))

    @property
    def distance(self) -> DistanceFacet:
        """Hops from the inputs and to the outputs."""
        return DistanceFacet(self._state, self._record.index)

    @property
    def call(self) -> CallFacet | None:
        """The function call with its arguments; None for sources and outputs."""
        call = self._record.call
        return None if call is None else CallFacet(self._state, call)

    @property
    def aten_ops(self) -> tuple[AtenOp, ...]:
        """The operators that its call dispatched, in order; empty for sources and outputs.

        Raises:
            AtenOpsUnavailableError: the run did not note them.
        """
        rows = aten_rows(self._state.records)
        call = self._record.call
        return () if call is None else tuple([row for row in rows if row.owner_func_call_id == call.index + 1])

    def __repr__(self) -> str:
        record = self._record
        where = f" in {self.module}" if self.module else ""
        if record.call is None and record.address:
            where = f" at {record.address}"
        parents = ", ".join(self.parents[:3]) + (", ..." if len(record.parents) > 3 else "")
        origin = f" from {parents}" if parents else ""
        unsaved = ", not saved" if record.payload is None else ""
        return printable(f"<Op {self.label}: {self.dtype}{list(record.shape)}{where}{origin}{unsaved}>")
