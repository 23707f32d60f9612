"""Wraps a level that is too long into columns, read from left to right like those of a newspaper."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING

from tl_viz._layout.problem import OUTSIDE, Columns, Level, Margins, Net, Path, Placed
from tl_viz._layout.title import MIDDLE
from tl_viz._layout.tracks import Crossing, assign_tracks
from tl_viz._measure import joined_width, part_places

if TYPE_CHECKING:
    from collections.abc import Callable

    from tl_viz._layout.ranks import Ranks

LONGEST = 4000.0
"""A level longer than this is wrapped. The forty items of a picture by default fit below each other: who sees a second column takes
it for a second branch, so there is none before a single one is past following."""

SHAPE = 1.6
"""Width to height that the wrapped level should come near."""

ROW_GAP = 24.0
TRACK = 8.0
GUTTER = 16.0
COLUMN_GAP = 40.0
EDGE = 6.0
"""How much of the frame remains between a column and the gap beside it."""
MARK_GAP = 8.0
"""Distance between a line and the words beside it."""
FEWEST_ROWS = 6
SHORT = 0.6
"""A last column shorter than this share of the longest stands at the foot, so that its line does not climb past everything."""

Part = tuple[Level, list[int], list[int], list[int]]
"""The level of one column; its children; the nets of its input ports and of its output ports."""


def wants_columns(level: Level, ranks: Ranks) -> bool:
    """Whether the level is too long and has rows enough to be cut."""
    return ranks.rows >= FEWEST_ROWS and sum(_row_heights(level, ranks)) > LONGEST


def _row_heights(level: Level, ranks: Ranks) -> list[float]:
    heights = [0.0] * ranks.rows
    loose = set(ranks.loose)
    for item, slot in enumerate(level.slots):
        if item not in loose:
            row = ranks.rank[item]
            heights[row] = max(heights[row], slot.height)
    return [height + ROW_GAP for height in heights]


def _cuts(level: Level, ranks: Ranks) -> list[int]:
    """Return the first row of each column after the first: near equal heights, where few lines pass."""
    heights = _row_heights(level, ranks)
    widths = [0.0] * ranks.rows
    passing = [0] * (ranks.rows + 1)
    loose = set(ranks.loose)
    for item, slot in enumerate(level.slots):
        if item not in loose:
            widths[ranks.rank[item]] += slot.width + 26
    for wire in ranks.wires:
        if wire.forward:
            passing[ranks.rank[wire.source] + 1] += 1
            passing[max(ranks.rank[item] for item, _ in wire.forward) + 1] -= 1
    for row in range(1, ranks.rows + 1):
        passing[row] += passing[row - 1]
    total = sum(heights)
    wide = max(*widths, level.mark[0]) + COLUMN_GAP
    columns = max(2, round(sqrt(SHAPE * total / wide)))
    goal = total / columns
    cuts: list[int] = []
    done, first = 0.0, 0
    for row in range(ranks.rows):
        if row > first and done >= goal * 0.8 and row < ranks.rows - 1:
            ahead = _better_ahead(passing, heights, row, goal * 1.15 - done)
            if not ahead or done >= goal * 1.15:
                cuts.append(row)
                done, first = 0.0, row
        done += heights[row]
    return cuts


def _better_ahead(passing: list[int], heights: list[float], row: int, room: float) -> bool:
    """Whether a row a little further down lets fewer lines pass."""
    here, used = passing[row], heights[row]
    for later in range(row + 1, len(heights)):
        if used > room:
            return False
        if passing[later] < here:
            return True
        used += heights[later]
    return False


def solve_in_columns(level: Level, ranks: Ranks, solve: Callable[[Level], Placed]) -> Placed:
    """Cut the level into columns, solve each by `solve`, and join them by lines through the gutters."""
    cuts = _cuts(level, ranks)
    column_of = _columns_of(level, ranks, cuts)
    parts = _split(level, column_of, len(cuts) + 1)
    placed = [solve(part[0]) for part in parts]
    return _join(level, parts, placed)


def _columns_of(level: Level, ranks: Ranks, cuts: list[int]) -> list[int]:
    loose = set(ranks.loose)
    starts = [0, *cuts]
    result: list[int] = []
    for item in range(len(level.slots)):
        if item in loose:
            result.append(len(cuts))
            continue
        row = ranks.rank[item]
        result.append(max(index for index, start in enumerate(starts) if start <= row))
    return result


def _split(level: Level, column_of: list[int], count: int) -> list[Part]:
    members: list[list[int]] = [[] for _ in range(count)]
    local: list[int] = []
    for item, column in enumerate(column_of):
        local.append(len(members[column]))
        members[column].append(item)
    nets: list[list[Net]] = [[] for _ in range(count)]
    ins: list[list[int]] = [[] for _ in range(count)]
    outs: list[list[int]] = [[] for _ in range(count)]
    for index, net in enumerate(level.nets):
        child, port = net.source
        home = -1 if child == OUTSIDE else column_of[child]
        reached: dict[int, list[tuple[int, int]]] = {}
        leaves = False
        for target, target_port in net.targets:
            column = -1 if target == OUTSIDE else column_of[target]
            if column != home:
                leaves = True
            if column >= 0:
                reached.setdefault(column, []).append((local[target], target_port))
        if home >= 0:
            targets = reached.pop(home, [])
            if leaves:
                targets.append((OUTSIDE, len(outs[home])))
                outs[home].append(index)
            nets[home].append(replace(net, source=(local[child], port), targets=tuple(targets)))
        for column, targets in reached.items():
            nets[column].append(replace(net, source=(OUTSIDE, len(ins[column])), targets=tuple(targets)))
            ins[column].append(index)
    return [
        (
            Level(
                slots=tuple(level.slots[item] for item in members[column]),
                nets=tuple(nets[column]),
                ins=len(ins[column]),
                outs=len(outs[column]),
                margins=Margins(0.0, 0.0, 0.0),
                may_wrap=False,
            ),
            members[column],
            ins[column],
            outs[column],
        )
        for column in range(count)
    ]


def _join(level: Level, parts: list[Part], placed: list[Placed]) -> Placed:
    """Set the columns beside each other and lead the lines from the foot of one to the head of another."""
    margins = level.margins
    level_in = {index: net.source[1] for index, net in enumerate(level.nets) if net.source[0] == OUTSIDE}
    level_out = {
        index: port for index, net in enumerate(level.nets) for target, port in net.targets if target == OUTSIDE
    }
    lefts, lanes, width = _stand(level, parts, placed, level_in)
    heads = [
        {net: left + x for net, x in zip(part[2], one.ins, strict=True)}
        for left, part, one in zip(lefts, parts, placed, strict=True)
    ]
    feet = {
        net: left + x
        for left, part, one in zip(lefts, parts, placed, strict=True)
        for net, x in zip(part[3], one.outs, strict=True)
    }
    upper, lower = _gutters(heads, feet, lanes, level_in, level_out)
    title_room = joined_width(margins.title) + margins.side + 8
    shift = 0.0
    ports = upper if not margins.title_at_end else lower
    crossing_x = [
        x
        for net, crossing in ports.items()
        for x in (crossing.tops if not margins.title_at_end else crossing.bottoms)
        if net in level_in or net in level_out
    ]
    if margins.title and crossing_x:
        shift = max(0.0, title_room - min(crossing_x))
    head = margins.top + GUTTER + TRACK * assign_tracks(list(upper.values())) + GUTTER + level.mark[1]
    foot = head + max(one.height for one in placed) + level.mark[1]
    bottom = foot + GUTTER + TRACK * assign_tracks(list(lower.values())) + margins.bottom
    top_y = {net: margins.top + GUTTER + TRACK * max(c.track, 0) for net, c in upper.items()}
    low_y = {net: foot + GUTTER + TRACK * max(c.track, 0) for net, c in lower.items()}
    drops = _drops(placed)
    moves = [(left + shift, head + drop) for left, drop in zip(lefts, drops, strict=True)]
    corners, labels, paths = _moved(level, parts, placed, moves, foot)
    paths += _gutter_paths(upper, lower, top_y, low_y, lanes, heads, ([top for _, top in moves], foot, bottom, shift))
    ins = sorted((port, upper[net].tops[0] + shift) for net, port in level_in.items())
    outs = sorted((port, lower[net].bottoms[0] + shift) for net, port in level_out.items())
    return Placed(
        width=max(width + shift + margins.side, title_room + margins.side),
        height=bottom,
        corners=tuple(corners),
        ins=tuple(x for _, x in ins),
        outs=tuple(x for _, x in outs),
        paths=tuple(paths),
        labels=tuple(labels),
        title=tuple([(x, MIDDLE) for x in part_places(margins.title, margins.side)]),
        columns=_told_apart(level.mark, placed, moves, (head - GUTTER - level.mark[1], foot + GUTTER)),
    )


def _told_apart(
    mark: tuple[float, float], placed: list[Placed], moves: list[tuple[float, float]], ends: tuple[float, float]
) -> Columns:
    """Return the room for words at the ends of columns, beside their lines, and what lies between them."""
    wide, high = mark
    heads = [
        (left + _beside(one.ins), top - high, wide, high)
        for (left, top), one in zip(moves[1:], placed[1:], strict=True)
    ]
    feet = [
        (left + _beside(one.outs), top + one.height, wide, high)
        for (left, top), one in zip(moves[:-1], placed[:-1], strict=True)
    ]
    gaps = [
        (left + _width(one, mark) + EDGE, ends[0], after - left - _width(one, mark) - 2 * EDGE, ends[1] - ends[0])
        for (left, _), (after, _), one in zip(moves, moves[1:], placed, strict=False)
    ]
    return Columns(tuple(heads), tuple(feet), tuple(gaps))


def _beside(ports: tuple[float, ...]) -> float:
    return max(ports, default=-MARK_GAP) + MARK_GAP


def _width(column: Placed, mark: tuple[float, float]) -> float:
    """Return the width of a column with the words at its ends."""
    return max(column.width, max(_beside(column.ins), _beside(column.outs)) + mark[0])


def _moved(
    level: Level, parts: list[Part], placed: list[Placed], moves: list[tuple[float, float]], foot: float
) -> tuple[list[tuple[float, float]], list[tuple[int, float, float]], list[Path]]:
    """Return the corners, labels and lines of all columns at their places."""
    corners: list[tuple[float, float]] = [(0.0, 0.0)] * len(level.slots)
    labels: list[tuple[int, float, float]] = []
    paths: list[Path] = []
    for (left, top), part, one in zip(moves, parts, placed, strict=True):
        for item, (x, y) in zip(part[1], one.corners, strict=True):
            corners[item] = (x + left, y + top)
        names = _net_names(part, level)
        for path in one.paths:
            paths.append(Path(names[path.net], tuple((x + left, y + top) for x, y in path.points), path.arrow))
        labels += [(names[net], x + left, y + top) for net, x, y in one.labels]
        for net, x in zip(part[3], one.outs, strict=True):
            paths.append(Path(net, ((left + x, top + one.height), (left + x, foot)), False))
    return corners, labels, paths


def _drops(placed: list[Placed]) -> list[float]:
    """Return how much lower than the others each column begins: a short last one ends where the others end."""
    tallest = max(one.height for one in placed)
    drops = [0.0] * len(placed)
    if placed[-1].height < SHORT * tallest:
        drops[-1] = tallest - placed[-1].height
    return drops


def _net_names(part: Part, level: Level) -> list[int]:
    """Return for each net of a column which net of the whole level it is a piece of."""
    column, members, ins, _ = part
    by_source = {net.source: index for index, net in enumerate(level.nets)}
    return [
        ins[net.source[1]] if net.source[0] == OUTSIDE else by_source[members[net.source[0]], net.source[1]]
        for net in column.nets
    ]


def _stand(
    level: Level, parts: list[Part], placed: list[Placed], level_in: dict[int, int]
) -> tuple[list[float], list[dict[int, float]], float]:
    """Return the left edge of each column, and the x of each line that climbs before it."""
    lefts: list[float] = []
    lanes: list[dict[int, float]] = []
    at = level.margins.side + level.margins.left
    for number, (part, one) in enumerate(zip(parts, placed, strict=True)):
        climbing = [net for net in part[2] if net not in level_in]
        if number or climbing:
            at += COLUMN_GAP / 2
        lanes.append({net: at + TRACK * index for index, net in enumerate(climbing)})
        if number or climbing:
            at += TRACK * max(0, len(climbing) - 1) + COLUMN_GAP / 2
        lefts.append(at)
        at += _width(one, level.mark)
    return lefts, lanes, at


def _gutters(
    heads: list[dict[int, float]],
    feet: dict[int, float],
    lanes: list[dict[int, float]],
    level_in: dict[int, int],
    level_out: dict[int, int],
) -> tuple[dict[int, Crossing], dict[int, Crossing]]:
    """Return what each net does above and below the columns."""
    upper: dict[int, Crossing] = {}
    lower: dict[int, Crossing] = {}
    for column, head in enumerate(heads):
        for net, x in head.items():
            crossing = upper.setdefault(net, Crossing(net))
            if net in level_in and not crossing.tops:
                crossing.tops.append(x)
            crossing.bottoms.append(x)
            if net in lanes[column]:
                crossing.sides.append(lanes[column][net])
                below = lower.setdefault(net, Crossing(net, tops=[feet[net]]))
                below.sides.append(lanes[column][net])
    for net in level_out:
        if net in feet:
            crossing = lower.setdefault(net, Crossing(net, tops=[feet[net]]))
            crossing.bottoms.append(feet[net])
    return upper, lower


def _gutter_paths(
    upper: dict[int, Crossing],
    lower: dict[int, Crossing],
    top_y: dict[int, float],
    low_y: dict[int, float],
    lanes: list[dict[int, float]],
    heads: list[dict[int, float]],
    bands: tuple[list[float], float, float, float],
) -> list[Path]:
    """Return the lines above, below and between the columns; `bands` begins with the upper end of each column."""
    begins, foot, bottom, shift = bands
    low_head = {x: top for found, top in zip(heads, begins, strict=True) for x in found.values()}
    paths: list[Path] = []
    for net, crossing in upper.items():
        for top in crossing.tops:
            paths.append(Path(net, ((top + shift, 0.0), (top + shift, low_head[top])), False))
            for x in crossing.bottoms:
                if x != top:
                    y = top_y[net]
                    line = ((top + shift, y), (x + shift, y), (x + shift, low_head[x]))
                    paths.append(Path(net, line, False))
    for column, climbing in enumerate(lanes):
        head = begins[column]
        drop = head - begins[0]
        for net, lane in climbing.items():
            start, end = lower[net].tops[0], heads[column][net]
            line = (
                (start + shift, foot),
                (start + shift, low_y[net]),
                (lane + shift, low_y[net]),
                (lane + shift, top_y[net] + drop),
                (end + shift, top_y[net] + drop),
                (end + shift, head),
            )
            paths.append(Path(net, line, False))
    for net, crossing in lower.items():
        paths.extend(Path(net, ((x + shift, foot), (x + shift, bottom)), False) for x in crossing.bottoms)
    return paths
