"""Joins to an op what says nothing by itself: views that lead to it or follow from it alone, and outputs that nobody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._plan.branch import Branch

if TYPE_CHECKING:
    from tl_viz._network import Network

SPLICED = frozenset(
    [
        "view", "reshape", "transpose", "permute", "contiguous", "flatten", "unflatten", "squeeze", "unsqueeze", "expand",
        "expand_as", "view_as", "reshape_as", "t", "T", "mT", "movedim", "swapaxes", "swapdims", "to", "type_as", "float",
        "half", "bfloat16", "type", "clone", "detach", "getitem", "narrow", "select",
    ]
)  # fmt: skip
"""Functions that give back the numbers of one tensor in another form."""


SMALL = 40
"""A network of no more ops than this has room for its views."""


def join_chains(network: Network, root: Branch, readers: list[list[int]]) -> None:
    """Make one branch of every op and what belongs to it alone, in every part of the tree; `readers` are those of each op."""
    work = _Links(network, readers)
    order = [root]
    for branch in order:
        order.extend(
            [child for child in branch.children if child.children and child.kind not in {"bundle", "constants"}]
        )
    for branch in reversed(order):
        _join(work, branch)
        for index, child in enumerate(branch.children):
            if child.kind == "module" and len(child.children) == 1 and child.children[0].kind == "chain":
                only = child.children[0]
                only.call = only.call if only.call >= 0 else child.call
                branch.children[index] = only


class _Links:
    """Who reads what, and which ops keep to themselves."""

    def __init__(self, network: Network, readers: list[list[int]]) -> None:
        self.network = network
        self.readers = readers
        carried = {parent for sources in network.back.values() for parent in sources}
        self.apart = {*carried, *network.back, *network.pinned}
        """Ops that are never joined to another."""
        made_by = network.made_by
        views = len(network) > SMALL
        self.small = {
            op
            for op, function in enumerate(network.functions)
            if (views and function in SPLICED) or (made_by and made_by[op] and not self.readers[op])
        }
        """Ops that may belong to another."""

    def is_view(self, op: int) -> bool:
        """Whether an op only gives back one tensor, or one parameter, in another form."""
        network = self.network
        return (
            network.functions[op] in SPLICED
            and (len(network.parents[op]) == 1 or (network.learned[op] and not network.parents[op]))
            and op not in self.apart
        )

    def may_join(self, op: int, other: int) -> bool:
        """Whether a view may stand in one item with `other`."""
        network = self.network
        return network.roles[other] == "op" and other not in self.apart and network.rounds[op] == network.rounds[other]


def _join(work: _Links, branch: Branch) -> None:
    """Join what belongs together among the children of one branch."""
    if not any(child.op in work.small for child in branch.children):
        return
    here = {child.op: child for child in branch.children if child.kind == "op"}
    chain_of: dict[int, list[int]] = {op: [op] for op in here}
    main_of = {op: op for op in here}
    if len(work.network) > SMALL:
        _add_tails(work, here, chain_of, main_of)
        _add_leads(work, here, chain_of, main_of)
    _add_unread(work, here, chain_of, main_of)
    if all(len(chain) == 1 for chain in chain_of.values()):
        return
    joined: list[Branch] = []
    for child in branch.children:
        chain = chain_of.get(child.op, []) if child.kind == "op" else [-1]
        if len(chain) > 1:
            made = Branch("chain", call=child.call, children=[here[op] for op in chain])
            made.op = child.op
            joined.append(made)
        elif chain:
            joined.append(child)
    branch.children = joined


def _move(chain_of: dict[int, list[int]], main_of: dict[int, int], op: int, main: int, *, before: bool) -> None:
    moved = chain_of.pop(op)
    chain_of[main] = moved + chain_of[main] if before else chain_of[main] + moved
    for one in moved:
        main_of[one] = main


def _add_tails(work: _Links, here: dict[int, Branch], chain_of: dict[int, list[int]], main_of: dict[int, int]) -> None:
    """Join views to the op whose output only they read."""
    for op, child in here.items():
        parent = work.network.parents[op][0] if work.network.parents[op] else -1
        if (
            child.call < 0
            and work.is_view(op)
            and parent in here
            and work.readers[parent] == [op]
            and work.readers[op]
            and work.may_join(op, parent)
        ):
            _move(chain_of, main_of, op, main_of[parent], before=False)


def _add_leads(work: _Links, here: dict[int, Branch], chain_of: dict[int, list[int]], main_of: dict[int, int]) -> None:
    """Join views to the op that alone reads them."""
    for op in reversed(here):
        chain = chain_of.get(op)
        if chain is None or not all(work.is_view(one) and here[one].call < 0 for one in chain):
            continue
        readers = work.readers[chain[-1]]
        if len(readers) == 1 and readers[0] in here and work.may_join(op, readers[0]):
            main = main_of[readers[0]]
            if main != op:
                _move(chain_of, main_of, op, main, before=True)


def _add_unread(work: _Links, here: dict[int, Branch], chain_of: dict[int, list[int]], main_of: dict[int, int]) -> None:
    """Join outputs that nobody reads to an output of the same call that is read."""
    made_by = work.network.made_by
    if not made_by:
        return
    read = {made_by[op]: op for op in here if made_by[op] and work.readers[op] and op not in work.apart}
    for op in here:
        if made_by[op] and not work.readers[op] and op not in work.apart and made_by[op] in read and op in chain_of:
            main = main_of[read[made_by[op]]]
            if main != op:
                _move(chain_of, main_of, op, main, before=False)
