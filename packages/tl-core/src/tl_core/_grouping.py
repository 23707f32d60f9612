"""Which ops are passes of one layer.

A layer is a *site* of the model. Two function calls are passes of one site when they

1. read the same parameters through the same function in the same module, wherever they are called; or
2. stand at the same place in the code of a module with parameters or buffers that is called again (the second call of
   an encoder repeats the sites of the first one); or
3. stand at the same place in the code within one call of such a module: a loop.

A loop may also run over *different* things, as `for block in self.blocks: x = x + block(x)` does. Then what stands at
one place of the code next to the two calls (a parent or a child) is a different site each time; such neighbours are
called rivals here, and they part the calls. Parting calls makes rivals of them for their own neighbours, so the check is
repeated, forwards over parents and backwards over children, until nothing changes. The index in `x[:, t]`, sizes and
values play no part.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, final

import numpy as np

from tl_core._chain import Chains
from tl_core._rival import Rivals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tl_core._edge import Edges
    from tl_core._record import OpRecord, Records


@final
class Grouping:
    """Layer and pass of every op; layers are numbered in the order of their first op."""

    __slots__ = ("_order", "_starts", "count", "layer_of", "pass_of")

    def __init__(self, layer_of: array[int], pass_of: array[int]) -> None:
        self.layer_of = layer_of
        """Layer index of each op."""
        self.pass_of = pass_of
        """1-based pass of each op within its layer."""
        layers = np.frombuffer(layer_of, np.int32) if layer_of else np.zeros(0, np.int32)
        sizes = np.bincount(layers)
        self.count = len(sizes)
        """Number of layers."""
        self._order = np.argsort(layers, kind="stable").astype(np.int32)
        self._starts = np.zeros(self.count + 1, np.int32)
        np.cumsum(sizes, out=self._starts[1:])

    def members(self, layer: int) -> list[int]:
        """Ops of a layer, first pass first."""
        return self._order[self._starts[layer] : self._starts[layer + 1]].tolist()

    def size(self, layer: int) -> int:
        """Number of passes of a layer."""
        return int(self._starts[layer + 1] - self._starts[layer])

    @property
    def most_passes(self) -> int:
        """Passes of the layer that has most; 0 without layers."""
        return int(np.diff(self._starts).max()) if self.count else 0

    def first_ops(self) -> list[int]:
        """First op of every layer."""
        return self._order[self._starts[:-1]].tolist()


def one_layer_per_op(count: int) -> Grouping:
    """The grouping without recurrence."""
    return Grouping(array("i", range(count)), array("i", [1]) * count)


def stored_groups(groups: Sequence[tuple[int, int]]) -> Grouping:
    """The grouping that a bundle brought along."""
    return Grouping(array("i", [layer for layer, _ in groups]), array("i", [number for _, number in groups]))


def group(records: Records, edges: Callable[[], Edges]) -> Grouping:
    """Find the layers of a run.

    Args:
        records: what the run wrote down.
        edges: gives the edges of the graph; asked for only if some call was repeated at one place.

    Returns:
        Layer and pass of every op.
    """
    chains = Chains(records)
    if chains.loose:
        _part_rivals(records.ops, chains, Rivals(records, chains), edges())
    return _number(chains.link)


def _part_rivals(ops: Sequence[OpRecord], chains: Chains, rivals: Rivals, edges: Edges) -> None:
    """Remove the links of loops that run over different things."""
    link, loose, roots = chains.link, chains.loose, rivals.roots
    starts, children = edges.child_rows()
    changed = True
    while changed:
        suspects = iter([*loose, len(link)])
        suspect = next(suspects)
        for op, earlier in enumerate(link):
            if op == suspect:
                suspect = next(suspects)
                if earlier >= 0 and rivals.among(ops[earlier].parents, ops[op].parents, op):
                    link[op] = earlier = -1
            roots[op] = roots[earlier] if earlier >= 0 else op
        changed = False
        for op in reversed(loose):
            earlier = link[op]
            if earlier >= 0:
                before = children[starts[earlier] : starts[earlier + 1]]
                if rivals.among(before, children[starts[op] : starts[op + 1]], op):
                    link[op] = -1
                    changed = True


def _number(link: Sequence[int]) -> Grouping:
    layer_of, pass_of = array("i", link), array("i", link)
    sizes: list[int] = []
    for op, earlier in enumerate(link):
        if earlier < 0:
            layer_of[op] = len(sizes)
            pass_of[op] = 1
            sizes.append(1)
        else:
            layer = layer_of[op] = layer_of[earlier]
            sizes[layer] = pass_of[op] = sizes[layer] + 1
    return Grouping(layer_of, pass_of)
