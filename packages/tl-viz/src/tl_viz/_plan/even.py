"""Chooses what to open so that no single box hides too much of what the picture never shows."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from tl_viz._plan.branch import NEVER_OPEN, PIECE
from tl_viz._plan.choose import MOST, PRICE, choose
from tl_viz._plan.unlike import open_unlike
from tl_viz._plan.worth import NAMED, entering, is_helper

if TYPE_CHECKING:
    from tl_viz._plan.branch import Branch, Tree
    from tl_viz._plan.worth import Worth

LARGEST = 0.35
"""The share of all distinct content that one box may hide from the whole picture."""

FEW = 8
"""A network of fewer kinds of ops than this is understood by its module names."""

TRIALS, ROUNDS = 8, 3
"""How many boxes are tried for this reason, and how often one of them is taken."""

SOME = 0.5
"""A box that hides this much of `LARGEST` is tried as well: what it shows, a larger one need not."""

Choice = tuple[set[int], int, float]
"""ids of the open branches, the number of items, and the cost."""

Offender = tuple[float, int, "Branch"]
"""Share that a box hides, its place, and the box."""


def choose_evenly(tree: Tree, worth: Worth, *, most: int) -> Choice | None:
    """Return the choice of `choose`, with boxes opened that alone hide more than `LARGEST`, as far as they fit.

    Content is hidden where a kind of op is inside of a closed box and visible nowhere in the picture.
    """
    best = choose(tree, worth, most=most)
    if best is None:
        return None
    if _largest(tree, worth, best) > LARGEST:
        best = _evened(tree, worth, best, most=most)
    opened, items, cost = _with_a_join(tree, worth, best, most=most)
    opened = set(opened)
    return opened, items + open_unlike(tree, opened, min(most, MOST) - items), cost


def too_full(tree: Tree, worth: Worth, opened: set[int]) -> set[int]:
    """Return the `loose` numbers of boxes that hide too much, or what a larger one does, and that hold many items side by side."""
    shares = hidden_shares(tree, worth, opened)
    if max([share for share, _ in shares], default=0.0) <= LARGEST:
        return set()
    return {branch.loose for share, branch in shares if share > SOME * LARGEST and len(branch.children) > PIECE}


def _evened(tree: Tree, worth: Worth, best: Choice, *, most: int) -> Choice:
    """Return a choice in which boxes that hide too much were opened: one of them shows what the others hide too."""
    kept: set[int] = set()
    for _ in range(ROUNDS):
        if _largest(tree, worth, best) <= LARGEST:
            break
        closed: dict[int, Offender] = {}
        for share, branch in hidden_shares(tree, worth, best[0]):
            if share > SOME * LARGEST:
                closed.setdefault(worth.form[id(branch)], (share, -branch.first, branch))
        most_first = sorted(closed.values(), key=itemgetter(0, 1), reverse=True)
        found = [_opened(tree, worth, (best, kept), root, most=most) for _, _, root in most_first[:TRIALS]]
        if not found:
            break
        better = min(found, key=lambda one: _badness(tree, worth, one[0]))
        if _badness(tree, worth, better[0]) >= _badness(tree, worth, best):
            break
        best, kept = better
    enough = max(LARGEST, _largest(tree, worth, best))
    for number in tuple(kept):  # what was opened later may show what this was opened for
        worth.forced = kept - {number}
        other = choose(tree, worth, most=most)
        if other is not None and _largest(tree, worth, other) <= enough:
            best = other
            kept.discard(number)
    worth.forced = set()
    return best


def _badness(tree: Tree, worth: Worth, choice: Choice) -> tuple[float, float]:
    return max(LARGEST, _largest(tree, worth, choice)), choice[2] + PRICE * choice[1]


def _opened(
    tree: Tree, worth: Worth, so_far: tuple[Choice, set[int]], root: Branch, *, most: int
) -> tuple[Choice, set[int]]:
    """Return a choice in which a box was opened, and what in it hides too much, as far as it fits; with what that opened."""
    best, kept = so_far
    forced = {*kept, id(root)}
    while True:
        worth.forced = forced
        other = choose(tree, worth, most=most)
        if other is None:
            break
        best, kept = other, set(forced)
        inner: list[Offender] = [
            (share, -branch.first, branch)
            for share, branch in hidden_shares(tree, worth, best[0])
            if share > LARGEST and root.first <= branch.first < root.end and id(branch) not in forced
        ]
        if not inner:
            break
        forced = {*forced, id(max(inner, key=itemgetter(0, 1))[2])}
    worth.forced = set()
    return best, kept


def _with_a_join(tree: Tree, worth: Worth, best: Choice, *, most: int) -> Choice:
    """Return a choice that shows a place where tensors join, where there is any: one box is opened for it, the cheapest."""
    hiding: dict[int, list[int]] = {}
    """Form of a branch that holds a join -> the branch and those around it that are closed."""
    waiting: list[tuple[Branch, list[int]]] = [(tree.root, [])]
    while waiting:
        branch, around = waiting.pop()
        shown = not around and id(branch) not in best[0]
        if shown and branch.kind != "bundle" and entering(tree, branch) > 1:
            return best
        if not branch.children or branch.kind in NEVER_OPEN:
            continue
        inner = [*around, id(branch)] if around or shown else around
        if inner and any(entering(tree, child) > 1 for child in branch.children):
            hiding.setdefault(worth.form[id(branch)], inner)
        waiting.extend([(child, inner) for child in reversed(branch.children)])
    found: list[Choice] = []
    for ids in list(hiding.values())[:TRIALS]:
        worth.forced.update(ids)
        other = choose(tree, worth, most=most)
        found += [other] if other is not None else []
        worth.forced.clear()
    return min(found, key=lambda choice: choice[2] + PRICE * choice[1], default=best)


def _largest(tree: Tree, worth: Worth, choice: Choice) -> float:
    return max([share for share, _ in hidden_shares(tree, worth, choice[0])], default=0.0)


def hidden_shares(tree: Tree, worth: Worth, opened: set[int]) -> list[tuple[float, Branch]]:
    """Return for each closed box which share of all distinct content it hides: of kinds of ops, by what each is worth."""
    visible: set[int] = set()
    closed: list[Branch] = []
    waiting = [tree.root]
    while waiting:
        branch = waiting.pop()
        if branch.kind == "bundle":
            continue
        if not branch.children:
            visible.add(branch.loose)
        elif id(branch) in opened:
            waiting.extend(reversed(branch.children))
        else:
            visible.update(child.loose for child in branch.children if branch.op >= 0 and child.op == branch.op)
            closed.append(branch)
    kinds = worth.contents.get(worth.form[id(tree.root)], {})
    if len(kinds) < FEW:
        return []
    leaf = worth.leaf
    whole = sum(leaf[kind] for kind in kinds)
    share: dict[int, float] = {}
    for branch in closed:
        form = worth.form[id(branch)]
        if form not in share:
            share[form] = sum(leaf[kind] for kind in worth.contents[form] if kind not in visible) / whole
    return [(share[worth.form[id(branch)]] * (NAMED if is_helper(tree, branch) else 1.0), branch) for branch in closed]
