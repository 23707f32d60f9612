"""How many experts a module holds whose weights stand in one tensor each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Tree


def experts_text(tree: Tree, branch: Branch) -> str:
    """Return `8 experts` for a module of experts; an empty string for any other, or where their number is not plain.

    Its class says what it holds, the first sizes of all its parameters agree, and some op of the run chooses among so many.
    """
    network = tree.network
    call = network.calls[branch.call]
    if not call.class_name.endswith("Experts"):
        return ""
    read = {name for at in range(branch.first, branch.end) for name in network.weights.get(tree.op_at[at], ())}
    own = [
        network.extents[name] for name in read if name.rpartition(".")[0] == call.address and name in network.extents
    ]
    numbers = {shape[0] if len(shape) > 1 else 0 for shape in own}
    if len(own) < 2 or len(numbers) > 1:
        return ""
    number = numbers.pop()
    chosen = any(
        text.endswith(f" of {number}") for op, text in network.details.items() if network.functions[op] == "topk"
    )
    return f"{number} experts" if chosen and number > 1 else ""
