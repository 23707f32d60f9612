"""The line under the title: which blocks a network is made of, how many of them there are, and how many parameters."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from tl_core import collector_paused
from tl_viz._compose.experts import experts_told
from tl_viz._names import amount, count
from tl_viz._plan import CONTAINERS

if TYPE_CHECKING:
    from tl_viz._network import Network

MOST_KINDS, MOST_ROWS = 4, 8
"""So many classes, and so many rows of one class, are written; the others are counted."""

LOOP = 3
"""A module that holds no other is told of as a block where it runs at least so often."""

LAYER = 2
"""A module of no more parts than this is a layer with its norm."""

PARTS = 4
"""So many layers with their norms may be one block; where there are more, each of them is one."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Neighbours of one class that are built alike."""

    name: str
    number: int
    times: int = 1
    """How often each of them runs with the same weights."""
    layers: int = 1
    """Layers of a recurrent network that is one call of one function."""

    @property
    def repeats(self) -> bool:
        return max(self.number, self.times, self.layers) > 1


@dataclass(slots=True)
class _Part:
    """One module with parameters, however often it ran."""

    name: str
    """Its class."""
    owner: str
    """Address of what it is registered on."""
    inner: list[_Part] = field(default_factory=list["_Part"])
    """Modules with parameters that it calls, in the order of execution."""
    times: int = 1
    """How often it ran; 1 where its ops do not agree."""
    layers: int = 1
    rows: list[_Row] = field(default_factory=list[_Row])
    """What is repeated in it."""


def made_of(network: Network) -> str:
    """Return what a network is made of, such as `Bottleneck ×3, ×4, ×6, ×3 · 25.6M params in all`.

    Blocks are modules that stand beside others of their class and are built like them; blocks inside of blocks are not named.
    Where there are none, layers are counted, and where there are no modules, ops.
    """
    with collector_paused():
        root, parts = _parts(network)
        total = Counter([part.name for part in parts])
        rows = _all_rows(root, parts, frozenset())
        blocks = frozenset([row.name for row in rows if row.number > 1])
        if any(total[name] > sum(row.number for row in rows if row.name == name) for name in blocks):
            rows = _all_rows(root, parts, blocks)
    layers = {part.name for part in parts if _layers_in(part) <= LAYER}
    said = _blocks(sorted(rows, key=lambda row: row.name in layers), total) or [
        f"{name} ×{number}"
        for name, number in Counter([part.name for part in parts if not part.inner]).items()
        if number > 1
    ]
    kinds = said[:MOST_KINDS] + ([f"{len(said) - MOST_KINDS} more kinds"] if len(said) > MOST_KINDS else [])
    if not network.calls:
        kinds = [count(sum(role in {"op", "hook"} for role in network.roles), "op")]
    return " · ".join([*kinds, *experts_told(network), _params(network)])


def _params(network: Network) -> str:
    read = sum(network.params)
    if network.unread:
        return f"{amount(read)} params read, {amount(network.unread)} not read"
    return f"{amount(read)} params in all" if read else "no params of its own" if any(network.learned) else "no params"


def _parts(network: Network) -> tuple[_Part, list[_Part]]:
    """Return what stands for the whole network, and its modules with parameters, each after the one that calls it."""
    calls = network.calls
    learned, fewest, most = _sums(network)
    root = _Part("", "")
    found: dict[str, _Part] = {}
    ran: dict[str, list[int]] = {}
    """Address -> its calls."""
    for at, call in enumerate(calls):
        if not learned[at]:
            continue
        if call.address not in found:
            part = found[call.address] = _Part(call.class_name, call.address.rpartition(".")[0])
            caller = found[calls[call.parent].address] if call.parent >= 0 else root
            caller.inner.append(part)
        ran.setdefault(call.address, []).append(at)
    for address, own in ran.items():
        passes = {rounds for at in own for rounds in (fewest[at], most[at])}
        found[address].times = max(len(own), *passes) if len(passes) == 1 else 1
    for op, detail in network.details.items():
        call = network.module_of[op]
        if call >= 0 and learned[call]:
            part = found[calls[call].address]
            part.layers = max(part.layers, _layers(detail))
    return root, list(found.values())


def _sums(network: Network) -> tuple[list[bool], list[int], list[int]]:
    """Return for each module call whether it reads parameters, and how often the ops in it ran at least and at most."""
    calls = network.calls
    learned, fewest, most = [False] * len(calls), [0] * len(calls), [0] * len(calls)
    for op, call in enumerate(network.module_of):
        if call >= 0 and network.roles[op] == "op":
            rounds = network.rounds[op]
            fewest[call] = min(rounds, fewest[call] or rounds)
            most[call] = max(rounds, most[call])
            learned[call] = learned[call] or network.learned[op]
    for at in range(len(calls) - 1, -1, -1):
        above = calls[at].parent
        if above >= 0:
            learned[above] = learned[above] or learned[at]
            fewest[above] = min(fewest[at] or fewest[above], fewest[above] or fewest[at])
            most[above] = max(most[above], most[at])
    return learned, fewest, most


def _layers(detail: str) -> int:
    """Return the number at the beginning of `2 layers, 64 hidden`."""
    found = re.match(r"(\d+) layers\b", detail)
    return int(found[1]) if found else 1


def _all_rows(root: _Part, parts: list[_Part], blocks: frozenset[str]) -> list[_Row]:
    """Return what is repeated in a network. A module whose class is one of `blocks` is not looked into, though it stands alone."""
    for part in reversed(parts):
        part.rows = _rows(part, blocks) if part.inner else []
    return _rows(root, blocks)


def _rows(part: _Part, blocks: frozenset[str]) -> list[_Row]:
    """Return what is repeated in a module, and what might be one of several elsewhere."""
    owners: dict[str, list[_Part]] = {}
    for child in part.inner:
        owners.setdefault(child.owner, []).append(child)
    rows: list[_Row] = []
    for siblings in owners.values():
        near: list[_Row] = []
        for name, same in groupby(siblings, attrgetter("name")):
            near += _row(name, list(same), blocks, told=part.times > 1)
        in_rows = {row.name for row in near if row.number > 1}
        alone = Counter([row for row in near if row.name not in in_rows])
        for row in near:
            if row.name in in_rows:
                rows.append(row)
            elif row in alone:
                rows.append(_Row(row.name, alone.pop(row), row.times, row.layers))
    return rows


def _row(name: str, same: list[_Part], blocks: frozenset[str], *, told: bool) -> list[_Row]:
    """Return the row of neighbours of one class, or what is in them where they are no blocks; `told`: their caller runs again."""
    times = {part.times for part in same}
    again = times.pop() if len(times) == 1 and not told else 1
    inside = [row for part in same for row in part.rows]
    if not any(part.inner for part in same):
        layers = same[0].layers if len(same) == 1 else 1
        return [_Row(name, len(same), again, layers)] if again >= LOOP or layers > 1 else []
    if name in CONTAINERS:
        return inside
    row = _Row(name, len(same), again)
    if len(same) == 1 and name not in blocks:
        return [row, *inside] if again > 1 or not any(one.repeats for one in inside) else inside
    return inside if _are_stages(same) else [row]


def _are_stages(same: list[_Part]) -> bool:
    """Whether neighbours hold little but rows of blocks, so that these are what the network is made of."""
    held = [_held(part) for part in same]
    counts = [Counter([child.name for child in children if child.inner]) for children in held]
    names = sorted(
        {
            child.name
            for children, found in zip(held, counts, strict=True)
            for child in children
            if found[child.name] > (1 if _layers_in(child) > LAYER else PARTS)
        }
    )
    blocks = [child for children in held for child in children if child.name in names]
    others = [child for children in held for child in children if child.name not in names]
    if len(blocks) <= len(same):
        return False
    if len({tuple([found[name] for name in names]) for found in counts}) > 1:
        return len(blocks) >= 2 * len(others)
    deep = any(one.inner for child in blocks for one in child.inner)
    large = sum(_layers_in(child) > LAYER for child in others)
    return deep and len(blocks) >= max(len(others), 4 * large)


def _layers_in(part: _Part) -> int:
    """Return how many modules in a module hold no other."""
    return sum(map(_layers_in, part.inner)) or 1


def _held(part: _Part) -> list[_Part]:
    """Return the modules that a module calls, those in containers among them."""
    return [one for child in part.inner for one in (_held(child) if child.name in CONTAINERS else [child])]


def _blocks(rows: list[_Row], total: Counter[str]) -> list[str]:
    """Return the text of each class of blocks. Those of which there are more inside of others are left out, if there are any else."""
    kinds: dict[str, list[_Row]] = {}
    for row in rows:
        kinds.setdefault(row.name, []).append(row)
    kinds = {
        name: of for name, of in kinds.items() if sum(row.number for row in of) > 1 or any(row.repeats for row in of)
    }
    whole = [name for name, of in kinds.items() if sum(row.number for row in of) == total[name]]
    return [_text(name, kinds[name]) for name in whole or kinds]


def _text(name: str, rows: list[_Row]) -> str:
    numbers, times = [row.number for row in rows], {row.times for row in rows}
    if rows[0].layers > 1:
        return f"{name}, {rows[0].layers} layers"
    again = times.pop() if len(times) == 1 else 1
    if numbers == [1] and again > 1:
        return f"{name} ×{again} rounds, same weights"
    if max(numbers) == 1:
        text = f"{name} ×{len(numbers)}"
    elif len(numbers) > MOST_ROWS:
        text = f"{name} ×{sum(numbers)} in {len(numbers)} groups"
    else:
        text = f"{name} " + ", ".join([f"×{number}" for number in numbers])
    return f"{text}, {again} rounds each, same weights" if again > 1 else text
