"""How many experts a module holds whose weights stand in one tensor each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._network import Call, Network


def experts_in(network: Network, call: Call) -> int:
    """Return how many experts a module holds, such as 8; 0 for any other module, or where their number is not plain.

    Its class says what it holds, the first sizes of all its parameters agree, and some op of the run chooses among so many.
    """
    if not call.class_name.endswith("Experts"):
        return 0
    read = {name for names in network.weights.values() for name in names if name.rpartition(".")[0] == call.address}
    own = [network.extents[name] for name in read if name in network.extents]
    numbers = {shape[0] if len(shape) > 1 else 0 for shape in own}
    if len(own) < 2 or len(numbers) > 1:
        return 0
    number = numbers.pop()
    chosen = any(
        text.endswith(f" of {number}") for op, text in network.details.items() if network.functions[op] == "topk"
    )
    return number if chosen and number > 1 else 0


def experts_told(network: Network) -> list[str]:
    """Return what is said of the experts of a network: `8 experts in each MixtralExperts`."""
    found: dict[str, list[int]] = {}
    for call in network.calls:
        number = experts_in(network, call)
        if number:
            found.setdefault(call.class_name, []).append(number)
    return [
        f"{numbers[0]} experts in {'each ' if len(numbers) > 1 else ''}{name}"
        for name, numbers in found.items()
        if len(set(numbers)) == 1
    ]
