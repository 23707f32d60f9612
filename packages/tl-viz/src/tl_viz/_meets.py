"""Which ops read several tensors that the run computed: there branches join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._plan import SIZED, SMALL, SPLICED

if TYPE_CHECKING:
    from tl_core import Op

UNCOUNTED = frozenset({"buffer", "constant"})
"""What is kept in the model is no branch, even where it is drawn."""


def meets_of(ops: list[Op], place: dict[str, int], *, views: bool) -> dict[int, int]:
    """Return number of a layer -> in how many of its passes it reads two or more tensors. Parameters, buffers and constants do not count.

    Args:
        ops: every pass of every op that is drawn.
        place: label of a layer, or of an op in an unrolled picture, -> its number.
        views: whether views may stand in the box of what they lead to; one of a parameter is then that parameter.
    """
    given = {op.label for op in ops if op.kind not in UNCOUNTED}
    if views and len(place) > SMALL:
        given -= _learned_views(ops, given)
    found: dict[int, int] = {}
    for op in ops:
        parents = op.parents
        if len(parents) < 2 or op.kind != "op" or op.func_name in SIZED:
            continue
        if len({name for name in parents if name in given}) > 1:
            at = place.get(op.label, place.get(op.layer_label, -1))
            found[at] = found.get(at, 0) + 1
    return found


def _learned_views(ops: list[Op], given: set[str]) -> set[str]:
    """Return labels of views of parameters that one op of the same module alone reads."""
    found: dict[str, Op] = {}
    for op in ops:
        if op.func_name.strip("_") in SPLICED and op.kind == "op":
            computed = [name for name in op.parents if name in given and name not in found]
            if not computed and (op.params or any(name in found for name in op.parents)):
                found[op.label] = op
    readers: dict[str, list[Op]] = {label: [] for label in found}
    if found:
        for op in ops:
            for name in op.parents:
                if name in readers:
                    readers[name].append(op)
    return {label for label, by in readers.items() if len(by) == 1 and by[0].modules == found[label].modules}
