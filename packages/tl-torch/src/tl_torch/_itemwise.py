"""Calls that do the same to every item of lists: an output depends on the items at its own place."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from tl_core import ITEMWISE_KEY, itemwise_parents
from tl_torch._ledger import NO_STORAGE
from tl_torch._structure import tensors_in
from tl_torch._torch_private import storage_key, torch_function_disabled
from tl_torch._writes import Region, overlap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import torch

    from tl_core import TraceBuilder
    from tl_torch._function_table import FunctionInfo


def itemwise(builder: TraceBuilder, info: FunctionInfo, args: Sequence[Any], run: Callable[[], Any]) -> Any:
    """Record a call through `run`, and leave each output the parents at its own place.

    Where the call writes items that overlap, each may depend on all of them.
    """
    with torch_function_disabled():
        tangled = info.undeclared is not None and _overlapping([tensor for _, tensor in tensors_in(args[:1])])
    before = len(builder.ops)
    result = run()
    for op in builder.ops[before:]:
        if op.call is None:  # a buffer or constant that the call was the first to read
            continue
        if not tangled:
            op.parents = itemwise_parents(op)
        elif op.call.meta is not None:
            op.call.meta.pop(ITEMWISE_KEY, None)
    return result


def _overlapping(items: Iterable[torch.Tensor]) -> bool:
    """Whether two tensors show the same bytes; True where that cannot be told."""
    regions: dict[int, list[Region]] = {}
    try:
        for item in items:
            regions.setdefault(storage_key(item), []).append(Region(item))
    except NO_STORAGE:
        return True
    return any(overlap(*pair) for shared in regions.values() for pair in combinations(shared, 2))
