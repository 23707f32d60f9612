"""Where the modules of a box live, as people write a list of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tl_viz._compose.sums import HERE, shifts_of
from tl_viz._names import address_range, relative

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Tree

LISTED = 4
"""Up to this many copies are named one by one, where their names are words and not numbers."""


def address_of(tree: Tree, branch: Branch, frame: str, around: tuple[int, ...] = HERE) -> str:
    """Return the address of the module call that a branch stands for, with those of its copies, relative to its frame.

    Args:
        tree: the network.
        branch: what is asked about.
        frame: address of the module in whose frame it stands.
        around: how far from there that frame stands in each of its copies.
    """
    starts = [branch.first + shift for shift in shifts_of(branch, around)]
    found = _found(tree, branch, tuple(starts[1:]))
    return _joined([seen_from(address, found[0], frame) for address in found], "")


def seen_from(address: str, first: str, frame: str) -> str:
    """Return an address relative to its frame, whose address in the first copy is `frame`, and where `first` stands in its place."""
    if not frame or not first.startswith(frame + "."):
        return address
    return relative(address, ".".join(address.split(".")[: frame.count(".") + 1]))


def run_address(tree: Tree, branch: Branch, frame: str) -> str:
    """Return the addresses of what a folded run holds: `down.0…3, pool`, or `features.1–2, 3–4` where they alternate."""
    columns = [
        _found(tree, child, tuple([start + child.first - branch.first for start in branch.others]))
        for child in branch.children
        if child.call >= 0
    ]
    if len(columns) > 1 and _alternate(columns):
        return _pairs(columns[0], columns[-1], frame)
    return ", ".join([_joined(column, frame) for column in columns])


def _found(tree: Tree, branch: Branch, others: tuple[int, ...]) -> list[str]:
    return same_calls(tree, branch.call, branch.first, others)


def same_calls(tree: Tree, wanted: int, first: int, others: tuple[int, ...]) -> list[str]:
    """Return the address of a module call that begins at a place, and of the same call in each copy, which begin at `others`."""
    network = tree.network
    steps = 0
    at = network.module_of[tree.op_at[first]]
    while at != wanted and at >= 0:
        at = network.calls[at].parent
        steps += 1
    found = [network.calls[wanted].address]
    for start in others:
        call = network.module_of[tree.op_at[start]]
        for _ in range(steps):
            call = network.calls[call].parent
        found.append(network.calls[call].address)
    return found


def _joined(found: list[str], frame: str) -> str:
    names = [relative(address, frame) for address in dict.fromkeys(found)]
    if len(names) == 1:
        return names[0]
    if len(names) <= LISTED and not any(name[-1].isdigit() for name in names):
        return ", ".join(names)
    numbers = [_number(name) for name in names]
    steps = {after - before for before, after in itertools.pairwise(numbers)}
    if min(numbers) < 0 or steps <= {1} or steps <= {-1} or len({_head(name) for name in names}) > 1:
        return address_range(names[0], names[-1])
    return ", ".join(
        [names[0], *[str(number) for number in numbers[1:]]]
        if len(names) <= LISTED
        else [names[0], f"{numbers[1]} … {numbers[-1]}"]
    )


def _alternate(columns: list[list[str]]) -> bool:
    """Whether the copies follow each other in one list: 1 and 2, then 3 and 4."""
    every = [address for copy in zip(*columns, strict=True) for address in copy]
    numbers = [_number(address) for address in every]
    return (
        len({_head(address) for address in every}) == 1
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        and numbers[0] >= 0
    )


def _pairs(firsts: list[str], lasts: list[str], frame: str) -> str:
    pairs = [f"{_number(one)}–{_number(other)}" for one, other in zip(firsts, lasts, strict=True)]
    name = relative(firsts[0], frame)
    pairs[0] = f"{name}–{_number(lasts[0])}"
    return ", ".join(pairs) if len(pairs) <= LISTED - 1 else f"{pairs[0]}, {pairs[1]} … {pairs[-1]}"


def _head(address: str) -> str:
    return address.rpartition(".")[0]


def _number(address: str) -> int:
    """Return the number at the end of an address, or -1 where it is a word."""
    last = address.rpartition(".")[2]
    return int(last) if last.isdigit() else -1
