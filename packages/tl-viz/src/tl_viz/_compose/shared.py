"""What is said of parameters that an op reads after another has read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._names import relative
from tl_viz._plan import VIEWS

if TYPE_CHECKING:
    from tl_viz._network import Network
    from tl_viz._plan import Branch, Tree


def shared_text(tree: Tree, branch: Branch, frame: str) -> str:
    """Return whose parameters a branch reads that has none of its own: `= wte.weight`, or `same params as linear`.

    A view or cast of a parameter of the same module says nothing: it is no second use.
    """
    network = tree.network
    tied: dict[str, None] = {}
    again: dict[str, None] = {}
    for at in range(branch.first, branch.end):
        op = tree.op_at[at]
        for address in network.weights.get(op, ()):
            first = next(one for one, names in network.weights.items() if address in names)
            if first == op:
                continue
            if _home(network, first) != _home(network, op):
                tied[relative(address, frame)] = None
            elif network.functions[op] not in VIEWS:
                same = network.functions[first] == network.functions[op]
                again[network.labels[first] if same else network.functions[first]] = None
    if tied:
        return "= " + _first(list(tied))
    return f"same params as {_first(list(again))}" if again else ""


def _home(network: Network, op: int) -> str:
    call = network.module_of[op]
    return network.calls[call].address if call >= 0 else ""


def _first(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
