"""Which ops give the same in every run, whatever the inputs and the parameters are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._network import Network

SIZED = frozenset(
    [
        "new_zeros", "new_ones", "new_full", "new_empty", "new_tensor", "zeros_like", "ones_like", "full_like", "empty_like",
    ]
)  # fmt: skip
"""Functions that read the sizes of a tensor and none of its numbers."""

DRAWN = frozenset(
    ["normal", "normal_", "uniform_", "bernoulli", "bernoulli_", "multinomial", "poisson", "exponential_"]
)
"""Functions besides those with `rand` in their names that draw numbers at random."""


def fixed_ops(network: Network) -> list[bool]:
    """Return for each op whether it depends on no number of an input and on no parameter: on sizes at most."""
    functions, parents, back = network.functions, network.parents, network.back
    fixed = [
        role in {"op", "buffer", "constant"}
        and not network.learned[op]
        and functions[op] not in DRAWN
        and "rand" not in functions[op]
        for op, role in enumerate(network.roles)
    ]
    changed = True
    while changed:  # a second time only where something is carried round a loop
        changed = False
        for op, sources in enumerate(parents):
            if not fixed[op]:
                continue
            sized = functions[op] in SIZED
            if not sized and not all(
                [fixed[one] for one in (*sources, *back[op])] if op in back else [fixed[one] for one in sources]
            ):
                fixed[op] = False
                changed = bool(back)
    return fixed
