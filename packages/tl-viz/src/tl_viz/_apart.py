"""Which joins bring branches together: tensors meet that have passed different parameters, or come from different inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._functions import ATTENTION, PRODUCTS, RECURRENT
from tl_viz._plan import SIZED

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tl_core import Op

SURE = ATTENTION | PRODUCTS
"""Functions of two tensors that are no arithmetic; what one layer projects for both is still two branches."""

TABLES = frozenset({"embedding", "embedding_bag"})
"""Functions that look numbers up in a parameter, be it by a table of places that the model keeps."""

NUMBERS = ("float", "bfloat", "complex")
"""How types of numbers begin that are no indices, counts or masks."""


def apart_of(ops: list[Op], joins: dict[int, int], place: dict[str, int], carried: Collection[int]) -> frozenset[int]:
    """Return which of the ops at which tensors meet bring branches together, in any of their passes.

    What a tensor has passed is a set: of ops that compute with parameters or take what a loop carries, and of inputs of real or complex
    numbers. Branches are apart where these sets differ: an activation's own factors, those of a norm and the two halves of a
    rotated query have passed the same. What has passed nothing is no branch: a mask, an angle, a parameter in another form. A list
    of what one layer gave in each round of a loop is of one branch, too.

    Args:
        ops: every pass of every op that is drawn.
        joins: number of a layer at which tensors meet -> in how many passes.
        place: label of a layer, or of an op in an unrolled picture, -> its number.
        carried: numbers of layers that read what a loop carries; there that meets what is new.
    """
    if not any(op.params for op in ops):
        return frozenset(joins)
    found: set[int] = set()
    parents = [op.parents for op in ops]
    last = {name: index for index, names in enumerate(parents) for name in names}
    computed: set[str] = set()
    """Labels of ops that give more than what the model holds, in whatever form."""
    passed: dict[str, int] = {}
    """Label of an op that is still to be read -> what its output has passed, as bits."""
    free = 1
    for index, (op, names) in enumerate(zip(ops, parents, strict=True)):
        name, label = op.func_name, op.label
        at = place.get(label, place.get(op.layer_label, -1))
        read = [] if name in SIZED else [passed[one] for one in dict.fromkeys(names) if one in passed]
        own = 0
        for one in read:
            own |= one
        if not computed.isdisjoint(names) or name in TABLES:
            computed.add(label)
            adds = bool(op.params) or (bool(own) and at in carried)
        else:
            adds = op.kind == "input" and op.dtype.startswith(NUMBERS)
            if op.kind == "input" or (op.kind == "op" and not names and not op.params):
                computed.add(label)
        if adds:
            own |= free
            free <<= 1
        if len(names) > 1 and (_differ(read, names, sure=name in SURE or at in carried) or name in RECURRENT):
            found.add(at)
        for one in names:
            if last[one] == index:
                passed.pop(one, None)
        if own and label in last:
            passed[label] = own
    return frozenset(found & joins.keys())


def _differ(read: list[int], names: Sequence[str], *, sure: bool) -> bool:
    """Whether branches join in an op that reads tensors of some names, of which this is what those have passed that have anything."""
    if sure:
        return len(read) > 1
    return len({*read}) > 1 and len({name.partition(":")[0] for name in names}) > 1
