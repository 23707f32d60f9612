"""Finds runs of equal siblings and folds each into its first copy.

A run may have a period above one, such as [local, global] times six. Copies must be wired alike: whatever one copy reads comes
from the copy before it, or from one tensor that all of them share, or from tensors of one kind; and what one copy gives away, all do.
"""

from __future__ import annotations

from dataclasses import dataclass

from tl_viz._plan.branch import NEVER_OPEN, Branch, Tree

LONGEST_PERIOD = 8


@dataclass(frozen=True, slots=True)
class Run:
    """Siblings `start` to `start + period * copies`, folded into the first `period` of them."""

    start: int
    period: int
    copies: int
    saved: int

    @property
    def end(self) -> int:
        """One past the last sibling of the run."""
        return self.start + self.period * self.copies


def fold(tree: Tree) -> None:
    """Fold the runs of every branch, the inner ones first."""
    order = [tree.root]
    for branch in order:
        order.extend(branch.children)
    known: dict[object, list[Run]] = {}
    containers = [call.address.rpartition(".")[0] for call in tree.network.calls]
    containers.append("")  # of what is no module
    leaving: dict[int, list[int]] = {}
    """id of a branch -> places in it that are read outside of it."""
    readers = tree.readers
    for branch in reversed(order):
        if not branch.children:
            continue
        end = branch.end
        found: list[int] = []
        for child in branch.children:
            if child.children:
                found += [at for at in leaving[id(child)] if readers[at][-1] >= end]
            elif (own := readers[child.first]) and own[-1] >= end:
                found.append(child.first)
        leaving[id(branch)] = found
        if len(branch.children) > 1 and branch.kind not in NEVER_OPEN:
            _fold_children(tree, branch, known, (containers, found))


def _fold_children(
    tree: Tree, branch: Branch, known: dict[object, list[Run]], about: tuple[list[str], list[int]]
) -> None:
    """Fold the runs of one branch.

    Args:
        tree: the tree.
        branch: the branch.
        known: the runs of branches that were equal, and used and fed alike.
        about: the address of what each module call is registered on, and the places in the branch that are read outside.
    """
    containers, leaving = about
    children = branch.children
    loose = [child.loose for child in children]
    if len(set(loose)) == len(loose):
        return
    kinds: dict[tuple[int, str], int] = {}
    loose = [kinds.setdefault((child.loose, containers[child.call]), len(kinds)) for child in children]
    key = _look(tree, branch, loose, leaving)
    runs = known.get(key)
    if runs is None:
        found = _candidates(tree, children, loose)
        runs = known[key] = _choose(found, len(children)) if found else []
    if not runs:
        return
    folded: list[Branch] = []
    at = 0
    for run in runs:
        folded += children[at : run.start]
        folded.append(_folded(tree, children, run))
        at = run.end
    branch.children = folded + children[at:]


def _look(tree: Tree, branch: Branch, loose: list[int], leaving: list[int]) -> object:
    """Return a key that two branches share only if they have the same runs.

    Those depend on what is inside, on the functions that feed it, and on what is read outside, and by which functions.
    """
    functions, op_at, end = tree.network.functions, tree.op_at, branch.end
    fed = tuple([functions[op_at[at]] for at in branch.outside])
    used: list[object] = []
    for at in leaving:
        readers = tree.readers[at]
        used.append((at - branch.first, *sorted({functions[op_at[reader]] for reader in readers if reader >= end})))
    return branch.exact, tuple(loose), fed, tuple(used)


def _candidates(tree: Tree, children: list[Branch], loose: list[int]) -> list[Run]:
    found: list[Run] = []
    count = len(children)
    for period in range(1, min(LONGEST_PERIOD, count // 2) + 1):
        start = 0
        while start + 2 * period <= count:
            stop = start
            while stop + period < count and loose[stop] == loose[stop + period]:
                stop += 1
            copies = (stop - start) // period + 1
            if copies > 1 and not _repeats_inside(loose, start, period):
                found += _legal(tree, children, start, period, copies)
                start = max(start + 1, stop - period + 1)
            else:
                start = stop + 1 if stop > start else start + 1
    return found


def _repeats_inside(loose: list[int], start: int, period: int) -> bool:
    """Whether the period is itself a repetition of a shorter one, which is then the better choice."""
    return any(
        period % shorter == 0 and all(loose[start + index] == loose[start + index % shorter] for index in range(period))
        for shorter in range(1, period)
    )


def _legal(tree: Tree, children: list[Branch], start: int, period: int, copies: int) -> list[Run]:
    """Cut a run wherever two neighbours are wired differently; keep the parts that are worth folding."""
    parts: list[Run] = []
    if copies == 2 and all(child.op >= 0 for child in children[start : start + period]):
        return parts
    begin = 0
    bounds = [
        (children[start + index * period].first, children[start + (index + 1) * period - 1].end)
        for index in range(copies)
    ]
    reads = [
        _reads(tree, children[start + index * period : start + (index + 1) * period], bound)
        for index, bound in enumerate(bounds)
    ]
    last_of_all = bounds[-1][1]
    for index in range(1, copies + 1):
        joins = index < copies and _same_wiring(tree, bounds, reads, begin, index)
        joins = joins and _gives(tree, bounds[index - 1], last_of_all) == _gives(tree, bounds[begin], last_of_all)
        if joins and not _carried(bounds[index - 1], reads[index]):
            joins = _readers_of(tree, bounds[index]) == _readers_of(tree, bounds[begin])
        if joins:
            continue
        run = _worth(children, start + begin * period, period, index - begin)
        if run is not None:
            parts.append(run)
        begin = index
    return parts


def _worth(children: list[Branch], start: int, period: int, copies: int) -> Run | None:
    items = children[start : start + period]
    size = sum(child.size for child in items)
    # Two copies of a few ops are read sooner when they are spelled out, and so are two stages of unlike sizes; two blocks are not.
    if copies < 2 or (copies == 2 and (all(child.op >= 0 for child in items) or _differ(children, start, period))):
        return None
    return Run(start, period, copies, (copies - 1) * size * 16 - period)


def _differ(children: list[Branch], start: int, period: int) -> bool:
    """Whether two copies of several items differ in their sizes."""
    first, second = children[start : start + period], children[start + period : start + 2 * period]
    return period > 1 and any(one.exact != other.exact for one, other in zip(first, second, strict=True))


def _reads(tree: Tree, items: list[Branch], bound: tuple[int, int]) -> list[tuple[int, bool]]:
    """Return the places that one copy reads outside of itself, and whether a list of any length does so."""
    found: dict[int, bool] = {}
    growing = tree.growing
    for item in items:
        grows = growing[item.end] > growing[item.first]
        for at in item.outside:
            if not bound[0] <= at < bound[1]:
                found[at] = found.get(at, False) or grows
    return list(found.items())


def _same_wiring(
    tree: Tree,
    bounds: list[tuple[int, int]],
    reads: list[list[tuple[int, bool]]],
    begin: int,
    index: int,
) -> bool:
    """Whether copy `index` reads as the copy before it does."""
    before, here = reads[index - 1], reads[index]
    if len(before) != len(here):
        return all(grows for _, grows in before) and all(grows for _, grows in here)
    low, high = bounds[index - 1]
    older = bounds[index - 2] if index - 2 >= begin else None
    for (was, grew), (now, grows) in zip(before, here, strict=True):
        if was == now or (grew and grows):
            continue
        if low <= now < high:
            if older is not None and was - older[0] != now - low:
                return False
        elif low <= was or not _one_kind(tree, was, now, bounds[begin][0]):
            return False
    return True


def _one_kind(tree: Tree, was: int, now: int, run_start: int) -> bool:
    """Whether two tensors from outside of the run come from ops of one kind."""
    if was >= run_start or now >= run_start:
        return False
    network = tree.network
    one, other = tree.op_at[was], tree.op_at[now]
    return network.functions[one] == network.functions[other]


def _carried(before: tuple[int, int], reads: list[tuple[int, bool]]) -> bool:
    """Whether a copy reads the copy before it; if not, they stand beside each other."""
    return any(before[0] <= at < before[1] for at, _ in reads)


def _readers_of(tree: Tree, bound: tuple[int, int]) -> list[tuple[int, tuple[str, ...]]]:
    """Return which ops of a copy are read outside of it, and by which functions: the same for copies beside each other."""
    first, end = bound
    functions, op_at = tree.network.functions, tree.op_at
    found: list[tuple[int, tuple[str, ...]]] = []
    for at in range(first, end):
        readers = tree.readers[at]
        if readers and readers[-1] >= end:
            outside = sorted({functions[op_at[reader]] for reader in readers if reader >= end})
            found.append((at - first, tuple(outside)))
    return found


def _gives(tree: Tree, bound: tuple[int, int], last_of_all: int) -> tuple[int, ...]:
    """Return which ops of a copy are read after the whole run."""
    first, end = bound
    readers = tree.readers
    return tuple([at - first for at in range(first, end) if readers[at] and readers[at][-1] >= last_of_all])


def _choose(candidates: list[Run], count: int) -> list[Run]:
    """Return the runs without overlap that save the most."""
    by_end: dict[int, list[Run]] = {}
    for run in candidates:
        by_end.setdefault(run.end, []).append(run)
    best = [0] * (count + 1)
    taken: list[Run | None] = [None] * (count + 1)
    for end in range(1, count + 1):
        best[end] = best[end - 1]
        for run in by_end.get(end, ()):
            if best[run.start] + run.saved > best[end]:
                best[end] = best[run.start] + run.saved
                taken[end] = run
    chosen: list[Run] = []
    end = count
    while end > 0:
        run = taken[end]
        if run is None:
            end -= 1
        else:
            chosen.append(run)
            end = run.start
    return chosen[::-1]


def _folded(tree: Tree, children: list[Branch], run: Run) -> Branch:
    """Return the branch that stands for a run: the only item of the first copy, or a frame around its items."""
    items = children[run.start : run.start + run.period]
    starts = tuple([children[run.start + index * run.period].first for index in range(1, run.copies)])
    last = children[run.end - 1]
    alike = all(
        children[index].exact == children[index - run.period].exact for index in range(run.start + run.period, run.end)
    )
    if run.period == 1 and items[0].copies == 1:
        branch = items[0]
    else:
        branch = Branch("run", children=items)
        branch.first, branch.end = items[0].first, items[-1].end
        branch.exact, branch.loose = items[0].exact, -items[0].loose
        branch.outside = items[0].outside
    branch.copies = run.copies
    branch.alike = alike
    branch.others = starts
    branch.last_end = last.last_end
    branch.looped = _looped(tree, children, run)
    branch.dense = _dense(children, run)
    return branch


def _dense(children: list[Branch], run: Run) -> bool:
    """Whether each copy reads every copy before it, as the layers of a DenseNet do: the last copy tells."""
    if run.copies < 3:
        return False
    owner = {
        at: copy
        for copy in range(run.copies - 1)
        for child in children[run.start + copy * run.period : run.start + (copy + 1) * run.period]
        for at in range(child.first, child.last_end)
    }
    last = {at for child in children[run.end - run.period : run.end] for at in child.outside}
    return len({owner[at] for at in last if at in owner}) == run.copies - 1


def _looped(tree: Tree, children: list[Branch], run: Run) -> bool:
    """Whether every module in the run is the same one, called again."""
    calls = tree.network.calls
    addresses = [
        {calls[child.call].address for child in children[run.start + offset : run.end : run.period] if child.call >= 0}
        for offset in range(run.period)
    ]
    named = [group for group in addresses if group]
    return bool(named) and all(len(group) == 1 for group in named)
