"""Lays out a scene, and where it is small, in several ways of which the one is taken that is the easiest to follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tl_core import collector_paused
from tl_viz._layout.assemble import assemble, set_texts
from tl_viz._layout.frames import NOWHERE, prepare, solve_all
from tl_viz._layout.geometry import Direction, Geometry, turn
from tl_viz._layout.problem import FREE, Choice, Order
from tl_viz._layout.score import effort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_viz._layout.frames import Choices, Surroundings, Work
    from tl_viz._layout.problem import Placed
    from tl_viz._scene import Scene

ROUNDS = 3
"""So many times frames are told anew what lies around them."""

TRIES, PLACED = 30, 2000
"""So many layouts are tried at most, and fewer where they would place more items than this, all tries counted."""

TORN = 150.0
"""So many pixels of line are as hard to follow as a line that runs on another side than those before it."""


_Change = Order | tuple[int, bool]
"""Another order of a frame, or a net and the other side for its line."""


class _Try(NamedTuple):
    """One way to lay out a scene."""

    effort: float
    geometry: Geometry
    placed: list[Placed | None]
    told: Surroundings
    choices: Choices


def lay_out(scene: Scene, *, direction: Direction = "topdown", reuse: bool = True) -> Geometry:
    """Return places for everything in `scene`.

    Args:
        scene: what to draw; nothing in it is changed.
        direction: which way the tensors flow.
        reuse: solve equal frames once; turned off only to measure.

    Returns:
        Rectangles by key, lines by number of the edge, in pixels from the top left corner.

    Example:
        >>> from tl_viz._scene import Box, Node, Scene
        >>> node = Node(key="a", role="op", rows=(), width=40, height=20)
        >>> scene = Scene(root=Box(key="", role="root", title=(), children=(node,)), edges=())
        >>> lay_out(scene).rects["a"].width
        40
    """
    with collector_paused():
        return _lay_out(scene, direction, reuse)


def _lay_out(scene: Scene, direction: Direction, reuse: bool) -> Geometry:
    work = prepare(scene, direction, reuse)
    placed = solve_all(work, {}, {})
    if any(solved is not None and solved.freedom for solved in placed):
        geometry = _tell(work, _choose(work, _tell(work, _draw(work, {}, {})))).geometry
    else:
        geometry = assemble(work, placed)
    return set_texts(work, turn(geometry, direction))


def _draw(work: Work, told: Surroundings, choices: Choices) -> _Try:
    placed = solve_all(work, told, choices)
    key = tuple(map(id, placed))
    drawn = work.drawn.get(key)
    if drawn is None:
        geometry = assemble(work, placed)
        drawn = work.drawn[key] = (_effort(geometry, placed), geometry)
    return _Try(*drawn, placed, told, choices)


def _effort(geometry: Geometry, placed: list[Placed | None]) -> float:
    torn = sum(solved.freedom.torn for solved in placed if solved is not None and solved.freedom is not None)
    return effort(geometry) + TORN * torn


def _tell(work: Work, best: _Try) -> _Try:
    """Tell frames in which order the best layout so far leads lines to them, and return the best that comes of it."""
    for _ in range(ROUNDS):
        seen = _surroundings(work, best.placed)
        if not seen or seen == best.told:
            break
        for above, below in ((True, True), (True, False), (False, True)):
            drawn = _draw(work, _told(best.told, seen, above=above, below=below), best.choices)
            if drawn.effort < best.effort:
                best = drawn
                break
        else:
            break
    return best


def _told(told: Surroundings, seen: Surroundings, *, above: bool, below: bool) -> Surroundings:
    """Return what frames are told next: what was seen above them, below them, or both; of the rest what they were told before.

    Of two frames that adapt to each other at once, each would get the order that the other has given up.
    """
    return {
        frame: (sides[0] if above else told.get(frame, NOWHERE)[0], sides[1] if below else told.get(frame, NOWHERE)[1])
        for frame, sides in seen.items()
    }


def _surroundings(work: Work, placed: list[Placed | None]) -> Surroundings:
    """Return what the frames around each frame can tell it."""
    told: Surroundings = {}
    for index, solved in enumerate(placed):
        if solved is not None and solved.around:
            for child, sides in zip(work.pieced.children[index], solved.around, strict=True):
                if sides is not None:
                    told[child] = sides
    return told


def _choose(work: Work, best: _Try) -> _Try:
    """Turn frames and lead lines along other sides, one after the other, as long as that makes the picture easier to follow."""
    most = min(TRIES, PLACED // len(work.pieced.items))
    before = None
    while before is not best:
        before = best
        for changes in _changes(work, best):
            if len(work.drawn) >= most:
                return best
            choices = dict(best.choices)
            for group, change in changes:
                choices[group] = _changed(choices.get(group, FREE), change)
            drawn = _draw(work, best.told, choices)
            if isinstance(changes[0][1], str):
                drawn = min(_tell(work, drawn), _tell(work, _draw(work, {}, choices)), key=lambda one: one.effort)
            if drawn.effort < best.effort - 1:
                best = drawn
    return best


def _changes(work: Work, best: _Try) -> Iterator[tuple[tuple[int, _Change], ...]]:
    """Yield what may be changed, the innermost frames first: their order, alone or with that around them, and the sides of lines."""
    pieced, groups = work.pieced, work.groups
    seen: set[int] = set()
    for index in reversed(range(len(best.placed))):
        solved = best.placed[index]
        if solved is None or solved.freedom is None or groups[index] in seen:
            continue
        group = groups[index]
        seen.add(group)
        order = best.choices.get(group, FREE).order
        turned = "run" if order == "mirrored" else "mirrored"
        yield ((group, turned),)
        yield ((group, "run" if order == "centred" else "centred"),)
        if index:
            around = groups[pieced.parent[index]]
            outer = best.choices.get(around, FREE).order
            yield (group, turned), (around, "run" if outer == "mirrored" else "mirrored")
        for net, right in solved.freedom.lines:
            yield ((group, (net, not right)),)


def _changed(choice: Choice, change: _Change) -> Choice:
    if isinstance(change, str):
        return replace(choice, order=change)
    return replace(choice, sides=tuple(sorted((dict(choice.sides) | dict([change])).items())))
