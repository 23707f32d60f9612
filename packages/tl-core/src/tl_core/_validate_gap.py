"""What capture knows that it did not see, and what to do about each kind of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_core._validate_finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_core._record import Records

UNACCOUNTED = "unaccounted_dispatch"
"""Reason of the gap that a census of dispatched operators leaves."""

_REGISTER = "register the tensor with register_buffer, pass it as an input, or create it inside forward"
_SEEN = (
    "with torch functions that capture sees: torch.tensor or torch.as_tensor in place of torch.from_numpy and its like"
)
REMEDIES = {
    UNACCOUNTED: (
        "register C++ functions with TORCH_LIBRARY and call them through torch.ops, or use the public function of torch "
        "in their place"
    ),
    "unseen_source": f"{_REGISTER} {_SEEN}",
    "held_tensor_scan_truncated": f"{_REGISTER} {_SEEN}; what the model holds has to be readable and not nested deeply",
    "unseen_write": "write with functions of torch on the thread that runs the model",
    "owner_thread_tripwire_changed": "keep tensor work on the thread that runs the model",
    "scripted_function_not_captured": "set PYTORCH_JIT=0 before the code of the model is imported",
    "transform_call_route_unverified": "trace the plain function in the place of its transform",
    "dynamo_region_not_logged": "leave the compiler switched on: a higher-order operator needs it to show what it reads",
    "cuda_graph_capture": "trace an eager copy of the model, outside the capture of a graph",
}
"""What to do about a gap, by its reason."""


def gap_findings(records: Records, unaccounted: str) -> Iterator[Finding]:
    """What capture knows that it did not see, and dispatched work that no op accounts for.

    Args:
        records: a run.
        unaccounted: what a census of dispatched operators found no owner for, if it found more than one operator.
    """
    gaps = records.gaps
    if not gaps and not unaccounted:
        return
    reasons = {gap.reason for gap in gaps}
    if unaccounted:
        reasons.add(UNACCOUNTED)
    messages = [*([unaccounted] if unaccounted else ()), *(gap.message for gap in gaps)]
    first = min((gap for gap in gaps if gap.op >= 0), key=lambda gap: gap.op, default=None)
    shown = gaps[0] if first is None and gaps else first
    message = unaccounted if unaccounted or shown is None else shown.message
    remedy = REMEDIES.get(UNACCOUNTED if unaccounted or shown is None else shown.reason, _REGISTER)
    yield Finding(
        -1 if first is None else first.op,
        "bfs_completeness" if unaccounted else "source_provenance",
        f"{message} What to do: {remedy}.",
        extra={"reasons": sorted(reasons), "n_gaps": len(messages), "gaps": messages},
    )
