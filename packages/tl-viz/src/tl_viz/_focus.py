"""Cuts a network down to one module, with what enters and leaves as inputs and outputs of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_viz._network import Call, Network, OpRole

T = TypeVar("T")


def focus(network: Network, module: str, class_name: str) -> Network:
    """Return the part of a network that ran inside one module, or in one call of it.

    Args:
        network: the whole network.
        module: an address such as `layer1.0`, or with the number of a call, `layer1.0:2`.
        class_name: class of the module, for the title.
    """
    inner = _calls_inside(network, module)
    inside = [op for op, call in enumerate(network.module_of) if inner.get(call, -2) != -2]
    own = set(inside)
    entering = dict.fromkeys(parent for op in inside for parent in network.parents[op] if parent not in own)
    leaving = [
        op
        for op in inside
        if any(op in network.parents[reader] for reader in _readers(network, op) if reader not in own)
    ]
    order: list[tuple[int, OpRole]] = [
        *((op, "input") for op in entering),
        *((op, "op") for op in inside),
        *((op, "output") for op in leaving),
    ]
    return _take(network, order, inner, (f"{class_name} {module}", module.rpartition(":")[0] or module))


def _calls_inside(network: Network, module: str) -> dict[int, int]:
    """Return the calls of the module and those inside them: call -> its new parent, -1 for the module's own."""
    address, _, number = module.rpartition(":")
    if not number.isdigit():
        address, number = module, ""
    inner: dict[int, int] = {}
    for index, call in enumerate(network.calls):
        own = call.address == address and (not number or call.number == int(number))
        below = not number and call.address.startswith(address + ".") if address else False
        if own:
            inner[index] = -1
        elif call.parent in inner:
            inner[index] = call.parent
        elif below:
            inner[index] = index
    return inner


def _readers(network: Network, op: int) -> list[int]:
    return [reader for reader, parents in enumerate(network.parents) if op in parents]


def _take(network: Network, order: list[tuple[int, OpRole]], inner: dict[int, int], title: tuple[str, str]) -> Network:
    """Return the network of the given ops; stubs for what enters and leaves count as no ops."""
    name, base = title
    new_calls: list[Call] = []
    number: dict[int, int] = {}
    for index, parent in inner.items():
        if parent == -1:
            number[index] = -1
            continue
        number[index] = len(new_calls)
        above = -1 if parent == index else number[parent]
        new_calls.append(replace(network.calls[index], parent=above))
    place = {op: at for at, (op, role) in enumerate(order) if role != "output"}
    ops = [op for op, _ in order]
    stub = [role != "op" for _, role in order]
    marks = {"input": "from ", "output": "to outside: "}

    def column(values: Sequence[T]) -> list[T]:
        return [values[op] for op in ops] if values else []

    def kept(values: frozenset[int]) -> frozenset[int]:
        return frozenset(at for at, op in enumerate(ops) if op in values and not stub[at])

    return replace(
        network,
        name=name,
        base=base,
        labels=[
            marks.get(role if cut else "", "") + network.labels[op] for (op, role), cut in zip(order, stub, strict=True)
        ],
        functions=column(network.functions),
        parents=[
            (place[op],)
            if role == "output"
            else (() if cut else tuple(place[p] for p in network.parents[op] if p in place))
            for (op, role), cut in zip(order, stub, strict=True)
        ],
        module_of=[-1 if cut else number[network.module_of[op]] for op, cut in zip(ops, stub, strict=True)],
        calls=new_calls,
        roles=[role if cut else network.roles[op] for (op, role), cut in zip(order, stub, strict=True)],
        shapes=column(network.shapes),
        params=[0 if cut else network.params[op] for op, cut in zip(ops, stub, strict=True)],
        learned=[not cut and network.learned[op] for op, cut in zip(ops, stub, strict=True)],
        rounds=[0 if cut else network.rounds[op] for op, cut in zip(ops, stub, strict=True)],
        rows=column(network.rows),
        links=column(network.links),
        tips=column(network.tips),
        owners=column(network.owners),
        tints={at: network.tints[op] for at, op in enumerate(ops) if op in network.tints and not stub[at]},
        sizes={at: network.sizes[op] for at, op in enumerate(ops) if op in network.sizes and not stub[at]},
        back={
            at: tuple(place[p] for p in network.back[op] if p in place)
            for at, op in enumerate(ops)
            if op in network.back and not stub[at]
        },
        pinned=kept(network.pinned),
        marked=kept(network.marked),
        unseen={},
    )
