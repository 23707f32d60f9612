"""Cuts a network down to one module, with what enters and leaves as inputs and outputs of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from tl_viz._rebuild import rebuild

if TYPE_CHECKING:
    from tl_viz._network import Call, Network

Part = Literal["op", "input", "output"]
"""What an op of the whole network is in the part: itself, or a stub for what enters or leaves."""


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
    readers: dict[int, list[int]] = {}
    for reader, parents in enumerate(network.parents):
        if reader not in own:
            for parent in parents:
                readers.setdefault(parent, []).append(reader)
    leaving = [op for op in inside if op in readers]
    order: list[tuple[int, Part]] = [
        *((op, "input") for op in entering),
        *((op, "op") for op in inside),
        *((op, "output") for op in leaving),
    ]
    taken = _take(network, order, inner, (f"{class_name} {module}", module.rpartition(":")[0] or module))
    said: dict[int, str] = {}
    for at, (op, part) in enumerate(order):
        if part == "input":
            said[at] = f"from {_whereabouts(network, op)}"
        elif part == "output":
            first, *more = dict.fromkeys(_whereabouts(network, reader) for reader in readers[op])
            said[at] = f"to {first}" + (f" +{len(more)}" if more else "")
    return replace(taken, places=taken.places | said)


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


def _whereabouts(network: Network, op: int) -> str:
    """Return what people call an op: where it lives, the module that it is, or its function and where that ran."""
    home = network.module_of[op]
    if op in network.places:
        return network.places[op]
    if home < 0:
        return network.labels[op]
    address = network.calls[home].address
    return address if network.module_of.count(home) == 1 else f"{network.functions[op]} in {address}"


def _take(network: Network, order: list[tuple[int, Part]], inner: dict[int, int], title: tuple[str, str]) -> Network:
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
    taken = rebuild(network, [(op, role == "op") for op, role in order], place)
    marks = {"input": "from ", "output": "to outside: ", "op": ""}
    return replace(
        taken,
        name=name,
        base=base,
        labels=[marks[role] + label for label, (_, role) in zip(taken.labels, order, strict=True)],
        parents=[
            (place[op],) if role == "output" else found for found, (op, role) in zip(taken.parents, order, strict=True)
        ],
        module_of=[number[network.module_of[op]] if role == "op" else -1 for op, role in order],
        calls=new_calls,
        roles=[own if role == "op" else role for own, (_, role) in zip(taken.roles, order, strict=True)],
        unseen={},
        unread=0,
    )
