"""Gives every item its x: four-way alignment after Brandes and Köpf, with ports and a main path that stays straight.

Items that are linked in a straight line form a block with one x. Four alignments (from above or below, packed to the left or
to the right) are averaged, so a block that all four agree on, such as the main path, is straight in the result.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_viz._layout.rows import Link, Rows

Near = list[tuple[int, float]]
"""Neighbours of an item in the next row, in order: item, and how far its centre lies from ours when aligned."""

ITEM_GAP = 26.0
BEND_GAP = 12.0


@dataclass(slots=True)
class Sides:
    """What alignment reads: neighbours above and below, half widths, and links that must give way."""

    above: list[Near]
    below: list[Near]
    half: list[float]
    bends: int
    yielding: set[tuple[int, int]]


def straighten(rows: Rows, half: list[float], main_in: dict[int, int]) -> list[float]:
    """Return the x of the centre of every item, the leftmost edge at 0."""
    if all(len(row) < 2 for row in rows.rows):
        return _single_file(rows, half)
    sides = _sides(rows, half, main_in)
    results: list[list[float]] = []
    for upward in (False, True):
        lines = rows.rows[::-1] if upward else rows.rows
        near = sides.below if upward else sides.above
        for leftward in (False, True):
            results.append(_one_way(lines, near, sides, leftward))
    return _balance(results, half, rows)


def _single_file(rows: Rows, half: list[float]) -> list[float]:
    x = [0.0] * len(rows.position)
    for links in rows.links:
        for link in links:
            x[link.lower] = x[link.upper] + link.upper_offset - link.lower_offset
    items = [row[0] for row in rows.rows if row]
    left = min((x[item] - half[item] for item in items), default=0.0)
    return [value - left for value in x]


def _sides(rows: Rows, half: list[float], main_in: dict[int, int]) -> Sides:
    total = len(rows.position)
    position = rows.position
    above: list[Near] = [[] for _ in range(total)]
    below: list[Near] = [[] for _ in range(total)]
    yielding: set[tuple[int, int]] = set()
    for links in rows.links:
        ordered = sorted(links, key=lambda link: (position[link.upper], position[link.lower]))
        for link in ordered:
            shift = link.upper_offset - link.lower_offset
            above[link.lower].append((link.upper, shift))
            below[link.upper].append((link.lower, -shift))
        _yield_to_stronger(ordered, rows, main_in, yielding)
    for near in above:
        near.sort(key=lambda other: position[other[0]])
    return Sides(above, below, half, rows.bends, yielding)


def _yield_to_stronger(links: list[Link], rows: Rows, main_in: dict[int, int], yielding: set[tuple[int, int]]) -> None:
    """Mark links that cross the main path, or share an end with it, or cross a piece of a long line."""
    position, bends = rows.position, rows.bends
    strong: list[tuple[int, int, bool, Link]] = []
    for link in links:
        main = main_in.get(link.lower) == link.upper
        if main or (link.upper >= bends and link.lower >= bends):
            strong.append((position[link.upper], position[link.lower], main, link))
    if not strong or len(links) < 2:
        return
    mains = [entry for entry in strong if entry[2]]
    for link in links:
        high, low = position[link.upper], position[link.lower]
        is_main = main_in.get(link.lower) == link.upper
        for other_high, other_low, _, other in mains:
            if other is link:
                continue
            if is_main and (other.upper, other.lower) == (link.upper, link.lower):
                continue
            if (high - other_high) * (low - other_low) <= 0:
                yielding.add((link.upper, link.lower))
        if is_main or (link.upper >= bends and link.lower >= bends):
            continue
        for other_high, other_low, main, _ in strong:
            if not main and (high - other_high) * (low - other_low) < 0:
                yielding.add((link.upper, link.lower))


def _one_way(lines: list[list[int]], near: list[Near], sides: Sides, leftward: bool) -> list[float]:
    """Align along `near` and pack to one side. `leftward` mirrors the picture, packs, and mirrors it back."""
    sign = -1.0 if leftward else 1.0
    rows = [row[::-1] for row in lines] if leftward else lines
    total = len(sides.half)
    place = [0] * total
    for row in rows:
        for index, item in enumerate(row):
            place[item] = index
    root = list(range(total))
    shift = [0.0] * total
    joined = [False] * total
    yielding = sides.yielding
    for row in rows[1:]:
        reached = -1
        for item in row:
            others = near[item]
            if not others:
                continue
            if yielding:
                others = [
                    other for other in others if (other[0], item) not in yielding and (item, other[0]) not in yielding
                ]
            count = len(others)
            if count > 2:
                others = others[(count - 1) // 2 : count // 2 + 1]
            if leftward:
                others = others[::-1]
            for other, distance in others:
                if reached < place[other] and not joined[other]:
                    joined[other] = True
                    root[item] = root[other]
                    shift[item] = shift[other] + sign * distance
                    reached = place[other]
                    break
    x = _pack(rows, root, shift, sides)
    return [-value for value in x] if leftward else x


def _pack(rows: list[list[int]], root: list[int], shift: list[float], sides: Sides) -> list[float]:
    """Put every block as far left as the items to its left allow, then pull it towards those to its right."""
    half, bends = sides.half, sides.bends
    after: dict[int, list[tuple[int, float]]] = {}
    waiting: dict[int, int] = {}
    for row in rows:
        for item in row:
            waiting.setdefault(root[item], 0)
        for left, right in itertools.pairwise(row):
            gap = BEND_GAP if left >= bends or right >= bends else ITEM_GAP
            distance = shift[left] - shift[right] + half[left] + half[right] + gap
            after.setdefault(root[left], []).append((root[right], distance))
            waiting[root[right]] += 1
    x = dict.fromkeys(waiting, 0.0)
    ready = [block for block, count in waiting.items() if count == 0]
    order: list[int] = []
    while ready:
        block = ready.pop()
        order.append(block)
        here = x[block]
        for other, distance in after.get(block, ()):
            x[other] = max(x[other], here + distance)
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    for block in reversed(order):
        limits = [x[other] - distance for other, distance in after.get(block, ())]
        if limits:
            x[block] = max(x[block], min(limits))
    result = [0.0] * len(root)
    for row in rows:
        for item in row:
            result[item] = x[root[item]] + shift[item]
    return result


def _balance(results: list[list[float]], half: list[float], rows: Rows) -> list[float]:
    items = [item for row in rows.rows for item in row]
    bounds = [
        (
            min(x[item] - half[item] for item in items),
            max(x[item] + half[item] for item in items),
        )
        for x in results
    ]
    narrowest = min(range(4), key=lambda index: bounds[index][1] - bounds[index][0])
    low, high = bounds[narrowest]
    moves = [low - bounds[index][0] if index % 2 == 0 else high - bounds[index][1] for index in range(4)]
    x = [0.0] * len(half)
    for item in items:
        values = sorted(
            (
                results[0][item] + moves[0],
                results[1][item] + moves[1],
                results[2][item] + moves[2],
                results[3][item] + moves[3],
            )
        )
        x[item] = (values[1] + values[2]) / 2
    left = min(x[item] - half[item] for item in items)
    return [value - left for value in x]
