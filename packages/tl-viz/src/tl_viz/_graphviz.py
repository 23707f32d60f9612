"""Places from the system's `dot`, where a user asks for it: with limits, with a deadline, and never needed."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import chain
from typing import TYPE_CHECKING, TypeGuard, cast

from tl_viz._layout import Direction, Geometry, Line, Rect
from tl_viz._measure import part_places, part_widths
from tl_viz._scene import Box, Scene, walk
from tl_viz._write.dot import to_dot

if TYPE_CHECKING:
    from tl_viz._theme import Theme

FREE_NODES = 150
"""Above this many nodes `dot` runs with its iterations limited and with straight lines."""

LIMITS = ("-Gsplines=line", "-Gnslimit=1", "-Gnslimit1=1", "-Gmclimit=0.1", "-Gsearchsize=10")

Json = dict[str, object]


class DotFailedError(Exception):
    """`dot` gave no picture; the message says why, in words for the note under ours."""


def lay_out_by_dot(scene: Scene, theme: Theme, direction: Direction, *, deadline_s: float) -> Geometry:
    """Return the places that `dot` chooses.

    Raises:
        DotFailedError: there is no `dot`, it did not finish within `deadline_s` seconds, or it failed.
    """
    binary = shutil.which("dot")
    if binary is None:
        raise DotFailedError("dot is not installed here")
    nodes = sum(1 for _ in scene.nodes())
    limits = LIMITS if nodes > FREE_NODES else ()
    try:
        done = subprocess.run(
            [binary, "-Tjson", *limits],
            input=to_dot(scene, theme, direction),
            capture_output=True,
            text=True,
            timeout=deadline_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise DotFailedError(f"dot did not finish within {deadline_s:g} s") from None
    except (subprocess.CalledProcessError, OSError) as error:
        raise DotFailedError(f"dot failed: {error}") from error
    return _geometry(scene, cast("Json", json.loads(done.stdout)))


def _is_objects(value: object) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


def _geometry(scene: Scene, found: Json) -> Geometry:
    _, _, width, height = _numbers(found["bb"])
    rects: dict[str, Rect] = {scene.root.key: Rect(0.0, 0.0, width, height)}
    objects = found.get("objects", [])
    objects = objects if _is_objects(objects) else []
    for one in objects:
        name = str(one["name"])
        if "bb" in one:
            left, low, right, top = _numbers(one["bb"])
            rects[name.removeprefix("cluster_")] = Rect(left, height - top, right - left, top - low)
        elif "pos" in one:
            x, y = _numbers(one["pos"])
            wide, high = float(str(one["width"])) * 72, float(str(one["height"])) * 72
            rects[name] = Rect(x - wide / 2, height - y - high / 2, wide, high)
    titles = {
        item.key: tuple(
            [(x, rects[item.key].y + 11) for x in part_places(part_widths(item.title), rects[item.key].x + 8)]
        )
        for item in walk(scene.root)
        if isinstance(item, Box) and item.title
    }
    lines, labels = _lines(scene, found, [str(one["name"]) for one in objects], height)
    return Geometry(width, height, rects, titles, tuple(lines), tuple(labels))


def _lines(
    scene: Scene, found: Json, names: list[str], height: float
) -> tuple[list[Line], list[tuple[int, float, float]]]:
    number: dict[tuple[str, str, bool], int] = {}
    for index, edge in enumerate(scene.edges):
        for target in edge.targets:
            number[edge.source, target, edge.role == "loop"] = index
    lines: list[Line] = []
    labels: list[tuple[int, float, float]] = []
    drawn = found.get("edges", [])
    for one in drawn if _is_objects(drawn) else []:
        ends = names[int(str(one["tail"]))], names[int(str(one["head"]))]
        edge = number[(*ends, "constraint" in one)]
        points = [(x, height - y) for x, y in _spline(str(one["pos"]))]
        lines.append(Line(edge, tuple(chain.from_iterable(points)), True))
        if "lp" in one:
            x, y = _numbers(one["lp"])
            labels.append((edge, x, height - y))
    return lines, labels


def _spline(text: str) -> list[tuple[float, float]]:
    """Return points along the curve that `dot` wrote, its arrow tip last."""
    tip: tuple[float, float] | None = None
    control: list[tuple[float, float]] = []
    for part in text.split():
        if part.startswith("e,"):
            tip = _pair(part[2:])
        elif not part.startswith("s,"):
            control.append(_pair(part))
    points = control[:1]
    for start in range(0, len(control) - 3, 3):
        a, b, c, d = control[start : start + 4]
        for step in range(1, 7):
            t = step / 6
            u = 1 - t
            weights = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
            points.append(
                (
                    sum(w * p[0] for w, p in zip(weights, (a, b, c, d), strict=True)),
                    sum(w * p[1] for w, p in zip(weights, (a, b, c, d), strict=True)),
                )
            )
    return [*points, tip] if tip else points


def _pair(text: str) -> tuple[float, float]:
    x, y = text.split(",")
    return float(x), float(y)


def _numbers(value: object) -> list[float]:
    return [float(part) for part in str(value).split(",")]
