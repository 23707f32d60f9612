"""Solves one level: rows, order, x, y, lines, and the frame around them."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, sqrt

from tl_viz._layout.columns import solve_in_columns, wants_columns
from tl_viz._layout.nudge import nudge
from tl_viz._layout.ports import place_ports, slide_ports
from tl_viz._layout.problem import OUTSIDE, Level, Margins, Path, Placed
from tl_viz._layout.ranks import Ranks, assign_ranks
from tl_viz._layout.route import Grid, draw_paths, place_lanes, place_rows
from tl_viz._layout.rows import freedom, order_rows
from tl_viz._layout.stack import stack_chains, unstack
from tl_viz._layout.straighten import straighten
from tl_viz._layout.surroundings import surroundings
from tl_viz._layout.title import place_title

LOOSE_GAP = 14.0


def solve(level: Level) -> Placed:
    """Return the places of everything in `level`."""
    ranks = assign_ranks(level)
    if level.may_wrap and wants_columns(level, ranks):
        return solve_in_columns(level, ranks, solve)
    stacked = stack_chains(level, ranks)
    if stacked is not None:
        return unstack(level, stacked, solve(stacked.level))
    size = len(level.slots)
    rows = order_rows(level, ranks)
    ends = place_ports(level, ranks, rows)
    total = len(rows.position)
    half = [slot.width / 2 for slot in level.slots] + [1.0] * (total - size)
    x = straighten(rows, half, ranks.main_in)
    nudge(rows, half, x, ranks.main_in)
    slide_ports(level, rows, x)
    left, right = place_lanes(level, rows, half, x)
    grid = place_rows(level, rows, x, ends, (left, right))
    paths = draw_paths(level, rows, ends, grid)
    placed = _frame(level, ranks, grid, paths)
    if not level.curious:
        return placed
    return replace(placed, around=surroundings(level, rows, x), freedom=freedom(rows, ranks))


def _frame(level: Level, ranks: Ranks, grid: Grid, paths: list[Path]) -> Placed:
    """Put the frame around the content: margins, the title clear of the lines, and the loose children."""
    size, margins = len(level.slots), level.margins
    ins = [grid.x[item] for item in range(size, size + level.ins)]
    outs = [grid.x[item] for item in range(size + level.ins, size + level.ins + level.outs)]
    title = place_title(
        margins,
        outs if margins.title_at_end else ins,
        margins.side + margins.left - grid.left,
        grid.right - grid.left + 2 * margins.side + margins.left,
    )
    move = title.move
    head, foot = (0.0, title.higher) if margins.title_at_end else (title.higher, 0.0)
    margins = replace(margins, top=margins.top + head, bottom=margins.bottom + foot) if title.higher else margins
    top = 0.0 if level.ins else margins.top

    def down(y: float) -> float:
        """Return where something stands in the frame: lines begin and end at its edge."""
        below_title = head if level.ins and y > 0 else 0.0
        return top + y + below_title + (foot if level.outs and y >= grid.height else 0.0)

    height = down(grid.height) + (0.0 if level.outs else margins.bottom)
    content_end = height
    loose, width, height = _shelve(level, margins, ranks.loose, title.width, height)
    height = max(height, level.min_height)
    corners = tuple(
        loose[item] if item in loose else (grid.x[item] - slot.width / 2 + move, down(grid.top[item]))
        for item, slot in enumerate(level.slots)
    )
    tails = _tails(level, outs, content_end, height)
    return Placed(
        width=width,
        height=height,
        corners=corners,
        ins=tuple(x + move for x in ins),
        outs=tuple(x + move for x in outs),
        paths=(
            *[Path(path.net, tuple([(x + move, down(y)) for x, y in path.points]), path.arrow) for path in paths],
            *[Path(path.net, tuple([(x + move, y) for x, y in path.points]), path.arrow) for path in tails],
        ),
        labels=tuple((net, x + move, down(y)) for net, x, y in grid.labels),
        title=title.places,
    )


def _tails(level: Level, outs: list[float], content_end: float, end: float) -> list[Path]:
    """Return what is missing between the content and the end of a frame that is longer than it."""
    if end - content_end < 0.01:
        return []
    return [
        Path(net, ((outs[port], content_end), (outs[port], end)), False)
        for net, one in enumerate(level.nets)
        for target, port in one.targets
        if target == OUTSIDE
    ]


def _shelve(
    level: Level, margins: Margins, apart: list[int], width: float, height: float
) -> tuple[dict[int, tuple[float, float]], float, float]:
    """Place the children without lines in columns to the right of the rest."""
    places: dict[int, tuple[float, float]] = {}
    if not apart:
        return places, width, height
    slots = [level.slots[item] for item in apart]
    area = sum((slot.width + LOOSE_GAP) * (slot.height + LOOSE_GAP) for slot in slots)
    limit = max(height - margins.top - margins.bottom, sqrt(area), max(s.height for s in slots))
    alone = len(apart) == len(level.slots) and not level.nets
    x = margins.side + margins.left if alone else width - margins.side + LOOSE_GAP
    y, widest = margins.top, 0.0
    for item, slot in zip(apart, slots, strict=True):
        if y > margins.top and y + slot.height > margins.top + limit:
            x, y, widest = x + widest + LOOSE_GAP, margins.top, 0.0
        places[item] = (x, y)
        y += slot.height + LOOSE_GAP
        widest = max(widest, slot.width)
    lowest = max(places[item][1] + level.slots[item].height for item in apart)
    return places, max(width, x + widest + margins.side), max(height, ceil(lowest + margins.bottom))
