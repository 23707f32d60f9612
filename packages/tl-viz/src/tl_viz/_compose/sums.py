"""How much a box stands for: its ops and parameters, told for each copy and for all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._names import amount, count

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Tree

HERE = (0,)
"""The shifts of what stands in no stack."""

COMPUTED = frozenset({"op", "hook"})
"""Roles of what is a call of a function."""


def shifts_of(branch: Branch, around: tuple[int, ...]) -> tuple[int, ...]:
    """Return how far from its place in the first copy everything in a branch stands in each copy.

    Args:
        branch: what is asked about.
        around: the same for the frame around it. Copies that are calls of one module hold nothing of their own.
    """
    if branch.copies == 1 or branch.looped:
        return around
    own = (0, *[start - branch.first for start in branch.others])
    return tuple([outer + inner for outer in around for inner in own])


def params_of(tree: Tree, branch: Branch) -> int:
    """Return how many parameter elements a branch holds, all its copies together."""
    return _params(tree, branch.first, branch.last_end)


def has_own(tree: Tree, branch: Branch) -> bool:
    """Whether every copy of a stack holds parameters, and reads none that another copy reads."""
    met: set[str] = set()
    for shift in shifts_of(branch, HERE):
        ops = tree.op_at[branch.first + shift : branch.end + shift]
        read = {address for op in ops for address in tree.network.weights.get(op, ())}
        if not any(tree.network.params[op] for op in ops) or not met.isdisjoint(read):
            return False
        met |= read
    return True


def is_one_call(tree: Tree, branch: Branch) -> bool:
    """Whether the copies of an op, with the views that follow it, are the outputs of one call."""
    made_by = tree.network.made_by
    if branch.copies == 1 or branch.op < 0 or not made_by or not made_by[branch.op]:
        return False
    inner = tree.place[branch.op] - branch.first
    return all(made_by[tree.op_at[at + inner]] == made_by[branch.op] for at in branch.others)


def _params(tree: Tree, first: int, end: int) -> int:
    params, op_at = tree.network.params, tree.op_at
    return sum(params[op_at[at]] for at in range(first, end))


def ops_of(tree: Tree, branch: Branch) -> int:
    """Return how many outputs a branch stands for, all its copies and passes together."""
    rounds, op_at = tree.network.rounds, tree.op_at
    return sum(rounds[op_at[at]] for at in range(branch.first, branch.last_end))


def calls_of(tree: Tree, first: int, end: int, *, once: bool = False) -> int:
    """Return how many calls of functions there are between two places; one with several outputs counts once.

    `once` counts a call once that a loop repeats.
    """
    network = tree.network
    met: set[int] = set()
    total = 0
    for at in range(first, end):
        op = tree.op_at[at]
        call = network.made_by[op] if network.made_by else 0
        if network.roles[op] in COMPUTED and call not in met:
            total += 1 if once else network.rounds[op]
            if call:
                met.add(call)
    return total


def each_params(tree: Tree, branch: Branch, around: tuple[int, ...] = HERE) -> list[int]:
    """Return how many parameter elements each copy of a branch holds, in each copy of the frame around it."""
    end = branch.end if branch.copies > 1 and not branch.looped else branch.last_end
    return [_params(tree, branch.first + shift, end + shift) for shift in shifts_of(branch, around)]


def params_text(tree: Tree, branch: Branch, around: tuple[int, ...] = HERE, noun: str = "") -> str:
    """Return the parameters of a branch: of each copy, and of all where it is a stack itself.

    Args:
        tree: the network.
        branch: what is asked about.
        around: the shifts of the frame that it stands in.
        noun: what the copies are called, where that is to be written: `147k params ×4 layers`.
    """
    each = each_params(tree, branch, around)
    total = sum(each)
    if not total:
        return ""
    if len(each) == 1:
        return f"{amount(total)} params"
    if min(each) == 0:  # one of them holds what the others read too
        return f"{amount(total)} params in all"
    text = f"{_span(each)} params ×{len(each)} {noun}".rstrip()
    return f"{text} · {amount(total)} in all" if branch.copies > 1 and not branch.looped else text


def _span(each: list[int]) -> str:
    """Return what each copy holds: one number, or those of the first and the last."""
    first, last = each[0], each[-1]
    if first != last:
        return f"{amount(first)}…{amount(last)}"
    return amount(first) if len(set(each)) == 1 else f"{amount(min(each))}…{amount(max(each))}"


def ops_text(tree: Tree, branch: Branch, around: int = 1) -> str:
    """Return how many ops a closed branch holds, and in how many copies; where it is a loop, in each round.

    Args:
        tree: the network.
        branch: what is asked about.
        around: how many copies of the frames around it there are.
    """
    looped = branch.looped or rounds_of(tree, branch) > 1
    text = count(calls_of(tree, branch.first, branch.end, once=looped), "op")
    if looped:
        every = calls_of(tree, branch.first, branch.last_end)
        return f"{text} each round" + ("" if around > 1 else f" · {every:,} in all")
    copies = around * branch.copies
    return f"{text} ×{copies}" if copies > 1 else text


def rounds_of(tree: Tree, branch: Branch) -> int:
    """Return how many passes every op of a branch has, or 1 where they differ."""
    rounds = tree.network.rounds
    first = rounds[tree.op_at[branch.first]] if branch.end > branch.first else 1
    if first == 1:
        return 1
    same = all(rounds[tree.op_at[at]] == first for at in range(branch.first, branch.end))
    return first if same else 1
