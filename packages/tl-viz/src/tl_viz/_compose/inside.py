"""What a closed box says that it holds: what matters most comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._functions import ATTENTION, PRODUCTS
from tl_viz._names import shape_text
from tl_viz._plan import CONTAINERS, VIEWS

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Tree

MOVES = VIEWS | frozenset(
    [
        "getitem", "setitem", "arange", "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like",
        "new_zeros", "new_ones", "new_empty", "new_full", "tensor", "double", "int", "long", "bool", "copy_",
    ]
)  # fmt: skip
"""Functions that make, move or cast numbers without computing any."""

HELD, ATTENDS, MULTIPLIES, JOINS, OTHER, MOVING = range(6)


def inside(tree: Tree, branch: Branch) -> list[str]:
    """Return what a closed branch holds, by the kinds of its children, each as often as it is there.

    First what holds parameters, then attention, products of matrices, what joins two tensors, and the rest, of both the most
    frequent first; last what only moves numbers.
    """
    kinds = _Kinds(tree)
    if branch.children:
        kinds.add(branch, 1)
    else:
        for at in range(branch.first, branch.end):
            kinds.add_op(tree.op_at[at], 1)
    rank, numbers = kinds.rank, kinds.numbers
    order = sorted(numbers, key=lambda name: (rank[name], -numbers[name] if rank[name] >= JOINS else 0))
    return [name for name in order for _ in range(numbers[name])]


def own_params(tree: Tree, branch: Branch) -> list[str]:
    """Return names of parameters that a closed module hands on in another form, so that no op inside is seen to hold them."""
    network = tree.network
    if branch.kind != "module":
        return []
    found: dict[str, None] = {}
    for at in range(branch.first, branch.end):
        op = tree.op_at[at]
        if network.functions[op] in MOVES and network.params[op] and network.module_of[op] == branch.call:
            found |= dict.fromkeys(network.weights.get(op, ()))
    names = {address: address.rpartition(".")[2] for address in found}
    return [
        f"{name} {shape_text(network.extents.get(address))}".rstrip()
        for address, name in names.items()
        if name not in {"weight", "bias"}
    ]


class _Kinds:
    """How many there are of each kind, and how much each matters."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.numbers: dict[str, int] = {}
        self.rank: dict[str, int] = {}
        self.calls: set[int] = set()

    def add(self, branch: Branch, copies: int) -> None:
        """Count what stands in a branch, which is there so many times."""
        network = self.tree.network
        for child in branch.children:
            name = network.calls[child.call].class_name if child.call >= 0 else ""
            if name and not (name in CONTAINERS and child.children):
                op_at = self.tree.op_at
                held = any(network.learned[op_at[at]] for at in range(child.first, child.end))
                self._count(name, HELD if held else OTHER, copies * child.copies)
            elif child.kind == "function":
                self._count(f"{child.name}()", JOINS, copies * child.copies)
            elif child.kind == "op":
                self.add_op(child.op, copies * child.copies)
            else:
                self.add(child, copies * child.copies)

    def add_op(self, op: int, copies: int) -> None:
        """Count an op; outputs of one call count once."""
        network = self.tree.network
        call = network.made_by[op] if network.made_by else 0
        if call and call in self.calls:
            return
        self.calls.add(call)
        several = op in network.outputs
        self._count(network.functions[op], self._rank_of(op), 1 if several else copies)

    def _rank_of(self, op: int) -> int:
        network = self.tree.network
        name = network.functions[op]
        if name in MOVES:
            return MOVING
        if network.learned[op]:
            return HELD
        if name in ATTENTION:
            return ATTENDS
        if name in PRODUCTS:
            return MULTIPLIES
        return JOINS if len(network.parents[op]) > 1 else OTHER

    def _count(self, name: str, rank: int, number: int) -> None:
        self.numbers[name] = self.numbers.get(name, 0) + number
        self.rank[name] = min(rank, self.rank.get(name, MOVING))
