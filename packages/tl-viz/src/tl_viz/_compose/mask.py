"""Whether what a box makes is the mask of attention, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._functions import ATTENTION
from tl_viz._plan import VIEWS

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Tree


def is_mask(tree: Tree, branch: Branch) -> bool:
    """Whether everything that leaves a branch is read as a mask, at once or after views."""
    network, op_at = tree.network, tree.op_at
    waiting = [
        (at, reader)
        for at in range(branch.first, branch.last_end)
        for reader in tree.readers[at]
        if not branch.first <= reader < branch.last_end
    ]
    found = bool(waiting)
    while waiting and found:
        at, reader = waiting.pop()
        op = op_at[reader]
        if network.functions[op] in VIEWS and len(network.parents[op]) == 1 and tree.readers[reader]:
            waiting += [(reader, further) for further in tree.readers[reader]]
        else:
            found = network.functions[op] in ATTENTION and network.slots.get(op, {}).get(op_at[at]) == "m"
    return found
