"""Keeps modules closed that are nested deeper than a user wants to look."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._plan.branch import Tree


def shut_below(tree: Tree, depth: int) -> None:
    """Empty every module that stands `depth` modules deep, so that it can only be drawn closed."""
    waiting = [(tree.root, 0)]
    while waiting:
        branch, level = waiting.pop()
        for child in branch.children:
            inner = level + (child.kind == "module")
            if child.kind == "module" and inner >= depth:
                child.children = []
            elif child.children:
                waiting.append((child, inner))
