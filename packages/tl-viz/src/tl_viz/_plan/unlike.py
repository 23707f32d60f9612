"""Opens modules that stand beside a typical one of their class and are unlike it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tl_viz._plan.branch import CONTAINERS
from tl_viz._plan.like import compare
from tl_viz._plan.typical import typical_forms

if TYPE_CHECKING:
    from tl_viz._plan.branch import Branch, Tree


def open_unlike(tree: Tree, opened: set[int], room: int) -> int:
    """Open modules beside typical ones that they are unlike, and return how many items that adds.

    One is opened for each class of which a typical module is open somewhere, the first that fits, and in it what its neighbour
    does not have. One that follows its like and differs from it by few ops stays closed: it says which.

    Args:
        tree: the tree.
        opened: ids of what is open; what is opened is added.
        room: how many more items there may be.
    """
    typical = typical_forms(tree)
    frames = [tree.root]
    for branch in frames:
        frames.extend([child for child in branch.children if id(child) in opened])
    shown = {branch.loose for branch in frames if branch.kind == "module"}
    left = room
    done: set[str] = set()
    for branch in frames:
        for one, other in pairwise(branch.children):
            name = _shared_class(tree, one, other)
            if not name or name in done or one.loose == other.loose or typical.get(name) not in shown:
                continue
            like, unlike = (one, other) if one.loose == typical[name] else (other, one)
            if id(unlike) not in opened and compare(tree, unlike, like):
                done.add(name)
                continue
            more = 0 if id(unlike) in opened else len(unlike.children) - 1
            if like.loose == typical[name] and more <= left:
                done.add(name)
                opened.add(id(unlike))
                left -= more
                left -= _open_new(unlike, like, opened, left)
    return room - left


def _shared_class(tree: Tree, one: Branch, other: Branch) -> str:
    """Return the class of two modules that can be opened, if it is the same."""
    if one.kind != "module" or other.kind != "module" or not one.children or not other.children:
        return ""
    calls = tree.network.calls
    name = calls[one.call].class_name
    return name if name == calls[other.call].class_name and name not in CONTAINERS else ""


def _open_new(branch: Branch, like: Branch, opened: set[int], room: int) -> int:
    """Open what a module has beyond one that it is like, as far as there is room; return how many items that adds."""
    added = 0
    known = {child.loose for child in like.children}
    for child in branch.children:
        more = len(child.children) - 1
        if (
            child.kind == "module"
            and child.loose not in known
            and id(child) not in opened
            and 0 <= more <= room - added
        ):
            opened.add(id(child))
            added += more
    return added
