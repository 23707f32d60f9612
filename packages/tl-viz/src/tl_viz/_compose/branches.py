"""What is said of joins: in the second line under the title, and in a closed box."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tl_viz._compose.joined import DETAIL, SHORT, WIDEST
from tl_viz._compose.sums import rounds_of
from tl_viz._measure import text_width
from tl_viz._names import count, summary
from tl_viz._scene import NO_BRANCHES

if TYPE_CHECKING:
    from tl_viz._compose.meet import Meets, Sort
    from tl_viz._network import Network
    from tl_viz._plan import Branch

MOST_KINDS = 5
"""So many kinds of joins are named in one place; the others are counted."""

MOST_CLAUSES = 6
"""So many clauses are said of what is drawn, and of what is not; the classes of modules in the others are counted."""

HIDDEN = "in closed boxes: "
"""What comes before the first clause of what is not drawn."""


def joins_clauses(meets: Meets, made: str, drawn: set[Sort]) -> tuple[str, ...]:
    """Return where branches join, a clause for each kind of module: `add ×2 in each GPT2Block`.

    Modules of which there are many come before single ones, and outer ones before inner ones. What has no box of its own, and no
    like that has one, comes after `in closed boxes:`.

    Args:
        meets: the ops at which they join.
        made: what is said of the blocks of the network, which come first.
        drawn: sorts of ops that have a box of their own; where there are none, all are told of.
    """
    ops = list(meets.between(0, len(meets.tree.op_at)))
    if not ops:
        return (NO_BRANCHES,)
    blocks = [part.partition(" ×")[0] for part in made.split(" · ")]
    told = [op for op in ops if not drawn or meets.sort(op) in drawn]
    has_box = set(told)
    hidden = [op for op in ops if op not in has_box]
    holders = _holders(meets.tree.network)
    clauses, inside = _clauses(meets, told, blocks, holders), _clauses(meets, hidden, blocks, holders)
    if inside:
        inside[0] = f"{HIDDEN}{inside[0]}"
    return tuple(clauses + inside)


def _clauses(meets: Meets, ops: list[int], blocks: list[str], holders: dict[str, list[int]]) -> list[str]:
    network = meets.tree.network
    sorts: dict[tuple[str, str, str], list[int]] = {}
    for op in ops:
        name, owner, _ = meets.sort(op)
        sorts.setdefault((owner, SHORT.get(name, name), _rounds(network, op)), []).append(op)
    said: dict[tuple[str, str], list[str]] = {}
    """Class of a module, and in how many of them -> what joins there, each as often as it does."""
    for (owner, name, rounds), own in sorts.items():
        number, place = _spread(meets, own, len(holders.get(owner, ())), rounds)
        said.setdefault((owner, place), []).extend([name] * number)

    def importance(key: tuple[str, str]) -> tuple[int, bool, int]:
        calls = holders.get(key[0], ())
        depth = min((network.calls[call].address.count(".") for call in calls), default=0)
        return blocks.index(key[0]) if key[0] in blocks else len(blocks), len(calls) < 2, depth

    alike: dict[tuple[str, str], list[str]] = {}
    """What joins, and in how many modules -> classes of which both are true."""
    for owner, place in sorted(said, key=importance):
        alike.setdefault((summary(said[owner, place], MOST_KINDS), place), []).append(owner)
    clauses = [f"{joins}{place}{', '.join(owners)}" for (joins, place), owners in alike.items()]
    if len(clauses) > MOST_CLAUSES:
        more = sum(len(owners) for owners in [*alike.values()][MOST_CLAUSES:])
        clauses[MOST_CLAUSES:] = [f"and in {count(more, 'more kind')} of modules"]
    return clauses


def _holders(network: Network) -> dict[str, list[int]]:
    """Return by class of a module its calls in which an op stands."""
    alive = [False] * len(network.calls)
    for call in network.module_of:
        if call >= 0:
            alive[call] = True
    found: dict[str, list[int]] = {}
    for at in range(len(alive) - 1, -1, -1):
        call = network.calls[at]
        if alive[at]:
            found.setdefault(call.class_name, []).append(at)
            if call.parent >= 0:
                alive[call.parent] = True
    return found


def _rounds(network: Network, op: int) -> str:
    """Return in which rounds branches join at an op; an empty string where it ran once."""
    rounds, joins = network.rounds[op], network.joins[op]
    if rounds == 1:
        return ""
    return f"each of {rounds:,} rounds" if joins == rounds else f"{joins:,} of {rounds:,} rounds"


def _spread(meets: Meets, ops: list[int], modules: int, rounds: str) -> tuple[int, str]:
    """Return how many of some ops stand in one module, and in how many modules of its class; all, where that differs."""
    held = Counter([meets.owner(op) for op in ops])
    if -1 in held:
        return len(ops), f" in {rounds}" if rounds else ""
    number = next(iter(held.values()))
    some = ""
    if modules > 1:
        even = len(set(held.values())) == 1
        some = "each " if even and len(held) == modules else f"{len(held):,} of {modules:,} "
        number = number if even else len(ops)
    return number, f" in {rounds} of {some}" if rounds else f" in {some}"


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
