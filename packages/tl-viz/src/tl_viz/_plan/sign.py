"""Gives equal branches equal numbers: once in every respect, once up to shapes and sizes."""

from __future__ import annotations

from tl_viz._plan.branch import GROWING, Branch, Tree

NONE: frozenset[int] = frozenset()
LIST = -1_000_000
"""Stands for all that is read into lists of any length."""


def sign(tree: Tree) -> None:
    """Set `exact` and `loose` of every branch, the leaves first."""
    order = [tree.root]
    for branch in order:
        order.extend(branch.children)
    exact: dict[object, int] = {}
    loose: dict[object, int] = {}
    grown: dict[int, frozenset[int]] = {}
    """id of a branch -> places outside of it that it reads only into lists of any length."""
    for branch in reversed(order):
        if branch.pinned and branch.kind == "op":
            key: object = ("pinned", tree.network.labels[branch.op])
            branch.exact = exact.setdefault(key, len(exact) + 1)
            branch.loose = loose.setdefault(key, len(loose) + 1)
        elif branch.kind == "op":
            _sign_leaf(tree, branch, exact, loose)
            if tree.network.functions[branch.op] in GROWING:
                grown[id(branch)] = frozenset(branch.outside)
        else:
            _sign_inner(tree, branch, exact, loose, grown)


def _sign_leaf(tree: Tree, branch: Branch, exact: dict[object, int], loose: dict[object, int]) -> None:
    network, op = tree.network, branch.op
    function = network.functions[op]
    parents = network.parents[op]
    count = 0 if function in GROWING else len(parents)
    wiring = (
        ()
        if len(branch.outside) == len(parents)
        else tuple(branch.outside.index(tree.place[parent]) for parent in parents)
    )
    class_name = network.calls[branch.call].class_name if branch.call >= 0 else ""
    rough = (function, class_name, network.roles[op], count, wiring, network.learned[op])
    branch.loose = loose.setdefault(rough, len(loose) + 1)
    fine = (branch.loose, len(parents), network.shapes[op], network.params[op])
    branch.exact = exact.setdefault(fine, len(exact) + 1)


def _sign_inner(
    tree: Tree, branch: Branch, exact: dict[object, int], loose: dict[object, int], grown: dict[int, frozenset[int]]
) -> None:
    first, end = branch.first, branch.end
    lists = _read_by_lists(tree, branch, grown)
    entry = {at: -1 - index for index, at in enumerate(branch.outside)}
    rest = (
        {at: -1 - index for index, at in enumerate([at for at in branch.outside if at not in lists])}
        if lists
        else entry
    )
    fine: list[int] = []
    rough: list[int] = []
    for child in branch.children:
        wires = [at - first if first <= at < end else entry[at] for at in child.outside]
        fine.append(child.exact)
        fine += wires
        rough.append(child.loose)
        many = grown.get(id(child), NONE)
        if many or lists:
            wires = [at - first if first <= at < end else rest.get(at, LIST) for at in child.outside if at not in many]
            wires += [LIST] if many else []
        rough += wires
    class_name = tree.network.calls[branch.call].class_name if branch.call >= 0 else branch.name or branch.kind
    branch.exact = exact.setdefault((class_name, tuple(fine)), len(exact) + 1)
    branch.loose = loose.setdefault((class_name, tuple(rough)), len(loose) + 1)


def _read_by_lists(tree: Tree, branch: Branch, grown: dict[int, frozenset[int]]) -> frozenset[int]:
    """Return what a branch reads from outside only into lists of any length; note it in `grown`."""
    if tree.growing[branch.end] == tree.growing[branch.first]:
        return NONE
    others = {at for child in branch.children for at in child.outside if at not in grown.get(id(child), NONE)}
    found = frozenset([at for at in branch.outside if at not in others])
    if found:
        grown[id(branch)] = found
    return found
