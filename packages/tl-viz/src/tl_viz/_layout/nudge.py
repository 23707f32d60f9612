"""Moves what stands on one line sideways where there is room, so that the line bends less often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._layout.straighten import BEND_GAP, ITEM_GAP

if TYPE_CHECKING:
    from tl_viz._layout.rows import Link, Rows

PASSES = 3
SAME = 0.01
"""Closer than this a line counts as straight."""

Thread = list[tuple[int, float]]
"""Items that follow each other on one line, each with how far to the right of the first it stands when the line is straight."""


def nudge(rows: Rows, half: list[float], x: list[float], main_in: dict[int, int]) -> None:
    """Move every chain of items, ports and bends to where its line ends, or to where it comes from.

    Args:
        rows: the ordered rows.
        half: half the width of each item.
        x: centre of each item, changed in place.
        main_in: item on the main path -> the item before it. Where the main path goes on, a chain is moved nowhere else.
    """
    if all(len(row) < 2 for row in rows.rows):
        return  # straight as it is
    above: dict[int, list[Link]] = {}
    below: dict[int, list[Link]] = {}
    for links in rows.links:
        for link in links:
            above.setdefault(link.lower, []).append(link)
            below.setdefault(link.upper, []).append(link)
    room = _Room(rows, half, x)
    threads = [_thread(item, above, below) for row in rows.rows for item in row if _begins(item, above, below)]
    for _ in range(PASSES):
        moved = False
        for thread in threads:
            (first, _), (last, shift) = thread[0], thread[-1]
            come, go = above.get(first, ()), below.get(last, ())
            ends = [x[link.upper] + link.upper_offset - link.lower_offset for link in come]
            ends += [x[link.lower] + link.lower_offset - link.upper_offset - shift for link in go]
            main = [main_in.get(link.lower) == link.upper for link in (*come, *go)]
            if any(main):
                ends = [end for end, on_path in zip(ends, main, strict=True) if on_path]
            place = _better(thread, ends, x, room)
            if place is not None:
                moved = True
                for item, aside in thread:
                    x[item] = place + aside
        if not moved:
            break


def _begins(item: int, above: dict[int, list[Link]], below: dict[int, list[Link]]) -> bool:
    """Whether a thread begins with an item: not where it goes on from the item above, and not where several lines meet."""
    come, go = above.get(item, ()), below.get(item, ())
    if len(come) > 1 or len(go) > 1:
        return len(come) < 2
    return not come or len(below[come[0].upper]) > 1 or len(above.get(come[0].upper, ())) > 1


def _thread(first: int, above: dict[int, list[Link]], below: dict[int, list[Link]]) -> Thread:
    thread = [(first, 0.0)]
    while len(ways := below.get(thread[-1][0], ())) == 1 and len(above[ways[0].lower]) == 1:
        shift = thread[-1][1]
        thread.append((ways[0].lower, shift + ways[0].upper_offset - ways[0].lower_offset))
    return thread


def _better(thread: Thread, ends: list[float], x: list[float], room: _Room) -> float | None:
    """Return an x for the first item of a thread at which its line bends less often; None if there is none."""
    low, high = room.around(thread)
    places = [end for end in ends if low - SAME <= end <= high + SAME]
    if not places:
        return None
    here = x[thread[0][0]]
    best = min(places, key=lambda place: _bends(place, ends))
    if any(abs(x[item] - shift - here) > SAME for item, shift in thread) or _bends(best, ends) < _bends(here, ends):
        return best
    return None


def _bends(place: float, ends: list[float]) -> tuple[int, float]:
    """Return how often a line bends that runs at an x, and how far it leads sideways."""
    return sum(abs(place - end) > SAME for end in ends), sum(abs(place - end) for end in ends)


class _Room:
    """How far items can move without coming too near to others."""

    def __init__(self, rows: Rows, half: list[float], x: list[float]) -> None:
        self.half, self.x, self.bends = half, x, rows.bends
        self.beside: dict[int, tuple[int, int]] = {}
        """Item -> the items to its left and right, or -1."""
        for row in rows.rows:
            for at, item in enumerate(row):
                self.beside[item] = (row[at - 1] if at else -1, row[at + 1] if at + 1 < len(row) else -1)
        self.low = min(x[item] - half[item] for item in self.beside)
        self.high = max(x[item] + half[item] for item in self.beside)

    def around(self, thread: Thread) -> tuple[float, float]:
        """Return between which x the first item of a thread can be."""
        x, half = self.x, self.half
        lows: list[float] = []
        highs: list[float] = []
        for item, shift in thread:
            left, right = self.beside[item]
            low = x[left] + half[left] + self._gap(left, item) if left >= 0 else self.low
            high = x[right] - half[right] - self._gap(item, right) if right >= 0 else self.high
            lows.append(low + half[item] - shift)
            highs.append(high - half[item] - shift)
        return max(lows), min(highs)

    def _gap(self, left: int, right: int) -> float:
        return BEND_GAP if left >= self.bends or right >= self.bends else ITEM_GAP
