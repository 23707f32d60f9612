"""Attention that is written out: a product of queries with keys, a softmax of it, and a product of that with values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._functions import ARITHMETIC, KEEPING, PRODUCTS

if TYPE_CHECKING:
    from tl_viz._network import Network

SOFTMAX = frozenset({"softmax", "_softmax"})
FARTHEST = 16
"""So many ops may stand between the first product and the softmax."""

_SCALING = KEEPING | ARITHMETIC | frozenset({"baddbmm", "neg", "clamp", "tanh"})
"""What may stand before the softmax: a scale, a bias, a mask."""


def attending(network: Network) -> frozenset[int]:
    """Return the ops that are one of the two products, where both read two tensors that the run computed."""
    found: set[int] = set()
    weights: dict[int, int] = {}
    """Op that hands on what a softmax gave -> the product that the softmax was made of."""
    for op, name in enumerate(network.functions):
        if name in SOFTMAX:
            scores = _scores(network, op)
            if scores >= 0:
                weights[op] = scores
        elif name in PRODUCTS and op in network.joins:
            found |= {at for parent in network.parents[op] if parent in weights for at in (op, weights[parent])}
        elif name.rstrip("_") in KEEPING and network.parents[op] and network.parents[op][0] in weights:
            weights[op] = weights[network.parents[op][0]]
    return frozenset(found)


def _scores(network: Network, op: int) -> int:
    """Return the product of two tensors that a softmax is of; -1 where it is of something else."""
    for _ in range(FARTHEST):
        parents = network.parents[op]
        if not parents:
            return -1
        op = parents[0]
        name = network.functions[op]
        if name in PRODUCTS:
            return op if op in network.joins else -1
        if name.rstrip("_") not in _SCALING:
            return -1
    return -1
