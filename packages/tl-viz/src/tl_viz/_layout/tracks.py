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
    rising: list[float] = field(default_factory=list[float])
    """Those of them that lie above this gap; the others lie below."""
    track: int = -1
    step: tuple[float, int] | None = None
    """Where a line goes down between two tracks, and the second of them: it gets past a line that changes sides with it."""

    @property
    def falls(self) -> tuple[float, ...]:
        """Return every x at which it goes on below its track."""
        return (*self.bottoms, *[x for x in self.sides if x not in self.rising])

    @property
    def rises(self) -> tuple[float, ...]:
        """Return every x at which it goes on above its track."""
        return (*self.tops, *self.rising)

    def span(self) -> tuple[float, float]:
        """Return the leftmost and the rightmost x."""
        xs = (*self.tops, *self.bottoms, *self.sides)
        return min(xs), max(xs)


Moving = tuple[float, float, Crossing]
"""Leftmost x, rightmost x, and the net."""

Split = tuple[Crossing, Crossing, Crossing]
"""A net and its two halves."""

MOST_SORTED = 40
"""More lines in one gap than this are not compared with each other."""
MOST_STEPS = 8
"""How many lines of one gap may take two tracks."""


def assign_tracks(crossings: list[Crossing]) -> int:
    """Set the track of each net that moves sideways, counted from the top; return how many tracks there are."""
    pieces = [*crossings]
    halves: list[Split] = []
    while True:
        count, ring = _assign(pieces)
        if not ring or len(halves) >= MOST_STEPS:
            break
        split = _first_split(ring, crossings, pieces)
        if split is None:
            break
        whole, upper, lower = split
        pieces = [piece for piece in pieces if piece is not whole] + [upper, lower]
        halves.append(split)
    for whole, upper, lower in halves:
        whole.track = upper.track
        whole.step = (upper.bottoms[0], lower.track)
    return count


def _first_split(ring: list[Crossing], whole: list[Crossing], pieces: list[Crossing]) -> Split | None:
    for one in ring:
        if any(one is net for net in whole):
            split = _in_two(one, pieces)
            if split is not None:
                return split
    return None


def _in_two(crossing: Crossing, others: list[Crossing]) -> Split | None:
    """Return a net and its two halves, which meet at an x where no other line comes or goes; None if there is none."""
    if crossing.sides or len(crossing.tops) != 1:
        return None
    top = crossing.tops[0]
    end = min(crossing.bottoms, key=lambda bottom: abs(bottom - top))
    taken = [x for other in others for x in (*other.tops, *other.bottoms, *other.sides)]
    if abs(end - top) < NEAR:  # no room between the two: beside everything that the net reaches
        low, high = crossing.span()
        places = [place for step in (1.1, 2.2, 3.3) for place in (high + step * NEAR, low - step * NEAR)]
    else:
        places = [top + (end - top) * share for share in (0.5, 0.3, 0.7, 0.15, 0.85)]
    for x in places:
        if all(abs(x - other) >= NEAR for other in taken):
            upper = Crossing(crossing.net, tops=[top], bottoms=[x])
            return crossing, upper, Crossing(crossing.net, tops=[x], bottoms=list(crossing.bottoms))
    return None


def _assign(crossings: list[Crossing]) -> tuple[int, list[Crossing]]:
    """Set tracks; return how many there are, and the nets of a ring in which each would have to lie above the next."""
    moving: list[Moving] = []
    for crossing in crossings:
        low, high = crossing.span()
        if crossing.sides or high - low > 0.01:
            moving.append((low, high, crossing))
    if len(moving) == 1:
        moving[0][2].track = 0
        return 1, []
    if not moving:
        return 0, []
    must = _constraints(moving)
    tracks: list[list[tuple[float, float]]] = []
    floor: dict[int, int] = {}
    order, ring = _above_first(moving, must)
    nested = _uncrossed(moving, order, must)
    for at, index in enumerate(order):
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
        for below in (*must.get(index, ()), *[other for other in order[at + 1 :] if (index, other) in nested]):
            floor[below] = max(floor.get(below, 0), track + 1)
    return len(tracks), [moving[index][2] for index in ring]


def _constraints(moving: list[Moving]) -> dict[int, list[int]]:
    """Return which net must lie above which: one comes from above where another goes down."""
    if len(moving) > 300:
        return {}
    must: dict[int, list[int]] = {}
    for index, (low, high, crossing) in enumerate(moving):
        for other_index, (other_low, other_high, other) in enumerate(moving):
            if index == other_index or other_high < low - NEAR or other_low > high + NEAR:
                continue
            if crossing.net == other.net:  # two halves: the line comes down from the one to the other
                if crossing.bottoms == other.tops:
                    must.setdefault(index, []).append(other_index)
                continue
            if any(abs(top - bottom) < NEAR for top in crossing.rises for bottom in other.falls):
                must.setdefault(index, []).append(other_index)
    return must


def _uncrossed(moving: list[Moving], order: list[int], must: dict[int, list[int]]) -> set[tuple[int, int]]:
    """Put those nets first, in place, that cross others less when they lie above them; return such pairs of neighbours."""
    if not 1 < len(order) <= MOST_SORTED:
        return set()
    wins = {
        (one, other)
        for one in order
        for other in order
        if one != other and _met(moving[one], moving[other]) < _met(moving[other], moving[one])
    }
    for end in range(1, len(order)):
        at = end
        while at and (order[at], order[at - 1]) in wins and order[at] not in must.get(order[at - 1], ()):
            order[at - 1], order[at] = order[at], order[at - 1]
            at -= 1
    return wins


def _met(upper: Moving, lower: Moving) -> int:
    """Return how often two nets cross if one of them lies above the other."""
    (high_start, high_end, above), (low_start, low_end, below) = upper, lower
    return sum(low_start < x < low_end for x in above.falls) + sum(high_start < x < high_end for x in below.rises)


def _ring(left: list[int], must: dict[int, list[int]]) -> list[int]:
    """Return nets that wait for each other in a circle. Every net that is left waits for one that is left."""
    waits_for = {below: above for above in left for below in must.get(above, ())}
    seen: dict[int, None] = {}
    index = left[0]
    while index not in seen:
        seen[index] = None
        index = waits_for[index]
    path = list(seen)
    return path[path.index(index) :]


def _above_first(moving: list[Moving], must: dict[int, list[int]]) -> tuple[list[int], list[int]]:
    """Order nets so that those which must lie above come first; the rest so that their corners nest.

    Returns the order, and the nets for which there is none because they wait for each other.
    """
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
    ring: list[int] = []
    done = [False] * len(moving)
    while len(order) < len(moving):
        if not free:  # a ring of constraints: take the first one left
            left = [index for index in range(len(moving)) if not done[index]]
            ring = ring or _ring(left, must)
            free = left[:1]
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
    return order, ring
