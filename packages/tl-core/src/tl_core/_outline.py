"""The module tree as lines: to a depth, with equal neighbouring blocks folded into one line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, final

from tl_core._facts import Facts
from tl_core._grid import NOT_CALLED
from tl_core._tree import Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tl_core._grid import RowKind
    from tl_core._tree import ModuleNode

BRANCH, LAST, BAR, BLANK = "├─ ", "└─ ", "│  ", "   "

QUIET = frozenset(
    {
        "arange",
        "chunk",
        "clone",
        "contiguous",
        "cpu",
        "cuda",
        "detach",
        "dim",
        "expand",
        "expand_as",
        "flatten",
        "float",
        "getitem",
        "half",
        "movedim",
        "narrow",
        "ones",
        "permute",
        "repeat",
        "reshape",
        "reshape_as",
        "select",
        "size",
        "split",
        "squeeze",
        "swapaxes",
        "swapdims",
        "t",
        "to",
        "transpose",
        "type",
        "type_as",
        "unbind",
        "unflatten",
        "unsqueeze",
        "view",
        "view_as",
        "zeros",
    }
)
"""Functions that only look at a tensor in another way or prepare one; alone they are no line of a summary."""

OWN_NAMES = 4
"""How many functions a line about a module's own code names."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of an outline."""

    kind: RowKind
    tree: str
    name: str
    type: str
    remark: str
    facts: Facts


@final
@dataclass(frozen=True, slots=True)
class Run:
    """Equal neighbours of one class with names that count on, such as `1`, `2`, `3`."""

    nodes: tuple[ModuleNode, ...]

    @property
    def name(self) -> str:
        """`1..11`; the name itself for a single node."""
        first, last = self.nodes[0].name, self.nodes[-1].name
        return first if len(self.nodes) == 1 else f"{first}..{_split_name(last)[1]}"


def outline(root: ModuleNode, depth: int, *, fold: bool) -> list[Item]:
    """The lines of the tree below `root` to `depth` levels; 0 is the model alone."""
    items = [Item(kind="root", tree="", name=root.name, type="", remark=_calls(root), facts=block_facts((root,)))]
    items += _below(root, depth, "", fold=fold)
    return items


def tree_depth(node: ModuleNode) -> int:
    """Levels below a node."""
    return 1 + max(map(tree_depth, node.children)) if node.children else 0


def folds(node: ModuleNode) -> Iterator[tuple[ModuleNode, tuple[ModuleNode, ...]]]:
    """Every module that stands for equal ones behind it, with those."""
    for run in runs(node.children):
        yield from folds(run.nodes[0])
        if len(run.nodes) > 1:
            yield run.nodes[0], run.nodes[1:]


def runs(nodes: Sequence[ModuleNode]) -> list[Run]:
    """Split siblings into runs of equal ones; names must be the same text with numbers that count on by one."""
    found: list[Run] = []
    for _, group in groupby(nodes, key=lambda node: (node.signature, _split_name(node.name)[0])):
        part: list[ModuleNode] = []
        for node in group:
            if part and not _counts_on(part[-1].name, node.name):
                found.append(Run(tuple(part)))
                part = []
            part.append(node)
        found.append(Run(tuple(part)))
    return found


def _below(node: ModuleNode, depth: int, tree: str, *, fold: bool) -> list[Item]:
    if depth <= 0:
        return []
    parts: list[Run | Item] = []
    for run in runs(node.children) if fold else (Run((child,)) for child in node.children):
        if len(run.nodes) > 1 and depth > 1 and _has_lines(run.nodes[0]):
            parts += [Run(run.nodes[:1]), Run(run.nodes[1:])]
        else:
            parts.append(run)
    if node.children:
        parts += _own(node)
    items: list[Item] = []
    expanded: ModuleNode | None = None
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        guide = tree + (LAST if last else BRANCH)
        if isinstance(part, Item):
            items.append(
                Item(kind=part.kind, tree=guide, name=part.name, type="", remark=part.remark, facts=part.facts)
            )
            continue
        first = part.nodes[0]
        same = expanded is not None and fold and expanded.signature == first.signature and _has_lines(first)
        items.append(
            _module_item(part, guide, like=_likeness(expanded, first) if same and expanded is not None else "")
        )
        if not same and len(part.nodes) == 1:
            below = _below(first, depth - 1, tree + (BLANK if last else BAR), fold=fold)
            items += below
            expanded = first if below else None
        else:
            expanded = expanded if same else None
    return items


def _module_item(run: Run, guide: str, like: str) -> Item:
    count = len(run.nodes)
    first = run.nodes[0]
    typed = first.record.class_name if count == 1 else f"{first.record.class_name} x{count}"
    remark = f"like {like}" if like else _calls(first)
    kind: RowKind = "fold" if count > 1 or like else "module"
    return Item(kind=kind, tree=guide, name=run.name, type=typed, remark=remark, facts=block_facts(run.nodes))


def _likeness(shown: ModuleNode, node: ModuleNode) -> str:
    """Name of the block that stands for another one; its number where the rest of the names is the same."""
    text, number = _split_name(shown.name)
    return number if number and text == _split_name(node.name)[0] else shown.name


def _own(node: ModuleNode) -> list[Item]:
    """A line about what the code of a module with submodules computes itself."""
    named = {name: work for name, work in node.own.items() if name.removesuffix("_") not in QUIET}
    if not named:
        return []
    total = Work()
    for work in node.own.values():
        total.add(work)
    ordered = sorted(named, key=lambda name: (-named[name].flops, -named[name].ops, name))
    shown = [f"{name} x{named[name].ops}" if named[name].ops > 1 else name for name in ordered[:OWN_NAMES]]
    more = len(ordered) - OWN_NAMES
    text = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    facts = Facts(output="", dtype="", calls=0, params=0, tied=0, trainable=0, work=total)
    return [Item(kind="ops", tree="", name=f"+ {text}", type="", remark="", facts=facts)]


def _has_lines(node: ModuleNode) -> bool:
    return bool(node.children)


def _calls(node: ModuleNode) -> str:
    return f"{node.calls:,} calls" if node.calls > 1 else ""


def block_facts(nodes: Sequence[ModuleNode]) -> Facts:
    """What a line about one block, or about several equal ones together, says."""
    first = nodes[0]
    work = Work()
    for node in nodes:
        work.add(node.work)
    called = first.calls or first.children or first.output
    return Facts(
        output=first.output if called else NOT_CALLED,
        dtype=first.dtype,
        calls=sum(node.calls for node in nodes),
        params=sum(node.params for node in nodes),
        tied=sum(node.tied for node in nodes),
        trainable=sum(node.trainable for node in nodes),
        work=work,
    )


def _split_name(name: str) -> tuple[str, str]:
    found = re.fullmatch(r"(.*?)(\d*)", name, re.DOTALL)
    return (found[1], found[2]) if found is not None else (name, "")


def _counts_on(name: str, following: str) -> bool:
    number, next_number = _split_name(name)[1], _split_name(following)[1]
    return bool(number) and bool(next_number) and int(next_number) == int(number) + 1
