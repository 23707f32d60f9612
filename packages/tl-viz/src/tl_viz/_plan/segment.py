"""Cuts a level with too many items into consecutive pieces, so that there is always a plan."""

from __future__ import annotations

import itertools
from math import ceil

from tl_viz._plan.branch import NEVER_OPEN, PIECE, WIDEST, Branch, Tree


def cut_wide_levels(tree: Tree) -> None:
    """Put consecutive children of every level that is too wide into segments, until no level is."""
    waiting = [tree.root]
    while waiting:
        branch = waiting.pop()
        if branch.kind != "bundle":
            while len(branch.children) > WIDEST:
                branch.children = _cut(tree, branch)
        waiting.extend(child for child in branch.children if child.children)


def cut_levels(tree: Tree, which: set[int]) -> None:
    """Put consecutive children of all branches with one of these `loose` numbers into segments."""
    waiting = [tree.root]
    while waiting:
        branch = waiting.pop()
        waiting.extend([child for child in branch.children if child.children and child.kind not in NEVER_OPEN])
        if branch.loose in which and len(branch.children) > PIECE:
            branch.children = _cut(tree, branch)


def _cut(tree: Tree, branch: Branch) -> list[Branch]:
    children = branch.children
    bounds = [0, *_cuts(tree, children), len(children)]
    pieces: list[Branch] = []
    for start, end in itertools.pairwise(bounds):
        items = children[start:end]
        pieces.append(items[0] if len(items) == 1 else segment_of(items))
    return pieces


def segment_of(items: list[Branch]) -> Branch:
    """Return one branch around consecutive siblings."""
    first, end = items[0].first, items[-1].last_end
    reads = [at for item in items for at in item.outside if not first <= at < end]
    segment = Branch("segment", children=items)
    segment.first, segment.end, segment.last_end = first, end, end
    segment.outside = tuple(dict.fromkeys(reads))
    segment.pinned = any(item.pinned for item in items)
    return segment


def _cuts(tree: Tree, children: list[Branch]) -> list[int]:
    """Return where to cut: pieces of about equal length, borders where the fewest tensors pass.

    A dynamic programme over the borders: the cost of a piece is the tensors that pass its end, and how far its length is
    from the wanted one.
    """
    count = len(children)
    length = max(PIECE, ceil(count / PIECE))
    passing = _passing(tree, children)
    low, high = max(2, length // 2), length + length // 2
    step = max(1, length // 12)
    best: dict[int, tuple[float, int]] = {0: (0.0, 0)}
    stops = sorted({*range(0, count, step), count})
    for end in stops[1:]:
        options = [
            (
                best[start][0] + (passing[end] if end < count else 0.0) + 2.0 * abs(end - start - length) / length,
                start,
            )
            for start in range(max(0, (end - high) // step * step), end - low + 1, step)
            if start in best
        ]
        if options:
            best[end] = min(options)
    if count not in best:  # a rest that is too short joins the piece before it
        end = max(best)
        best[count] = (0.0, best[end][1] if end and count - end < low else end)
    cuts: list[int] = []
    at = best[count][1]
    while at > 0:
        cuts.append(at)
        at = best[at][1]
    return cuts[::-1]


def _passing(tree: Tree, children: list[Branch]) -> list[int]:
    """Return for every border between children how many tensors pass it."""
    owner_starts = [child.first for child in children]
    change = [0] * (len(children) + 1)
    reach: dict[int, int] = {}
    for index, child in enumerate(children):
        for at in child.outside:
            reach[at] = index
    begin = owner_starts[0]
    index = 0
    for at in sorted(reach):
        if at < begin:
            continue
        while index + 1 < len(owner_starts) and owner_starts[index + 1] <= at:
            index += 1
        if reach[at] > index:
            change[index + 1] += 1
            change[reach[at] + 1 if reach[at] + 1 < len(change) else -1] -= 1
    total = 0
    passing: list[int] = []
    for value in change:
        total += value
        passing.append(total)
    return passing
