"""Puts what a function of the code computed into a branch of its own, named after the function."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from tl_viz._plan.branch import WIDEST, Branch, leaves

if TYPE_CHECKING:
    from tl_viz._network import Network

FEWEST, FEWEST_LEARNED = 3, 8
"""A function that made fewer items than this is drawn as these; the second where it holds parameters, which people look for."""
MOST = 2 / 3
"""A function that holds parameters and did more than this share of what its module did is the module under another name, unless
that has more items than a frame may have."""


def gather_functions(network: Network, root: Branch) -> None:
    """Put neighbours that ran in one function into branches, in every module; functions inside functions too."""
    if not network.within and not any(call.within for call in network.calls):
        return
    order = [root]
    for branch in order:
        order.extend([child for child in branch.children if child.kind == "module"])
    for branch in order:
        if any(_path(network, child) for child in branch.children):
            branch.children = _grouped(network, branch.children, 0)


def _path(network: Network, branch: Branch) -> tuple[str, ...]:
    """Return the functions that a branch ran in, and the line in the last of them; nothing where it ran in none."""
    if branch.call >= 0:
        return network.calls[branch.call].within
    if branch.op >= 0:
        return network.within.get(branch.op, ())
    return _shared([_path(network, child) for child in branch.children])


def _shared(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the functions that several branches ran in, with an empty line."""
    same: list[str] = []
    for names in zip(*[path[:-1] for path in paths], strict=False):
        if len(set(names)) > 1:
            break
        same.append(names[0])
    return (*same, "")


def _grouped(network: Network, children: list[Branch], depth: int) -> list[Branch]:
    """Return the children with those in branches that ran in one function at `depth`."""

    def function(child: Branch) -> str:
        path = _path(network, child)
        return path[depth] if len(path) > depth + 1 else ""

    parts = [(name, list(members)) for name, members in groupby(children, function)]
    names = [
        name
        for name, members in parts
        if name or any(child.op < 0 or network.roles[child.op] == "op" for child in members)
    ]
    result: list[Branch] = []
    for name, members in parts:
        if not name:
            result += members
        elif len(names) == 1:  # it did all that its module did
            result += _grouped(network, members, depth + 1)
        elif names.count(name) > 1:
            result += members  # it was called several times, or what it computed stands apart
        else:
            for piece in _pieces(network, members, depth):
                shared = _shared([_path(network, child) for child in piece])
                inner = _grouped(network, piece, len(shared) - 1)
                if not _is_part(network, piece, inner, len(children)):
                    result += inner
                    continue
                made = Branch("function", children=inner)
                made.name = shared[-2].rpartition(":")[0]  # of functions that did the same, the one that did it
                result.append(made)
    return result


def _is_part(network: Network, piece: list[Branch], inner: list[Branch], around: int) -> bool:
    """Whether what a function did is worth a frame of its own among `around` children of its module."""
    if not any(network.learned[leaf.op] for child in piece for leaf in leaves(child)):
        return len(inner) >= FEWEST
    return len(inner) >= FEWEST_LEARNED and (len(piece) <= MOST * around or around > WIDEST)


def _pieces(network: Network, members: list[Branch], depth: int) -> list[list[Branch]]:
    """Return the calls of a function that one line of the code made one after the other: where they are alike, and begin alike."""
    sites = [_path(network, child)[depth:] for child in members]
    starts = [at for at, site in enumerate(sites) if site == sites[0]]
    bounds = [*starts, len(members)]
    size = bounds[1] - bounds[0]
    alike = all(
        sites[start : start + size] == sites[:size] and end - start == size
        for start, end in zip(starts, bounds[1:], strict=True)
    )
    return [members[start : start + size] for start in starts] if alike else [members]
