"""Gives equal branches equal numbers: once in every respect, once up to shapes and sizes."""

from __future__ import annotations

from tl_viz._plan.branch import GROWING, Branch, Tree


def sign(tree: Tree) -> None:
    """Set `exact` and `loose` of every branch, the leaves first."""
    order = [tree.root]
    for branch in order:
        order.extend(branch.children)
    exact: dict[object, int] = {}
    loose: dict[object, int] = {}
    for branch in reversed(order):
        if branch.pinned and branch.kind == "op":
            key: object = ("pinned", tree.network.labels[branch.op])
            branch.exact = exact.setdefault(key, len(exact) + 1)
            branch.loose = loose.setdefault(key, len(loose) + 1)
        elif branch.kind == "op":
            _sign_leaf(tree, branch, exact, loose)
        else:
            _sign_inner(tree, branch, exact, loose)


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


def _sign_inner(tree: Tree, branch: Branch, exact: dict[object, int], loose: dict[object, int]) -> None:
    first, end = branch.first, branch.end
    entry = {at: -1 - index for index, at in enumerate(branch.outside)}
    fine: list[int] = []
    rough: list[int] = []
    functions = tree.network.functions
    for child in branch.children:
        wires = [at - first if first <= at < end else entry[at] for at in child.outside]
        fine.append(child.exact)
        fine += wires
        rough.append(child.loose)
        if child.kind == "op" and functions[child.op] in GROWING:
            rough.append(-1_000_000)
        else:
            rough += wires
    class_name = tree.network.calls[branch.call].class_name if branch.call >= 0 else branch.kind
    branch.exact = exact.setdefault((class_name, tuple(fine)), len(exact) + 1)
    branch.loose = loose.setdefault((class_name, tuple(rough)), len(loose) + 1)
