"""What a plan draws as boxes."""

from __future__ import annotations


def visible(plan):
    """Return what is drawn as one box each, in order, with how far from there it stands in each copy."""
    found, waiting = [], [(child, (0,)) for child in reversed(plan.tree.root.children)]
    while waiting:
        branch, around = waiting.pop()
        starts = (branch.first, *branch.others)
        shifts = tuple(outer + start - branch.first for outer in around for start in starts)
        if branch.children and plan.is_open(branch):
            waiting.extend((child, shifts) for child in reversed(branch.children))
        else:
            found.append((branch, shifts))
    return found
