"""The shapes of what a box gives away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._names import shape_range

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Tree

MOST = 2
"""So many shapes are written; the others are counted."""


def shapes_of(tree: Tree, branch: Branch, last: int) -> list[str]:
    """Return the shapes of what a branch gives away, each once: of a closed box all of them, of an op the last.

    Args:
        tree: the network.
        branch: what is asked about.
        last: how far from its place in the first copy it stands in the last.
    """
    if branch.end == branch.first or branch.kind in {"segment", "constants"}:
        return []
    shapes, op_at = tree.network.shapes, tree.op_at
    places = [] if branch.op >= 0 else leaving(tree, branch)
    texts = [shape_range(shapes[op_at[at]], shapes[op_at[at + last]]) for at in places or [_outlet(tree, branch)]]
    return list(dict.fromkeys([text for text in texts if text]))


def shapes_text(texts: list[str], most: int = MOST) -> str:
    """Return shapes as one text, so many of them; the others are counted."""
    rest = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {rest} more" if rest > 0 else "")


def leaving(tree: Tree, branch: Branch) -> list[int]:
    """Return the places in the first copy of what leaves all copies, from any of them."""
    shifts = (0, *[start - branch.first for start in branch.others])
    return [
        at
        for at in range(branch.first, branch.end)
        if any(_is_read_outside(tree, branch, at + shift) for shift in shifts)
    ]


def _is_read_outside(tree: Tree, branch: Branch, at: int) -> bool:
    """Whether what stands at a place is read outside of a branch, and not only for its size."""
    return any(
        not branch.first <= reader < branch.last_end
        and (tree.fixed[tree.op_at[at]] or not tree.fixed[tree.op_at[reader]])
        for reader in tree.readers[at]
    )


def _outlet(tree: Tree, branch: Branch) -> int:
    """Return the place of what a branch gives away last."""
    first, end = branch.first, branch.end
    for at in range(end - 1, first - 1, -1):
        if any(not first <= reader < end for reader in tree.readers[at]):
            return at
    return end - 1
