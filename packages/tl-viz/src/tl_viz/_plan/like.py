"""Which closed modules are nearly like an open one of their class, and what they have more and less."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tl_viz._plan.branch import CONTAINERS
from tl_viz._plan.worth import VIEW, VIEWS

if TYPE_CHECKING:
    from tl_viz._plan.branch import Branch, Tree
    from tl_viz._plan.plan import Plan

NEARLY = 0.35
"""Modules that hold the same modules are nearly alike if no larger share of ops than this is in one alone; views count little."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """How a module differs from one that it is nearly like, in functions and how often they run."""

    model: Branch
    """The module that it is like."""
    more: dict[str, int]
    """What it has beyond that one: first what computes, and of this what the other does not have at all."""
    less: dict[str, int]
    """What only the other one has."""


def compare(tree: Tree, branch: Branch, model: Branch) -> Likeness | None:
    """Return how a module differs from another; None if it does not, by more than a few ops, or by the modules in it.

    It must stand behind the other one.
    """
    if model.last_end > branch.first or _modules(tree, branch) != _modules(tree, model):
        return None
    own, others = _functions(tree, branch), _functions(tree, model)
    worth = _worths(tree, branch) | _worths(tree, model)
    apart = sum(count * worth[name] for name, count in ((own - others) + (others - own)).items())
    if not apart or apart > NEARLY * sum(count * worth[name] for name, count in others.items()):
        return None
    own, others = _runs(tree, branch), _runs(tree, model)
    more, less = own - others, others - own

    def order(name: str) -> tuple[bool, bool, int]:
        return worth[name] == VIEW, name in own and name in others, -abs(own[name] - others[name])

    return Likeness(model, *[{name: found[name] for name in sorted(found, key=order)} for found in (more, less)])


def find_likenesses(plan: Plan) -> dict[int, Likeness]:
    """Return for each closed module that is nearly like an open one before it how it differs from the one nearest to it.

    Modules that are just like an open one are left out: what they hold can be said in fewer words.
    """
    tree = plan.tree
    calls = tree.network.calls
    models: dict[str, dict[int, Branch]] = {}
    """Class -> number of the form -> the first open module of it."""
    found: dict[int, Likeness] = {}
    waiting = [tree.root]
    while waiting:
        branch = waiting.pop()
        name = calls[branch.call].class_name if branch.kind == "module" else ""
        if plan.is_open(branch):
            waiting.extend(reversed(branch.children))
            if name and name not in CONTAINERS:
                models.setdefault(name, {}).setdefault(branch.loose, branch)
        elif branch.children and name in models and branch.loose not in models[name]:
            near = [one for model in models[name].values() if (one := compare(tree, branch, model)) is not None]
            if near:
                found[id(branch)] = min(near, key=lambda one: sum(one.more.values()) + sum(one.less.values()))
    return found


def _modules(tree: Tree, branch: Branch, copies: int = 1) -> Counter[str]:
    """Return how many modules of each class there are in a branch, seen through containers."""
    calls = tree.network.calls
    found: Counter[str] = Counter()
    for child in branch.children:
        name = calls[child.call].class_name if child.call >= 0 else ""
        if name and not (name in CONTAINERS and child.children):
            found[name] += copies * child.copies
        elif child.kind != "chain":
            found += _modules(tree, child, copies * child.copies)
    return found


def _functions(tree: Tree, branch: Branch) -> Counter[str]:
    """Return how many ops of a branch run each function; one that a loop runs again counts once."""
    functions = tree.network.functions
    return Counter(functions[op] for op in tree.op_at[branch.first : branch.end])


def _runs(tree: Tree, branch: Branch) -> Counter[str]:
    """Return how often each function runs in one round of a branch."""
    network = tree.network
    ops = tree.op_at[branch.first : branch.end]
    rounds = min([network.rounds[op] for op in ops if network.roles[op] == "op"], default=1)
    found: Counter[str] = Counter()
    for op in ops:
        found[network.functions[op]] += max(1, network.rounds[op] // rounds)
    return found


def _worths(tree: Tree, branch: Branch) -> dict[str, float]:
    """Return how much each function in a branch counts: little where it only moves numbers, or gives the same in every run."""
    functions, fixed = tree.network.functions, tree.fixed
    found: dict[str, float] = {}
    for op in tree.op_at[branch.first : branch.end]:
        name = functions[op]
        worth = VIEW if fixed[op] or name in VIEWS else 1.0
        found[name] = max(worth, found.get(name, VIEW))
    return found
