"""The exact choice of what to open: for every number of visible items, the plan that hides the least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._plan.branch import NEVER_OPEN

if TYPE_CHECKING:
    from tl_viz._plan.branch import Branch, Tree
    from tl_viz._plan.worth import Worth

FEWEST, MOST = 12, 40
"""How many items a picture should have."""

PRICE = 0.8
"""What one more visible item costs."""

FRAME = 0.2
"""What one open frame costs."""

TANGLE = 0.1
"""What a line costs in an open frame beyond one for each item in it. It does not depend on what is open inside."""

INFINITE = float("inf")

LEAF: list[float] = [INFINITE, 0.0]

Table = list[float]
"""Number of items -> least cost; entry 0 is never used."""


def choose(tree: Tree, worth: Worth, *, most: int = MOST) -> tuple[set[int], int, float] | None:
    """Return the ids of the open branches, the number of items, and the cost; None if pins do not fit into `most`."""
    tables = _tables(tree, worth, most)
    table = tables[id(tree.root)]
    options = [(cost + PRICE * count, count) for count, cost in enumerate(table) if cost < INFINITE]
    if not options:
        return None
    enough = [option for option in options if option[1] >= FEWEST] or [max(options, key=lambda o: o[1])]
    cost, count = min(enough)
    opened: set[int] = set()
    _trace_back(tree.root, count, tables, worth, opened)
    return opened, count, cost


def _tables(tree: Tree, worth: Worth, most: int) -> dict[int, Table]:
    order = [tree.root]
    for branch in order:
        order.extend(branch.children)
    tables: dict[int, Table] = {}
    apart = set(worth.forced)
    """Branches that must stay open, and those around them: they are not as others of their form are."""
    for branch in reversed(order):
        if not branch.children:
            tables[id(branch)] = LEAF
            continue
        number = id(branch)
        if apart and (number in apart or any(id(child) in apart for child in branch.children)):
            apart.add(number)
            tables[number] = _table(tree, branch, tables, worth, most)
            continue
        key = (most, worth.form[number], worth.factor[number], worth.close[number])
        table = worth.known.get(key)
        if table is None:
            table = worth.known[key] = _table(tree, branch, tables, worth, most)
        tables[number] = table
    return tables


def _table(tree: Tree, branch: Branch, tables: dict[int, Table], worth: Worth, most: int) -> Table:
    table: Table = [0.0]
    leaves = 0
    for child in branch.children:
        if child.children:
            table = _join(table, tables[id(child)], most)
        else:
            leaves += 1
    table = ([INFINITE] * leaves + table)[: most + 1]
    if len(table) == 1:
        table.append(INFINITE)
    root = branch is tree.root
    if not root:
        lines = sum(len(child.outside) for child in branch.children)
        price = FRAME + TANGLE * max(0, lines - len(branch.children))
        table = [cost + price for cost in table]
    if not root:
        closed = INFINITE if branch.pinned or id(branch) in worth.forced else worth.close[id(branch)]
        table[1] = min(table[1], closed) if len(table) > 1 else closed
        if branch.kind in NEVER_OPEN:
            table = [INFINITE, closed]
    return table


def _join(one: Table, other: Table, most: int) -> Table:
    """Return the least cost of showing both, for every number of items up to `most`."""
    size = min(most, len(one) + len(other) - 2)
    joined = [INFINITE] * (size + 1)
    for count, cost in enumerate(one):
        if cost == INFINITE:
            continue
        for more, further in enumerate(other):
            at = count + more
            if at > size:
                break
            total = cost + further
            if total < joined[at]:
                joined[at] = total
    return joined


def _trace_back(root: Branch, count: int, tables: dict[int, Table], worth: Worth, opened: set[int]) -> None:
    """Add the ids of the branches that the best plan with `count` items opens."""
    waiting = [(root, count)]
    while waiting:
        branch, items = waiting.pop()
        if not branch.children or (branch.kind in NEVER_OPEN):
            continue
        if branch is not root and items == 1 and not branch.pinned and id(branch) not in worth.forced:
            alone = len(branch.children) == 1 and tables[id(branch)][1] < worth.close[id(branch)]
            if not alone:
                continue
        opened.add(id(branch))
        waiting += _shares(branch.children, items, tables)


def _shares(children: list[Branch], items: int, tables: dict[int, Table]) -> list[tuple[Branch, int]]:
    """Return how many of `items` each child gets in the best plan."""
    prefixes: list[Table] = [tables[id(children[0])]]
    for child in children[1:]:
        prefixes.append(_join(prefixes[-1], tables[id(child)], items))
    shares: list[tuple[Branch, int]] = []
    left = items
    for index in range(len(children) - 1, 0, -1):
        own, before = tables[id(children[index])], prefixes[index - 1]
        best = min(
            (before[left - count] + own[count], count)
            for count in range(1, min(left, len(own)))
            if left - count < len(before)
        )
        shares.append((children[index], best[1]))
        left -= best[1]
    shares.append((children[0], left))
    return shares
