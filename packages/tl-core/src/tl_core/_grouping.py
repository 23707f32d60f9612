"""Which ops are passes of one layer.

A layer is a *site* of the model. Two function calls are passes of one site when they

1. read the same parameters through the same function in the same module, wherever they are called; or
2. stand at the same place in the code of a module with parameters or buffers that is called again (the second call of
   an encoder repeats the sites of the first one); or
3. stand at the same place in the code within one call of such a module: a loop; or
4. stand on the same line of a function that is reached on several ways, among passes of the same layers: see `_echo`.

A loop may also run over *different* things, as `for block in self.blocks: x = x + block(x)` does; `_loop` takes such
loops apart. The index in `x[:, t]`, sizes and values play no part.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, final

from tl_core._chain import Chains
from tl_core._echo import candidates, link_echoes
from tl_core._loop import Loops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tl_core._edge import Edges
    from tl_core._record import Records


@final
class Grouping:
    """Layer and pass of every op; layers are numbered in the order of their first op."""

    __slots__ = ("_members", "_sizes", "layer_of", "pass_of")

    def __init__(self, layer_of: array[int], pass_of: array[int], sizes: list[int] | None = None) -> None:
        self.layer_of = layer_of
        """Layer index of each op."""
        self.pass_of = pass_of
        """1-based pass of each op within its layer."""
        self._sizes = _count(layer_of) if sizes is None else sizes
        self._members: tuple[array[int], array[int]] | None = None
        """Where the ops of each layer begin, and the ops, layer by layer."""

    @property
    def count(self) -> int:
        """Number of layers."""
        return len(self._sizes)

    def members(self, layer: int) -> list[int]:
        """Ops of a layer, first pass first."""
        if self._members is None:
            self._members = _by_layer(self.layer_of, self._sizes)
        starts, order = self._members
        return order[starts[layer] : starts[layer + 1]].tolist()

    def size(self, layer: int) -> int:
        """Number of passes of a layer."""
        return self._sizes[layer]

    def sizes(self) -> list[int]:
        """Number of passes of every layer; to be read only."""
        return self._sizes

    @property
    def most_passes(self) -> int:
        """Passes of the layer that has most; 0 without layers."""
        return max(self._sizes, default=0)

    def first_ops(self) -> list[int]:
        """First op of every layer."""
        return [op for op, number in enumerate(self.pass_of) if number == 1]


def _count(layer_of: array[int]) -> list[int]:
    sizes: list[int] = []
    for layer in layer_of:
        if layer == len(sizes):
            sizes.append(1)
        else:
            sizes[layer] += 1
    return sizes


def _by_layer(layer_of: array[int], sizes: Sequence[int]) -> tuple[array[int], array[int]]:
    starts = [*accumulate(sizes, initial=0)]
    free, order = starts.copy(), [0] * len(layer_of)
    for op, layer in enumerate(layer_of):
        at = free[layer]
        order[at] = op
        free[layer] = at + 1
    return array("i", starts), array("i", order)


def one_layer_per_op(count: int) -> Grouping:
    """The grouping without recurrence."""
    return Grouping(array("i", range(count)), array("i", [1]) * count, [1] * count)


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
    ops = records.ops
    chains = Chains(records)
    link = chains.link
    if max(link, default=-1) < 0:  # nothing came twice, and only what stands by passes of a layer is an echo
        return one_layer_per_op(len(link))
    loops = Loops(ops, chains, edges()) if chains.loose else None
    if loops is not None:
        loops.part()
        link = _links(loops.color)
    keys = candidates(ops, chains, link)
    if keys:
        link_echoes(ops, chains, loops, link, keys, edges())
    return _number(link)


def _links(colors: Sequence[int]) -> list[int]:
    """The op before of the same colour; -1 where there is none."""
    last: dict[int, int] = {}
    link: list[int] = []
    for op, color in enumerate(colors):
        link.append(last.get(color, -1))
        last[color] = op
    return link


def _number(link: Sequence[int]) -> Grouping:
    layer_of: list[int] = []
    pass_of: list[int] = []
    sizes: list[int] = []
    for earlier in link:
        if earlier < 0:
            layer_of.append(len(sizes))
            pass_of.append(1)
            sizes.append(1)
        else:
            layer = layer_of[earlier]
            size = sizes[layer] = sizes[layer] + 1
            layer_of.append(layer)
            pass_of.append(size)
    return Grouping(array("i", layer_of), array("i", pass_of), sizes)
