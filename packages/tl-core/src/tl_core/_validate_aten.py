"""The values of an ATen profile against those of the ops that own them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_core._payload import materialize
from tl_core._validate_finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_core._aten import AtenOp
    from tl_core._record import OpRecord, Records
    from tl_core._replay import Examiner


def aten_findings(records: Records, examiner: Examiner) -> Iterator[Finding]:
    """Ops whose value is not the one that the last operator of their call gave.

    Only calls with one output are compared. A call may do more after its output is there; then one of its earlier
    operators has to have given it.
    """
    rows: dict[int, list[AtenOp]] = {}
    for row in records.aten or ():
        if row.owner_func_call_id is not None and row.payload is not None:
            rows.setdefault(row.owner_func_call_id, []).append(row)
    if not rows:
        return
    made: dict[int, list[OpRecord]] = {}
    for op in records.ops:
        if op.call is not None:
            made.setdefault(op.call.index + 1, []).append(op)
    for number, own in rows.items():
        outputs = made.get(number, [])
        if len(outputs) != 1:
            continue
        op, last = outputs[0], own[-1]
        value, dispatched = materialize(op.payload), last.out
        if value is None or examiner.describe(value) != examiner.describe(dispatched):
            continue
        if any(examiner.same(value, row.out) for row in reversed(own)):
            continue
        difference = examiner.difference(value, dispatched, 1)
        if difference is not None:
            message = f"it is not the value that {last.label} gave: {difference.message}"
            yield Finding(op.index, "aten_values_consistent", message, difference, value, dispatched)
