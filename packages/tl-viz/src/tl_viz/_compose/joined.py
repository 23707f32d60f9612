"""What an op is called, and the views that are drawn in its box: before it, each with the argument that it prepares, and after it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tl_viz._measure import text_width
from tl_viz._names import count, summary

if TYPE_CHECKING:
    from tl_viz._plan import Branch, Tree

TITLE, DETAIL = 11.5, 9.5
WIDEST = 240.0
"""A line of text longer than this is shortened."""
SHORT = {"scaled_dot_product_attention": "attention"}
"""What an op is called in the line of the views beside it, where its own name would fill the line."""
NUMBERED = 4
"""Inputs whose order does not matter are counted where there are no more than so many."""
MOST = 3
"""The views of so many kinds of inputs are written; those of others are counted."""


def function_text(tree: Tree, op: int, last: int = 0) -> str:
    """Return the name of a function, with the part that it takes: `getitem [:, -1]`.

    Args:
        tree: the network.
        op: the op that runs it.
        last: how far from there the op stands that stands for it in the last copy.
    """
    network = tree.network
    name, one = network.functions[op], network.indices.get(op, "")
    other = network.indices.get(tree.op_at[tree.place[op] + last], "") if last else one
    if not one or not other:
        return name
    return f"{name} {one}" if one == other else f"{name} {one} … {other}"


def joined_lines(tree: Tree, branch: Branch) -> list[str]:
    """Return what else a chain holds: the views before and after its op, and outputs that nobody reads."""
    functions = tree.network.functions
    leads = _leads(branch)
    at = len(leads)
    own = tree.network.calls[branch.call].class_name if branch.call >= 0 else functions[branch.op]
    own = SHORT.get(own, own)
    after = [function_text(tree, child.op) for child in branch.children[at + 1 :] if tree.readers[child.first]]
    unread = len(branch.children) - 1 - len(leads) - len(after)
    chains = _chains(tree, branch, leads)
    if leads and sum(map(len, chains)) == len(leads) and _has_several_inputs(tree, branch, leads):
        lines = _prepared(tree, branch, chains)
        lines += [_way([], own, after)] if after else []
    else:
        before = _side_by_side(tree, leads)
        lines = [_way(before, own, after)] if before or after else []
    return [*lines, f"+ {count(unread, 'output')} that nothing reads"] if unread else lines


def arguments_of(tree: Tree, branch: Branch, op: int) -> dict[int, str]:
    """Return what an op reads, and which of its arguments that is, where it matters, or where views are told by the number.

    Args:
        tree: the network.
        branch: what the op stands in.
        op: the op of the branch, or of a copy of it.
    """
    found = tree.network.slots.get(op)
    if found is None and branch.kind == "chain" and _counts(tree, branch):
        return {parent: str(number) for number, parent in enumerate(tree.network.parents[op], start=1)}
    return found or {}


def _counts(tree: Tree, branch: Branch) -> bool:
    """Whether some inputs of an op whose order does not matter go through views and others do not, or go through others."""
    network, op = tree.network, branch.op
    parents = network.parents[op]
    if (
        not 1 < len(parents) <= NUMBERED
        or len(set(parents)) < len(parents)
        or op in network.weights
        or op in network.back
    ):
        return False
    chains = _chains(tree, branch, _leads(branch))
    plain = [chain for chain in chains if not any(one in network.weights for one in chain)]
    ways = {tuple([function_text(tree, one) for one in chain]) for chain in plain}
    inputs = len(parents) - len(chains) + len(plain)
    return bool(plain) and (len(plain) < inputs or len(ways) > 1)


def _leads(branch: Branch) -> list[int]:
    """Return the views in a chain before its op."""
    at = next(index for index, child in enumerate(branch.children) if child.op == branch.op)
    return [child.op for child in branch.children[:at]]


def _chains(tree: Tree, branch: Branch, leads: list[int]) -> list[list[int]]:
    """Return the views that lead to the op of a chain, those of each argument for themselves, in the order of the arguments."""
    parents, held = tree.network.parents, set(leads)
    found: list[list[int]] = []
    for op in dict.fromkeys(parents[branch.op]):
        chain: list[int] = []
        while op in held:
            chain.insert(0, op)
            op = parents[op][0] if parents[op] else -1
        found += [chain] if chain else []
    return found


def _has_several_inputs(tree: Tree, branch: Branch, leads: list[int]) -> bool:
    """Whether more than one tensor enters a chain: by lines, or as a parameter that its title names."""
    weights = tree.network.weights
    named = branch.call < 0 and len(weights.get(branch.op, ())) == 1
    lines = len(branch.outside) + (branch.op in tree.network.back)
    return lines + (named or any(op in weights for op in leads)) > 1


def _prepared(tree: Tree, branch: Branch, chains: list[list[int]]) -> list[str]:
    """Return the views before an op as lines, each with the inputs that they prepare: `2: getitem [1] → transpose`."""
    network = tree.network
    slots = arguments_of(tree, branch, branch.op)
    groups: dict[tuple[str, ...], list[str]] = {}
    picks = [_picks(tree, branch, chain) for chain in chains]
    read = [
        [] if pick else [address for op in chain for address in network.weights.get(op, ())]
        for chain, pick in zip(chains, picks, strict=True)
    ]
    alone = sum(map(bool, read)) == 1
    inputs = len(set(network.parents[branch.op])) - sum(map(bool, read))
    for chain, addresses, pick in zip(chains, read, picks, strict=True):
        learned = "parameter" if alone else ",".join([address.rpartition(".")[2] for address in addresses])
        said = learned if addresses else slots.get(chain[-1], "")
        first, *more = [function_text(tree, op) for op in chain]
        groups.setdefault((f"{first} of the parameter" if pick else first, *more), []).append(said)
    lines: list[str] = []
    for functions, said in list(groups.items())[:MOST]:
        name = ", ".join(dict.fromkeys([part for text in said for part in text.split(",")]))
        if not all(said):
            one = "input" if inputs == 1 else "one input" if not lines else "another input"
            name = one if len(said) == 1 else "every input" if len(said) == inputs else f"{len(said)} inputs"
        lines.append(f"{name}: {_way(list(functions), '', [], text_width(f'{name}: ', DETAIL))}")
    rest = sum(len(said) for said in list(groups.values())[MOST:])
    return [*lines, f"views of {count(rest, 'other input')}"] if rest else lines


def _picks(tree: Tree, branch: Branch, chain: list[int]) -> bool:
    """Whether views take a part of a parameter, and a tensor that enters on a line says which: `getitem [tensor]`."""
    network = tree.network
    within = {child.op for child in branch.children}
    return chain[0] in network.weights and any(parent not in within for parent in network.parents[chain[0]])


def _side_by_side(tree: Tree, leads: list[int]) -> list[str]:
    """Return the names of views that lead to an op; counted, where they do not follow each other."""
    functions, parents = tree.network.functions, tree.network.parents
    if any(parents[op] != (above,) for above, op in pairwise(leads)):
        return [summary([functions[op] for op in leads], most=2)]
    return [function_text(tree, op) for op in leads]


def _way(before: list[str], own: str, after: list[str], taken: float = 0.0) -> str:
    """Return functions in the order of their calls as one line; where there is no room for all, some are counted."""
    texts = [
        " → ".join([*_few(before, most), *([own] if own else []), *_few(after, most)])
        for most in range(2 if before and after else 3, 0, -1)
    ]
    return next((text for text in texts if text_width(text, DETAIL) <= WIDEST - taken), texts[-1])


def _few(functions: list[str], most: int) -> list[str]:
    return functions if len(functions) <= most else [*functions[: most - 1], f"{len(functions) - most + 1} more"]
