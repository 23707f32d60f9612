"""What an op is called that reads parameters itself, and not as the only op of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._compose.address import seen_from
from tl_viz._names import address_range, shape_text, summary

if TYPE_CHECKING:
    from tl_viz._compose.around import Around
    from tl_viz._plan import Branch, Tree

PLAIN = frozenset(["weight", "bias"])
"""Names of parameters that say nothing beside the name of their owner."""

NAMED = 2
"""Up to so many parameters of different owners are named in a title."""


def reader_names(tree: Tree, branch: Branch, around: Around, function: str) -> tuple[str, str]:
    """Return the title of an op, and what its next line says of its parameters: those that it reads name it.

    `add pos_embed` reads one; an op that reads several of one owner bears the name of the owner, as `qkv`.

    Args:
        tree: the network.
        branch: the op, with the views that belong to it.
        around: what stands around it.
        function: the name of its function, with the part that it takes: `getitem [0]` is titled `getitem table [0]`.
    """
    network = tree.network
    read = _addresses(tree, branch, 0)
    last = _addresses(tree, branch, around.last_of(branch))
    if len(last) != len(read):
        last = read
    frame = around.frame
    names = [
        address_range(seen_from(one, one, frame), seen_from(other, one, frame))
        for one, other in zip(read, last, strict=True)
    ]
    called, space, part = function.partition(" ")
    if len(names) == 1:
        shape = shape_text(network.extents.get(read[0]))
        return f"{called} {names[0]}{space}{part}", f"parameter {shape}" if shape else ""
    owners = {name.rpartition(".")[0] for name in names}
    if len(owners) == 1 and owners != {""}:
        own = [name.rpartition(".")[2] for name in names]
        held = "" if PLAIN.issuperset(own) else f" {summary(own, most=NAMED)}"
        return owners.pop(), f"{function}{held}"
    if 0 < len(names) <= NAMED:
        return f"{called} {', '.join(names)}{space}{part}", ""
    return function, summary(names, most=NAMED)


def _addresses(tree: Tree, branch: Branch, shift: int) -> list[str]:
    """Return the parameters that an op reads, and the views before it, in the copy that stands so far from the first."""
    network = tree.network
    ops = [child.op for child in branch.children] or [branch.op]  # a view of a parameter belongs to what reads it
    places = [tree.op_at[tree.place[op] + shift] for op in ops]
    return list(dict.fromkeys([address for op in places for address in network.weights.get(op, ())]))
