"""Which of the modules of a class is the one that its name stands for: the form that most of them have.

A stage of a ResNet begins with a block that changes the size; the blocks after it, with their plain shortcuts, are what the network
is known for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._plan.branch import NEVER_OPEN

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


def is_first_unlike(tree: Tree, branch: Branch) -> bool:
    """Whether a branch holds modules of one class of which the first has another form than all others, of which there are several."""
    calls, children = tree.network.calls, branch.children
    if len(children) < 2 or any(child.kind != "module" for child in children):
        return False
    first, *others = children
    forms = {child.loose for child in others}
    several = sum(child.copies for child in others) > 1 and len(forms) == 1
    return several and first.loose not in forms and len({calls[child.call].class_name for child in children}) == 1
