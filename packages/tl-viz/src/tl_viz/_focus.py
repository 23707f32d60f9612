"""Cuts a network down to one module, with what enters and leaves as inputs and outputs of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from tl_core import ArgumentTypeError, LookupFailedError
from tl_viz._rebuild import rebuild

if TYPE_CHECKING:
    from tl_core import Trace
    from tl_viz._network import Call, Network

Part = Literal["op", "input", "output"]
"""What an op of the whole network is in the part: itself, or a stub for what enters or leaves."""


class Place(NamedTuple):
    """A module, or one call of it."""

    address: str
    """Empty for the model itself."""
    number: int | None
    """1-based number of the call; None for all of them."""
    class_name: str

    def __str__(self) -> str:
        return self.address if self.number is None else f"{self.address}:{self.number}"


def place_of(trace: Trace, module: object) -> Place:
    """Return the module that `draw(module=...)` means.

    Args:
        trace: the trace that is drawn.
        module: an address such as `layer1.0`, or with the number of a call, `layer1.0:2`.

    Raises:
        ArgumentTypeError: it is no text.
        LookupFailedError: there is no module of that name, it was not called so often, or no op ran in it.
    """
    if not isinstance(module, str):
        raise ArgumentTypeError(
            f"draw(module={module!r}) must be the address of a module.",
            code="option_type",
            remedy="write module='layer1.0', or module='layer1.0:2' for its second call",
            option="module",
            value=module,
        )
    address, colon, number = module.rpartition(":")
    one_call = bool(colon) and module not in trace.modules and address in trace.modules and number.isdecimal()
    found = trace.modules[address if one_call else module]
    if one_call and not 1 <= int(number) <= found.num_calls:
        raise LookupFailedError(
            f"draw(module={module!r}): {address!r} was called {found.num_calls} times.",
            code="module_call_not_found",
            remedy=f"write module={address!r} for all of them",
            asked=module,
            count=found.num_calls,
        )
    if not found.ops:
        raise LookupFailedError(
            f"draw(module={module!r}): no op ran in {module!r}, so there is nothing to draw.",
            code="module_without_ops",
            remedy=f"write module={found.parent!r} for the module around it" if found.parent else "leave module= out",
            asked=module,
        )
    return Place(found.address, int(number) if one_call else None, found.class_name)


def focus(network: Network, place: Place) -> Network:
    """Return the part of a network that ran inside one module, or in one call of it."""
    inner = _calls_inside(network, place)
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
    taken = _take(network, order, inner, (f"{place.class_name} {place}", place.address))
    said: dict[int, str] = {}
    for at, (op, part) in enumerate(order):
        if part == "input":
            said[at] = f"from {_whereabouts(network, op)}"
        elif part == "output":
            first, *more = dict.fromkeys(_whereabouts(network, reader) for reader in readers[op])
            said[at] = f"to {first}" + (f" +{len(more)}" if more else "")
    return replace(taken, places=taken.places | said)


def _calls_inside(network: Network, place: Place) -> dict[int, int]:
    """Return the calls of the module and those inside them: call -> its new parent, -1 for the module's own."""
    address, number = place.address, place.number
    inner: dict[int, int] = {}
    for index, call in enumerate(network.calls):
        own = call.address == address and (number is None or call.number == number)
        below = number is None and call.address.startswith(address + ".")
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
