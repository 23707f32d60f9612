"""Which of the modules of a class is the one that its name stands for: the form that most of them have.

A stage of a ResNet begins with a block that changes the size; the blocks after it, with their plain shortcuts, are what the network
is known for.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tl_viz._plan.branch import CONTAINERS, NEVER_OPEN

if TYPE_CHECKING:
    from tl_viz._plan.branch import Branch, Tree

OUTERMOST: frozenset[str] = frozenset()


def typical_forms(tree: Tree) -> dict[str, int]:
    """Return the `loose` number that most modules of each class have; of numbers that are there equally often, the first.

    A module inside of another of its class is a part of that one and is not counted.
    """
    calls = tree.network.calls
    number: dict[tuple[str, int], int] = {}
    waiting = [(tree.root, 1, OUTERMOST)]
    while waiting:
        branch, around, classes = waiting.pop()
        copies = around * branch.copies
        if branch.kind == "module":
            name = calls[branch.call].class_name
            if name not in classes:
                number[name, branch.loose] = number.get((name, branch.loose), 0) + copies
                classes = classes | {name}
        if branch.kind not in NEVER_OPEN:
            waiting.extend([(child, copies, classes) for child in reversed(branch.children) if child.children])
    found: dict[str, int] = {}
    for (name, loose), copies in number.items():
        if copies > number.get((name, found.get(name, 0)), 0):
            found[name] = loose
    return found


def open_unlike(tree: Tree, opened: set[int], room: int) -> int:
    """Open modules beside typical ones that they are unlike, and return how many items that adds.

    One is opened for each class of which a typical module is open somewhere, the first that fits, and in it what its neighbour
    does not have.

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


def is_first_unlike(tree: Tree, branch: Branch) -> bool:
    """Whether a branch holds modules of one class of which the first has another form than all others, of which there are several."""
    calls, children = tree.network.calls, branch.children
    if len(children) < 2 or any(child.kind != "module" for child in children):
        return False
    first, *others = children
    forms = {child.loose for child in others}
    several = sum(child.copies for child in others) > 1 and len(forms) == 1
    return several and first.loose not in forms and len({calls[child.call].class_name for child in children}) == 1
