"""Puts a node of its own after every op whose value an intervention replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._network import Network


def show_hooks(network: Network, edited: frozenset[int]) -> Network:
    """Return the network with one node for each edit, which takes over the readers of the edited op."""
    if not edited:
        return network
    order: list[tuple[int, bool]] = []
    for op in range(len(network)):
        order.append((op, False))
        if op in edited:
            order.append((op, True))
    own = {op: at for at, (op, hook) in enumerate(order) if not hook}
    after = {op: at for at, (op, hook) in enumerate(order) if hook}

    def source(op: int) -> int:
        return after.get(op, own[op])

    return replace(
        network,
        labels=[f"edit of {network.labels[op]}" if hook else network.labels[op] for op, hook in order],
        functions=["edit" if hook else network.functions[op] for op, hook in order],
        parents=[(own[op],) if hook else tuple(source(parent) for parent in network.parents[op]) for op, hook in order],
        module_of=[network.module_of[op] for op, _ in order],
        roles=["hook" if hook else network.roles[op] for op, hook in order],
        shapes=[network.shapes[op] for op, _ in order],
        params=[0 if hook else network.params[op] for op, hook in order],
        learned=[not hook and network.learned[op] for op, hook in order],
        rounds=[0 if hook else network.rounds[op] for op, hook in order],
        back={own[op]: tuple(source(p) for p in found) for op, found in network.back.items()},
        pinned=frozenset(at for at, (op, _) in enumerate(order) if op in network.pinned),
        marked=frozenset(own[op] for op in network.marked - edited),
        rows=[() if hook else network.rows[op] for op, hook in order] if network.rows else (),
        links=[network.links[op] for op, _ in order] if network.links else (),
        tips=["" if hook else network.tips[op] for op, hook in order] if network.tips else (),
        owners=[network.owners[op] for op, _ in order] if network.owners else (),
        tints={own[op]: value for op, value in network.tints.items()},
        sizes={own[op]: value for op, value in network.sizes.items()},
    )
