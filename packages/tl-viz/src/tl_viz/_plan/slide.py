"""One nested family of plans from everything open to everything closed, by weakest-link pruning.

Each open branch has a ratio, what closing it loses for each item it saves. Closing always the branch with the least ratio gives
plans of which each is a coarsening of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Literal

from tl_viz._plan.branch import NEVER_OPEN
from tl_viz._plan.worth import SAME_BRANCH

if TYPE_CHECKING:
    from tl_viz._plan.branch import Branch, Tree
    from tl_viz._plan.worth import Worth

WRAPPER = 0.6
"""A branch with more than this share of the ops says nothing when it is closed."""

COARSE = 12
"""How many items the coarsest plan may have to open a wrapper."""


@dataclass(frozen=True, slots=True)
class Step:
    """Branches that are closed together, and how many items are visible afterwards."""

    closed: tuple[int, ...]
    items: int


@dataclass(slots=True)
class _State:
    parent: dict[int, Branch]
    items: dict[int, int]
    cost: dict[int, float]
    open: set[int]


def slide(tree: Tree, worth: Worth, *, copies: Literal["only", "closed"]) -> tuple[set[int], int, list[Step]]:
    """Return what is open at first, how many items that shows, and the steps towards the coarsest plan.

    `copies` says what happens to modules whose like has been seen before: they are the only ones that are closed, or they are
    closed from the start.
    """
    state = _start(tree)
    kept = _wrappers(tree)
    free = [
        branch
        for branch in _inner(tree.root)
        if branch is not tree.root and not branch.pinned and id(branch) not in kept
    ]
    repeated = [branch for branch in free if worth.factor[id(branch)] <= SAME_BRANCH]
    heap: list[tuple[float, int, int, int]] = []
    if copies == "closed":
        for branch in repeated:
            if id(branch) in state.open:
                _close(branch, state, worth, heap, {})
    by_id = {id(branch): branch for branch in (repeated if copies == "only" else free)}
    first_open, first_items = set(state.open), state.items[id(tree.root)]
    heap += [
        (_ratio(branch, state, worth), worth.form[id(branch)], branch.first, id(branch))
        for branch in by_id.values()
        if id(branch) in state.open
    ]
    heapify(heap)
    steps: list[Step] = []
    while heap:
        together = _pop_equal(heap, by_id, state, worth)
        if together:
            for branch in together:
                _close(branch, state, worth, heap, by_id)
            ids = tuple(id(branch) for branch in together)
            steps.append(Step(ids, state.items[id(tree.root)]))
    return first_open, first_items, steps


def _inner(root: Branch) -> list[Branch]:
    order = [root]
    for branch in order:
        order.extend(child for child in branch.children if child.children and child.kind not in NEVER_OPEN)
    return order


def _start(tree: Tree) -> _State:
    state = _State({}, {}, {}, set())
    order = _inner(tree.root)
    for branch in reversed(order):
        state.items[id(branch)] = sum(state.items.get(id(child), 1) for child in branch.children)
        state.cost[id(branch)] = 0.0
        state.open.add(id(branch))
        for child in branch.children:
            state.parent[id(child)] = branch
    return state


def _wrappers(tree: Tree) -> set[int]:
    """Return the branches that stay open in the coarsest plan because they hold nearly everything."""
    kept: set[int] = set()
    branch, shown = tree.root, 0
    while branch.children:
        largest = max(branch.children, key=lambda child: child.last_end - child.first)
        whole = len(tree.op_at)
        shown += len(branch.children) - 1
        inside = len(largest.children)
        if (largest.last_end - largest.first) <= WRAPPER * whole or shown + inside > COARSE:
            break
        if largest.kind in NEVER_OPEN or not largest.children:
            break
        kept.add(id(largest))
        branch = largest
    return kept


def _ratio(branch: Branch, state: _State, worth: Worth) -> float:
    saved = state.items[id(branch)] - 1
    lost = worth.close[id(branch)] - state.cost[id(branch)]
    return max(0.0, lost) / saved if saved else max(0.0, lost) * 2


def _pop_equal(
    heap: list[tuple[float, int, int, int]],
    by_id: dict[int, Branch],
    state: _State,
    worth: Worth,
) -> list[Branch]:
    """Pop the branch with the least ratio and all that are equal to it, skipping entries that are out of date."""
    found: list[Branch] = []
    wanted: tuple[float, int] | None = None
    while heap:
        ratio, form, _, number = heap[0]
        branch = by_id[number]
        if number not in state.open or abs(_ratio(branch, state, worth) - ratio) > 1e-9:
            heappop(heap)
            continue
        if wanted is not None and (abs(ratio - wanted[0]) > 1e-9 or form != wanted[1]):
            break
        wanted = (ratio, form)
        heappop(heap)
        found.append(branch)
        state.open.discard(number)
    return found


def _close(
    branch: Branch,
    state: _State,
    worth: Worth,
    heap: list[tuple[float, int, int, int]],
    by_id: dict[int, Branch],
) -> None:
    for inner in _inner(branch):
        state.open.discard(id(inner))
    fewer = state.items[id(branch)] - 1
    dearer = worth.close[id(branch)] - state.cost[id(branch)]
    above = state.parent.get(id(branch))
    while above is not None:
        number = id(above)
        state.items[number] -= fewer
        state.cost[number] += dearer
        if number in by_id and number in state.open:
            entry = (_ratio(above, state, worth), worth.form[number], above.first, number)
            heappush(heap, entry)
        above = state.parent.get(number)
