"""What the copies of a stack are called in the headers of frames: layers, blocks, experts, or copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Tree

NOUNS = ("Layer", "Block", "Stage", "Cell", "Expert", "Head", "Encoder", "Decoder", "Unit")
"""Last words of classes that are plain nouns of the trade."""

COPIES = "copies"
"""What copies are called that have no noun of their own, or that stand in stacks of several kinds."""


def noun_of(tree: Tree, branch: Branch, around: str) -> str:
    """Return what the copies of everything in a branch are called, in the plural; an empty string where there is one copy.

    Args:
        tree: the network.
        branch: what is asked about.
        around: the same for the frame around it.
    """
    if branch.copies == 1 or branch.looped:
        return around
    if around or branch.kind != "module":
        return COPIES
    name = tree.network.calls[branch.call].class_name
    return next((f"{noun.lower()}s" for noun in NOUNS if name.endswith(noun)), COPIES)
