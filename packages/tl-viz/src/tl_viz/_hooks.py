"""Puts a node of its own after every op whose value an intervention replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tl_viz._rebuild import rebuild

if TYPE_CHECKING:
    from tl_viz._network import Network


def show_hooks(network: Network, edited: frozenset[int]) -> Network:
    """Return the network with one node for each edit, which takes over the readers of the edited op."""
    if not edited:
        return network
    order = [(op, own) for op in range(len(network)) for own in ((True, False) if op in edited else (True,))]
    place = {op: at for at, (op, own) in enumerate(order) if own}
    shown = rebuild(network, order, {op: at for at, (op, _) in enumerate(order)})
    hooks = {at: op for at, (op, own) in enumerate(order) if not own}
    return replace(
        shown,
        labels=[f"edit of {label}" if at in hooks else label for at, label in enumerate(shown.labels)],
        functions=["edit" if at in hooks else name for at, name in enumerate(shown.functions)],
        parents=[(place[hooks[at]],) if at in hooks else found for at, found in enumerate(shown.parents)],
        roles=["hook" if at in hooks else role for at, role in enumerate(shown.roles)],
        pinned=shown.pinned | hooks.keys(),
        marked=shown.marked - {place[op] for op in edited},
    )
