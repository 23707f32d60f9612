"""What a box says of joins: a closed one of those inside of it, and a stack of those that not every copy has."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tl_viz._compose.held import MOST_KINDS, join_name
from tl_viz._compose.joined import DETAIL, WIDEST
from tl_viz._compose.outlet import leaving
from tl_viz._compose.sums import rounds_of, shifts_of
from tl_viz._measure import text_width
from tl_viz._plan import GROWING

if TYPE_CHECKING:
    from tl_viz._compose.meet import Meets
    from tl_viz._plan import Branch


STAY_APART = "no branches join inside"
"""What a closed box says that several tensors enter and leave, and in which no branches join though tensors meet."""


def joins_text(meets: Meets, branch: Branch, around: tuple[int, ...]) -> str:
    """Return what a box says of joins; an empty string where there are none, or where a bar says all.

    Args:
        meets: the ops at which tensors meet.
        branch: what the box stands for.
        around: how far from there the frame around it stands in each of its copies.
    """
    return _in_copies(meets, branch, around) if branch.op >= 0 else _inside(meets, branch)


def _in_copies(meets: Meets, branch: Branch, around: tuple[int, ...]) -> str:
    """Return in which copies of an op branches join, where they do so only in some: `joins in all but the first`."""
    tree = meets.tree
    at = tree.place[branch.op]
    joins = [tree.op_at[at + shift] in tree.network.joins for shift in shifts_of(branch, around)]
    if all(joins) or not any(joins):
        return ""
    first = not joins[0] and all(joins[1:])
    return f"joins in {'all but the first' if first else f'{sum(joins):,} of {len(joins):,}'}"


def _inside(meets: Meets, branch: Branch) -> str:
    """Return which joins stand in one copy of a closed box: `joins: add ×4`, `joins: cat ×12 of 13` where one cat reads one tensor."""
    network, fixed = meets.tree.network, meets.tree.fixed
    met = list(meets.between(branch.first, branch.end))
    ops = [op for op in met if op in network.apart]
    if not ops:
        several = bool(met) and len(branch.outside) > 1 and len(leaving(meets.tree, branch)) > 1
        return STAY_APART if several else ""
    again = branch.looped or rounds_of(meets.tree, branch) > 1
    numbers: Counter[str] = Counter()
    moving: set[str] = set()
    for op in ops:
        name = join_name(meets, op)
        numbers[name] += 1 if again else network.joins[op]
        moving |= set() if fixed[op] else {name}
    lists = numbers.keys() & GROWING
    totals: Counter[str] = Counter()
    for op in meets.tree.op_at[branch.first : branch.end] if lists else ():
        if network.functions[op] in lists:
            totals[network.functions[op]] += 1 if again else network.rounds[op]
    order = sorted(numbers, key=lambda name: (name not in moving, -numbers[name]))
    parts = [_counted(name, numbers[name], totals[name]) for name in order]
    texts: list[str] = []
    for most in range(MOST_KINDS, 0, -1):
        rest = sum(numbers[name] for name in order[most:])
        more = f" and {rest} more" if rest else ""
        texts.append(f"joins{' each round' if again else ''}: {', '.join(parts[:most])}{more}")
    return next((text for text in texts if text_width(text, DETAIL) <= WIDEST), texts[-1])


def _counted(name: str, number: int, total: int) -> str:
    if total > number:
        return f"{name} ×{number} of {total}"
    return name if number == 1 else f"{name} ×{number}"
