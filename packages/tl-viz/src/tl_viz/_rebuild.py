"""Makes a network out of another: fewer ops, more ops, the same columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tl_viz._network import Network

T = TypeVar("T")


def rebuild(network: Network, order: Sequence[tuple[int, bool]], moved: dict[int, int]) -> Network:
    """Return a network of other ops.

    Args:
        network: where they come from.
        order: for each new op the op that it comes from, and whether it is that op itself; else it is a stub beside it, which
            reads nothing, holds no parameters and counts as no op.
        moved: op -> the new op that its readers read.
    """
    here = {op: at for at, (op, own) in enumerate(order) if own}

    def column(values: Sequence[T]) -> list[T]:
        return [values[op] for op, _ in order] if values else []

    def owned(values: Sequence[T], nothing: T) -> list[T]:
        return [values[op] if own else nothing for op, own in order] if values else []

    def sources(parents: Iterable[int]) -> tuple[int, ...]:
        return tuple([moved[one] for one in parents if one in moved])

    tables = _renumbered(network, here)
    return replace(
        tables,
        labels=column(network.labels),
        functions=column(network.functions),
        parents=[sources(network.parents[op]) if own else () for op, own in order],
        module_of=column(network.module_of),
        roles=column(network.roles),
        shapes=column(network.shapes),
        params=owned(network.params, 0),
        learned=owned(network.learned, False),
        rounds=owned(network.rounds, 0),
        rows=owned(network.rows, ()),
        links=column(network.links),
        tips=owned(network.tips, ""),
        owners=column(network.owners),
        made_by=owned(network.made_by, 0),
        slots={op: _moved(found, moved) for op, found in tables.slots.items()},
        turns={op: _moved(found, moved) for op, found in tables.turns.items()},
        back={op: sources(found) for op, found in tables.back.items()},
    )


def _renumbered(network: Network, here: dict[int, int]) -> Network:
    """Return the network with the new numbers of its ops in everything that is not said of all of them."""

    def table(values: dict[int, T]) -> dict[int, T]:
        return {here[op]: value for op, value in values.items() if op in here}

    def kept(values: frozenset[int]) -> frozenset[int]:
        return frozenset(here[op] for op in values if op in here)

    return replace(
        network,
        tints=table(network.tints),
        sizes=table(network.sizes),
        places=table(network.places),
        joins=table(network.joins),
        purposes=table(network.purposes),
        weights=table(network.weights),
        outputs=table(network.outputs),
        indices=table(network.indices),
        details=table(network.details),
        within=table(network.within),
        slots=table(network.slots),
        turns=table(network.turns),
        back=table(network.back),
        pinned=kept(network.pinned),
        islands=kept(network.islands),
        marked=kept(network.marked),
        apart=kept(network.apart),
        edited=kept(network.edited),
    )


def _moved(texts: dict[int, str], moved: dict[int, int]) -> dict[int, str]:
    return {moved[parent]: text for parent, text in texts.items() if parent in moved}
