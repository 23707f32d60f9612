"""Gives every sideways line between two rows a track of its own, so that no two lines lie on each other."""

from __future__ import annotations

from dataclasses import dataclass, field

NEAR = 7.0
"""Two lines closer than this sideways count as touching."""


@dataclass(slots=True)
class Crossing:
    """What one net does in one gap: where it comes down from above, and where it goes."""

    net: int
    tops: list[float] = field(default_factory=list[float])
    bottoms: list[float] = field(default_factory=list[float])
    sides: list[float] = field(default_factory=list[float])
    """x of lanes that it reaches or comes from."""
    track: int = -1

    def span(self) -> tuple[float, float]:
        """Return the leftmost and the rightmost x."""
        xs = (*self.tops, *self.bottoms, *self.sides)
        return min(xs), max(xs)


def assign_tracks(crossings: list[Crossing]) -> int:
    """Set the track of each net that moves sideways, counted from the top; return how many tracks there are."""
    moving: list[tuple[float, float, Crossing]] = []
    for crossing in crossings:
        low, high = crossing.span()
        if crossing.sides or high - low > 0.01:
            moving.append((low, high, crossing))
    if len(moving) == 1:
        moving[0][2].track = 0
        return 1
    if not moving:
        return 0
    must = _constraints(moving)
    tracks: list[list[tuple[float, float]]] = []
    floor: dict[int, int] = {}
    for index in _above_first(moving, must):
        low, high, crossing = moving[index]
        track = floor.get(index, 0)
        while track < len(tracks) and any(
            low - NEAR < other_high and other_low < high + NEAR for other_low, other_high in tracks[track]
        ):
            track += 1
        if track == len(tracks):
            tracks.append([])
        tracks[track].append((low, high))
        crossing.track = track
        for below in must.get(index, ()):
            floor[below] = max(floor.get(below, 0), track + 1)
    return len(tracks)


def _constraints(moving: list[tuple[float, float, Crossing]]) -> dict[int, list[int]]:
    """Return which net must lie above which: one comes from above where another goes down."""
    if len(moving) > 300:
        return {}
    must: dict[int, list[int]] = {}
    for index, (low, high, crossing) in enumerate(moving):
        for other_index, (other_low, other_high, other) in enumerate(moving):
            if index == other_index or other_high < low - NEAR or other_low > high + NEAR:
                continue
            if any(abs(top - bottom) < NEAR for top in crossing.tops for bottom in other.bottoms):
                must.setdefault(index, []).append(other_index)
    return must


def _above_first(moving: list[tuple[float, float, Crossing]], must: dict[int, list[int]]) -> list[int]:
    """Order nets so that those which must lie above come first; the rest so that their corners nest."""
    waiting = [0] * len(moving)
    for below in must.values():
        for index in below:
            waiting[index] += 1

    def tilt(index: int) -> tuple[float, float]:
        low, high, crossing = moving[index]
        if not crossing.tops or not crossing.bottoms:
            return high - low, low
        top = crossing.tops[0]
        leftward = sum(bottom < top for bottom in crossing.bottoms)
        rightward = sum(bottom > top for bottom in crossing.bottoms)
        # Lines that go right nest with the rightmost on top, lines that go left with the leftmost on top.
        return -top if rightward >= leftward else top, low

    free = sorted((index for index in range(len(moving)) if waiting[index] == 0), key=tilt)
    order: list[int] = []
    done = [False] * len(moving)
    while len(order) < len(moving):
        if not free:  # a ring of constraints: take the first one left
            free = [next(index for index in range(len(moving)) if not done[index])]
        index = free.pop(0)
        if done[index]:
            continue
        done[index] = True
        order.append(index)
        opened: list[int] = []
        for below in must.get(index, ()):
            waiting[below] -= 1
            if waiting[below] == 0 and not done[below]:
                opened.append(below)
        if opened:
            free = sorted({*free, *opened}, key=tilt)
    return order
