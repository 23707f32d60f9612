"""Puts the ops of a loop that stands in the code, rather than in a module, into one branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._plan.branch import Branch, leaves

if TYPE_CHECKING:
    from tl_viz._network import Network


def gather_loops(network: Network, root: Branch) -> None:
    """Put neighbours that ran equally often, and that carry something from round to round, into branches of their own."""
    if not network.back:
        return
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        if branch.kind in {"bundle", "constants"}:
            continue
        branch.children = _with_loops(network, branch)
        waiting.extend([child for child in branch.children if child.children and child.kind != "loop"])


def _with_loops(network: Network, branch: Branch) -> list[Branch]:
    result: list[Branch] = []
    run: list[Branch] = []
    times = 0
    for child in [*branch.children, None]:
        rounds = 0 if child is None else _rounds(network, child)
        if run and rounds != times:
            result += [Branch("loop", children=run)] if len(run) > 1 and _carries(network, run) else run
            run = []
        times = rounds
        if rounds > 1 and child is not None:
            run.append(child)
        elif child is not None:
            result.append(child)
    return result if len(result) > 1 or branch.kind == "root" else branch.children


def _rounds(network: Network, branch: Branch) -> int:
    """Return how many passes every op of a branch has, or 0 where they differ."""
    found = {network.rounds[leaf.op] for leaf in leaves(branch)}
    return found.pop() if len(found) == 1 else 0


def _carries(network: Network, run: list[Branch]) -> bool:
    """Whether an op of these reads another of them, or itself, of the round before."""
    ops = {leaf.op for child in run for leaf in leaves(child)}
    return any(parent in ops for op in ops for parent in network.back.get(op, ()))
