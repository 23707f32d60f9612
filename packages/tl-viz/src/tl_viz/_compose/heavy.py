"""The line that says where most parameters are: `layer4 (Bottleneck ×3) 15M (59%) · layer3 (Bottleneck ×6) 7.1M (28%)`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tl_viz._compose.inside import inside
from tl_viz._compose.noun import noun_of
from tl_viz._compose.sums import HERE, each_params, shifts_of
from tl_viz._names import amount, summary
from tl_viz._plan import CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tl_viz._plan import Branch, Plan

NEARLY_ALL, BLOCKS = 0.85, 2 / 3
"""A frame that holds so much of everything says little, and a stack of blocks with less; what it holds is told of instead."""

SAME = 0.95
"""A module that holds so much of the module around it is told of instead."""

ENOUGH, MOST = 0.8, 3
"""Items are named until they hold so much together, and no more than so many."""

LEAST = 0.05
"""What holds less than this is not named."""


class _Item(NamedTuple):
    """A box or a frame of the picture."""

    branch: Branch
    around: tuple[int, ...]
    """How far from there the frame around it stands in each of its copies."""
    outer: str
    """Title of that frame."""
    held: int
    """Its parameters, all copies together."""
    noun: str
    """What these copies are called; empty where there is one."""


def heaviest(plan: Plan, titles: Mapping[int, str]) -> str:
    """Return which boxes and frames hold most parameters, with their shares; an empty string where fewer than two hold any.

    Args:
        plan: what is drawn.
        titles: by the identity of its branch, the title of each box and frame of the picture.
    """
    total = sum(plan.tree.network.params)
    items = _inside(plan, titles, plan.tree.root, HERE, "", "")
    while items:
        largest = items[0]
        inner = _opened(plan, largest, titles, total)
        if not inner:
            break
        items = sorted([*items[1:], *inner], key=lambda item: -item.held)
    if len(items) < 2:
        return ""
    chosen: list[_Item] = []
    for item in items[:MOST]:
        if sum(one.held for one in chosen) >= ENOUGH * total or item.held < LEAST * total:
            break
        chosen.append(item)
    often = Counter([titles[id(item.branch)] for item in chosen if id(item.branch) in titles])
    return " · ".join([_text(item, plan, titles, often, total) for item in chosen])


def _inside(
    plan: Plan, titles: Mapping[int, str], branch: Branch, around: tuple[int, ...], outer: str, noun: str
) -> list[_Item]:
    """Return what stands in a frame and holds parameters, most first; in place of what has no frame of its own, what is in it."""
    items: list[_Item] = []
    for child in branch.children:
        if id(child) not in titles and plan.is_open(child) and child.children:
            items += _inside(plan, titles, child, shifts_of(child, around), outer, noun_of(plan.tree, child, noun))
        else:
            items.append(_Item(child, around, outer, sum(each_params(plan.tree, child, around)), noun))
    return sorted([item for item in items if item.held], key=lambda item: -item.held)


def _opened(plan: Plan, item: _Item, titles: Mapping[int, str], total: int) -> list[_Item]:
    """Return what is told of in place of an item, where it holds nearly all, or little but one module; else nothing."""
    branch = item.branch
    if not (plan.is_open(branch) and branch.children):
        return []
    outer, noun = titles.get(id(branch), item.outer), noun_of(plan.tree, branch, item.noun)
    inner = _inside(plan, titles, branch, shifts_of(branch, item.around), outer, noun)
    if not inner or (inner[0].branch.kind == "module" and inner[0].held >= SAME * item.held):
        return inner
    module = branch.kind == "module"
    if item.held < (NEARLY_ALL if module and branch.copies == 1 else BLOCKS) * total:
        return []
    return _opened(plan, inner[0], titles, total) if module and len(inner) == 1 else inner


def _text(item: _Item, plan: Plan, titles: Mapping[int, str], often: Counter[str], total: int) -> str:
    title = titles.get(id(item.branch), "")
    name = f"{item.outer} {title}" if often[title] > 1 and item.outer else title
    copies = f" of all {len(item.around)} {item.noun}" if len(item.around) > 1 else ""
    return f"{name}{copies}{_blocks(plan, item.branch)} {amount(item.held)} ({item.held / total:.0%})"


def _blocks(plan: Plan, branch: Branch) -> str:
    """Return what a container holds, where that is one kind of blocks: ` (Bottleneck ×3)`."""
    tree = plan.tree
    if branch.kind != "module" or tree.network.calls[branch.call].class_name not in CONTAINERS:
        return ""
    kinds = set(held := inside(tree, branch))
    return f" ({summary(held, 1)})" if len(kinds) == 1 else ""
