"""Gives rows their y, and every line its corners. Lines move sideways only between rows, so they never meet a node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tl_viz._layout.problem import Level, Path
from tl_viz._layout.tracks import Crossing, assign_tracks

if TYPE_CHECKING:
    from tl_viz._layout.ports import LaneEnds
    from tl_viz._layout.rows import Lane, Link, Rows

TRACK = 8.0
LANE = 10.0
LANE_START = 14.0
ABOVE_TRACKS = 9.0
WORDS = 8.0
"""How much more room a row needs below the tracks above it for texts beside its arrows."""

Point = tuple[float, float]


class Room(NamedTuple):
    """How high a gap between two rows is."""

    straight: float
    """With lines that only go straight down."""
    empty: float
    below_tracks: float
    """What lies below its tracks; an arrowhead must fit."""


OUTER = Room(0.0, 0.0, 14.0)
INNER = Room(16.0, 12.0, 14.0)
ENTERING = Room(14.0, 8.0, 14.0)
"""Below the upper edge of a frame, whose title strip is empty enough."""
LEAVING = Room(8.0, 6.0, 8.0)
"""Where no arrow ends: above the lower edge of a frame, or above frames alone."""


@dataclass(slots=True)
class Grid:
    """The places of everything in a level, the content beginning at x 0 and y 0."""

    x: list[float]
    """Centre of each item."""
    top: list[float]
    """Upper end of each item."""
    bottom: list[float]
    row_top: list[float]
    row_bottom: list[float]
    track_y: dict[tuple[int, int], float]
    """(gap, net) -> y of the net's track; the middle of the gap for a straight line."""
    steps: dict[tuple[int, int], tuple[float, float]]
    """(gap, net) -> x at which the line goes on to a second track, and the y of that track."""
    left: float
    right: float
    height: float
    labels: list[tuple[int, float, float]] = field(default_factory=list[tuple[int, float, float]])


def place_lanes(level: Level, rows: Rows, half: list[float], x: list[float]) -> tuple[float, float]:
    """Set the x of every lane, as near to the content beside it as others allow; return the new bounds."""
    if not rows.lanes:
        return 0.0, max((x[item] + half[item] for row in rows.rows for item in row), default=0.0)
    edges = [
        (
            min((x[item] - half[item] for item in row), default=0.0),
            max((x[item] + half[item] for item in row), default=0.0),
        )
        for row in rows.rows
    ]
    left, right = 0.0, max((edge for _, edge in edges), default=0.0)
    taken: list[tuple[Lane, float]] = []
    for lane in sorted(rows.lanes, key=lambda lane: (lane.last - lane.first, lane.first, lane.net)):
        sign = 1 if lane.right else -1
        first, last = _beside(level, rows, lane)
        beside = [edge[lane.right] * sign for edge in edges[first:last]]
        nearer = [
            end + LANE
            for other, end in taken
            if other.right is lane.right and lane.first <= other.last and lane.last >= other.first
        ]
        at = max([max(beside, default=0.0) + LANE_START, *nearer])
        words = level.nets[lane.net].label_width if lane.back else 0.0
        end = at + (words + 8 if words else 0.0)
        lane.x = at * sign
        taken.append((lane, end))
        left, right = min(left, end * sign), max(right, end * sign)
    return left, right


def _beside(level: Level, rows: Rows, lane: Lane) -> tuple[int, int]:
    """Return the first row beside a lane and the words in its middle, and the one after the last."""
    first, last = lane.first, lane.last
    length = level.nets[lane.net].label_length if lane.back else 0.0
    if not length:
        return first, last
    size = len(level.slots)
    heights = [
        max((level.slots[item].height for item in row if item < size), default=0.0) + INNER.empty for row in rows.rows
    ]
    above = below = (length - sum(heights[first:last])) / 2
    while (above > 0 and first > 0) or (below > 0 and last < len(heights)):
        if above > 0 and first > 0:
            first -= 1
            above -= heights[first]
            below += max(0.0, above) if not first else 0.0
        else:
            below -= heights[last]
            last += 1
            above += max(0.0, below) if last == len(heights) else 0.0
    return first, last


def crossings_by_gap(rows: Rows, x: list[float], ends: LaneEnds) -> list[list[Crossing]]:
    """Return what each net does in each gap."""
    gaps: list[dict[int, Crossing]] = [{} for _ in rows.links]

    def at(gap: int, net: int) -> Crossing:
        found = gaps[gap].get(net)
        if found is None:
            found = gaps[gap][net] = Crossing(net)
        return found

    for gap, links in enumerate(rows.links):
        for link in links:
            crossing = at(gap, link.net)
            top = x[link.upper] + link.upper_offset
            if top not in crossing.tops:
                crossing.tops.append(top)
            crossing.bottoms.append(x[link.lower] + link.lower_offset)
    for number, lane in enumerate(rows.lanes):
        crossing = at(lane.last if lane.back else lane.first, lane.net)
        top = x[lane.source] + ends.get((-1 - number, lane.source), 0.0)
        if top not in crossing.tops:
            crossing.tops.append(top)
        crossing.sides.append(lane.x)
        if lane.back:
            crossing.rising.append(lane.x)
        for gap, taps in lane.taps.items():
            crossing = at(gap, lane.net)
            crossing.sides.append(lane.x)
            if not lane.back:
                crossing.rising.append(lane.x)
            for item, _ in taps:
                crossing.bottoms.append(x[item] + ends.get((number, item), 0.0))
    return [list(found.values()) for found in gaps]


def place_rows(level: Level, rows: Rows, x: list[float], ends: LaneEnds, bounds: tuple[float, float]) -> Grid:
    """Stack the rows, leaving between them the room that the tracks need."""
    gaps = crossings_by_gap(rows, x, ends)
    size = len(level.slots)
    total = len(x)
    grid = Grid(x, [0.0] * total, [0.0] * total, [], [], {}, {}, *bounds, 0.0)
    y = 0.0
    last = len(rows.rows) - 1
    for row, items in enumerate(rows.rows):
        room = _room(level, rows, row)
        if any(level.nets[crossing.net].worded and crossing.bottoms for crossing in gaps[row]) and room.straight:
            arrows = any(item < size and level.slots[item].ins is None for item in items)
            straight = room.straight + (WORDS if arrows else 0.0)
            room = room._replace(straight=straight, below_tracks=room.below_tracks + WORDS)
        y = _gap(grid, row, gaps[row], y, room)
        height = max((level.slots[item].height for item in items if item < size), default=0.0)
        if row == 0 and level.ins:
            height = level.margins.top
        elif row == last and level.outs:
            height = level.margins.bottom
        grid.row_top.append(y)
        grid.row_bottom.append(y + height)
        first_out = size + level.ins
        for item in items:
            own = level.slots[item].height if item < size else height
            grid.top[item] = y + (height - own) / 2
            grid.bottom[item] = grid.top[item] + own
            if size <= item < first_out:  # a line begins at the frame itself, above the title
                grid.bottom[item] = grid.top[item]
            elif first_out <= item < first_out + level.outs:
                grid.top[item] = grid.bottom[item]
        y += height
    grid.height = _gap(grid, len(rows.rows), gaps[len(rows.rows)], y, OUTER)
    return grid


def _room(level: Level, rows: Rows, row: int) -> Room:
    """Return the room that the gap above a row needs."""
    if row == 0:
        return OUTER
    last = row == len(rows.rows) - 1
    if last and level.outs:
        return LEAVING
    if row > 1 or not level.ins:
        return INNER
    nodes = any(item < len(level.slots) and level.slots[item].ins is None for item in rows.rows[row])
    return ENTERING if nodes else LEAVING


def _gap(grid: Grid, gap: int, crossings: list[Crossing], y: float, room: Room) -> float:
    tracks = assign_tracks(crossings) if crossings else 0
    if tracks:
        height = ABOVE_TRACKS + (tracks - 1) * TRACK + room.below_tracks
    else:
        height = room.straight if crossings else room.empty
    for crossing in crossings:
        track = crossing.track
        grid.track_y[gap, crossing.net] = y + ABOVE_TRACKS + track * TRACK if track >= 0 else y + height / 2
        if crossing.step is not None:
            x, second = crossing.step
            grid.steps[gap, crossing.net] = (x, y + ABOVE_TRACKS + second * TRACK)
    return y + height


def draw_paths(level: Level, rows: Rows, ends: LaneEnds, grid: Grid) -> list[Path]:
    """Return every polyline of the level."""
    by_net: dict[int, list[tuple[int, Link]]] = {}
    for gap, links in enumerate(rows.links):
        for link in links:
            by_net.setdefault(link.net, []).append((gap, link))
    paths: list[Path] = []
    for net, pieces in by_net.items():
        _draw_links(level, rows, grid, net, pieces, paths)
    for number, lane in enumerate(rows.lanes):
        _draw_lane(level, number, lane, ends, grid, paths)
    return paths


def _draw_links(
    level: Level,
    rows: Rows,
    grid: Grid,
    net: int,
    pieces: list[tuple[int, Link]],
    paths: list[Path],
) -> None:
    size = len(level.slots)
    open_at: dict[int, list[Point]] = {}
    # A bend is served before the nodes beside it, so that the long line stays in one piece.
    for gap, link in sorted(pieces, key=lambda piece: (piece[0], piece[1].lower < rows.bends)):
        start = grid.x[link.upper] + link.upper_offset
        end = grid.x[link.lower] + link.lower_offset
        track = grid.track_y[gap, net]
        line = open_at.pop(link.upper, None) or [(start, grid.bottom[link.upper])]
        if abs(start - end) > 0.01:
            line.append((start, track))
            if (gap, net) in grid.steps:
                x, track = grid.steps[gap, net]
                line += [(x, line[-1][1]), (x, track)]
            line.append((end, track))
        if link.lower >= rows.bends:
            line.append((end, grid.bottom[link.lower]))
            open_at[link.lower] = line
        else:
            line.append((end, grid.top[link.lower]))
            node = link.lower < size and level.slots[link.lower].ins is None
            paths.append(Path(net, tuple(line), node))


def _draw_lane(level: Level, number: int, lane: Lane, ends: LaneEnds, grid: Grid, paths: list[Path]) -> None:
    size = len(level.slots)
    start = grid.x[lane.source] + ends.get((-1 - number, lane.source), 0.0)
    begin = lane.last if lane.back else lane.first
    track = grid.track_y[begin, lane.net]
    line: list[Point] = [(start, grid.bottom[lane.source]), (start, track), (lane.x, track)]
    far = (min if lane.back else max)(lane.taps)
    for gap in sorted(lane.taps, key=lambda gap: gap != far):
        y = grid.track_y[gap, lane.net]
        for item, _ in lane.taps[gap]:
            end = grid.x[item] + ends.get((number, item), 0.0)
            node = item < size and level.slots[item].ins is None
            line += [(lane.x, y), (end, y), (end, grid.top[item])]
            paths.append(Path(lane.net, tuple(line), node))
            line = []
    text = level.nets[lane.net]
    if lane.back and text.label_length:
        half = text.label_length / 2
        middle = (grid.track_y[lane.first, lane.net] + grid.track_y[lane.last, lane.net]) / 2
        aside = text.label_width / 2
        grid.labels.append(
            (lane.net, lane.x + (aside if lane.right else -aside), max(half, min(middle, grid.height - half)))
        )
    elif lane.back and text.label_width:
        row = min((lane.first + lane.last - 1) // 2, len(grid.row_top) - 1)
        middle = (grid.row_top[row] + grid.row_bottom[row]) / 2
        aside = 5.0 if lane.right else -5.0 - text.label_width
        grid.labels.append((lane.net, lane.x + aside, middle))
