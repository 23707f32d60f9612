"""What is said of joins: in the second line under the title, and in a closed box."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tl_viz._compose.joined import DETAIL, WIDEST
from tl_viz._compose.sums import rounds_of
from tl_viz._measure import text_width
from tl_viz._names import summary
from tl_viz._plan import CONTAINERS
from tl_viz._scene import NO_BRANCHES

if TYPE_CHECKING:
    from tl_viz._compose.meet import Meets
    from tl_viz._network import Network
    from tl_viz._plan import Branch

MOST_KINDS = 5
"""So many kinds of joins are named; the others are counted."""

MOST_BLOCKS = 2
"""Blocks of so many classes are named."""

FEWEST_KINDS = 3
"""In which blocks they stand is left out before fewer than so many kinds are named."""


def joins_lines(meets: Meets, made: str, shown: set[str]) -> tuple[str, ...]:
    """Return where branches join in the whole network, such as `branches join at: add_ ×16 (one in each Bottleneck)`, and shorter texts.

    Every op is counted as often as it ran. Kinds that are drawn come first, and last those that are the same in every run, such as
    parts of a mask.

    Args:
        meets: the ops at which they join.
        made: what is said of its blocks; only those named there are named again.
        shown: kinds of ops at which a bar is drawn.
    """
    tree = meets.tree
    network = tree.network
    ops = list(meets.between(0, len(tree.op_at)))
    if not ops:
        return (NO_BRANCHES,)
    numbers: Counter[str] = Counter()
    moving: set[str] = set()
    for op in ops:
        name = meets.name(op)
        numbers[name] += network.joins[op]
        if not tree.fixed[op]:
            moving.add(name)
    order = sorted(numbers, key=lambda name: (name not in moving, name not in shown, -numbers[name]))
    said = [f"{name} ×{numbers[name]:,}" if numbers[name] > 1 else name for name in order]
    where = _where(network, ops, numbers, made)
    ends = [(most, where) for most in range(MOST_KINDS, FEWEST_KINDS - 1, -1)]
    ends += [(most, "") for most in range(MOST_KINDS, 0, -1)]
    return tuple(dict.fromkeys([f"branches join at: {_some(said, most)}{more}" for most, more in ends]))


def joins_text(meets: Meets, branch: Branch) -> str:
    """Return which joins stand in one copy of a closed branch, such as `joins: add ×4`; an empty string where there are none."""
    tree = meets.tree
    ops = list(meets.between(branch.first, branch.end))
    if not ops:
        return ""
    again = branch.looped or rounds_of(tree, branch) > 1
    numbers: Counter[str] = Counter()
    moving: set[str] = set()
    for op in ops:
        name = meets.name(op)
        numbers[name] += 1 if again else tree.network.joins[op]
        if not tree.fixed[op]:
            moving.add(name)
    names = sorted(numbers, key=lambda name: (name not in moving, -numbers[name]))
    kinds = [name for name in names for _ in range(numbers[name])]
    texts = [f"joins{' each round' if again else ''}: {summary(kinds, most)}" for most in range(MOST_KINDS, 0, -1)]
    return next((text for text in texts if text_width(text, DETAIL) <= WIDEST), texts[-1])


def _some(said: list[str], most: int) -> str:
    rest = len(said) - most
    more = f" and {rest} more kind{'s' if rest > 1 else ''}" if rest > 0 else ""
    return ", ".join(said[:most]) + more


def _where(network: Network, ops: list[int], numbers: Counter[str], made: str) -> str:
    """Return in which rounds, or in which blocks, branches join; an empty string where that is not plain."""
    rounds = {network.rounds[op] for op in ops}
    if rounds != {1} and all(network.joins[op] == network.rounds[op] for op in ops) and len(rounds) == 1:
        return " (every round)"
    inside = [0] * len(network.calls)
    total = 0
    for op in ops:
        total += network.joins[op]
        if network.module_of[op] >= 0:
            inside[network.module_of[op]] += network.joins[op]
    for at in range(len(inside) - 1, -1, -1):
        above = network.calls[at].parent
        if above >= 0:
            inside[above] += inside[at]
    named = {part.partition(" ×")[0] for part in made.split(" · ")}
    blocks: dict[str, list[int]] = {}
    for call, number in zip(network.calls, inside, strict=True):
        name = call.class_name
        if name not in CONTAINERS and name not in numbers and name in named:
            blocks.setdefault(name, []).append(number)
    said = {name: text for name, held in blocks.items() if len(held) > 1 and (text := _in_blocks(name, held))}
    order = sorted(said, key=lambda name: -sum(blocks[name]))[:MOST_BLOCKS]
    outside = total - sum(sum(blocks[name]) for name in order)
    if not order or not 0 <= outside <= total / 2:
        return ""
    texts = [said[name] for name in order] + ([f"{outside:,} outside"] if outside else [])
    return f" ({', '.join(texts)})"


def _in_blocks(name: str, held: list[int]) -> str:
    """Return how many joins there are in each block of a class; an empty string where that is not plain."""
    some = sum(number > 0 for number in held)
    if 0 < some < len(held):
        return f"in {some} of {len(held)} {name}" if max(held) == 1 else ""
    low, high = min(held), max(held)
    number = f"{low:,}…{high:,}" if low < high else "one" if low == 1 else f"{low:,}"
    return f"{number} in each {name}" if some else ""
