"""Operators that ran below the recorded functions: the rows of an ATen profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, final

from msgspec import Struct

from tl_core._errors import AtenOpsUnavailableError
from tl_core._payload import materialize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._record import Records

AtenOwner = Literal["op", "read", "untracked", "alias", "none"]
"""Whose work a dispatch was: a recorded call; a read of a value (`t.item()`); a call that makes no op (`print(t)`,
`t.backward()`); nobody's, but it only looked at memory in another way; nobody's at all."""


@final
class TensorFacts(Struct, gc=False, frozen=True):
    """What a tensor looked like to an operator."""

    shape: tuple[int, ...]
    dtype: str
    """Plain name, such as `float32`."""
    device: str

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@final
class AtenOp(Struct, gc=False, eq=False):
    """One operator that the framework dispatched while the model ran."""

    sequence: int
    """Position among all dispatches of the run, from 0."""
    namespace: str
    operator: str
    """Such as `addmm`."""
    overload: str
    schema: str
    owner_status: AtenOwner
    owner_func_call_id: int | None
    """1-based number of the function call that it was part of; None where no recorded call owns it."""
    decomposition_slot: int
    """Position among the dispatches of the owner, from 0."""
    module_call_stack: tuple[str, ...]
    """Labels of the running module calls, outermost first; the model is left out."""
    input_tensor_facts: tuple[TensorFacts, ...]
    output_tensor_facts: tuple[TensorFacts, ...]
    mutation_kind: Literal["none", "in_place", "out"]
    """Whether the operator wrote one of its arguments."""
    is_view: bool
    """Whether the output shows memory of an argument."""
    outcome: Literal["returned", "raised"]
    exception_type: str | None
    payload: object = None
    """What `out` reads; on a loaded trace it lies on disk."""

    @property
    def out(self) -> object:
        """Its (first) output as a detached snapshot, where values were asked for and payloads stay in memory."""
        return materialize(self.payload)

    @property
    def label(self) -> str:
        """Such as `aten::addmm.default#7`."""
        return f"{self.namespace}::{self.operator}.{self.overload}#{self.sequence}"

    def __repr__(self) -> str:
        owner = self.owner_status if self.owner_func_call_id is None else f"call {self.owner_func_call_id}"
        return f"<{self.label} {list(self.input_tensor_facts)} -> {list(self.output_tensor_facts)}, {owner}>"


def aten_rows(records: Records) -> Sequence[AtenOp]:
    """Rows of the profile.

    Raises:
        AtenOpsUnavailableError: none was recorded.
    """
    if records.aten is None:
        raise AtenOpsUnavailableError(
            "This trace has no ATen profile: operators below the recorded functions are noted on request only.",
            code="aten_ops_unavailable",
            remedy="trace with capture=tl.CaptureOptions(aten_ops=True), or ask trace.has_aten_ops first",
        )
    return records.aten
