"""The code panel: the user's source beside the graph, with links both ways."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass, field, replace
from os.path import basename
from typing import TYPE_CHECKING, cast

from tl_core import ArgumentTypeError, Trace
from tl_viz._display import MARGIN, Bar, Display, Group, Shape, Words
from tl_viz._measure import mono_width, text_width

if TYPE_CHECKING:
    from collections.abc import Callable

    from tl_viz._network import Network
    from tl_viz._options import CodePanel
    from tl_viz._scene import Scene
    from tl_viz._theme import Theme

CODE_SIZE, HEAD_SIZE = 10.0, 11.0
LINE_HEIGHT = 14.0
MOST_LINES = 600
LONGEST = 110
"""Characters of a source line that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A piece of one source file."""

    file: str
    """Base name, which is shown."""
    path: str
    """Absolute path for the link of a live capture; empty on a loaded trace."""
    first: int
    """Number of the first line."""
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Source that stands beside a picture, and which op was called on which line."""

    excerpts: tuple[Excerpt, ...]
    line_of: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Label of an op -> base name and line of its call."""


def read_panel(trace: Trace, wish: CodePanel) -> Panel | None:
    """Return the source that belongs to a trace, or None where none is wanted.

    Raises:
        ArgumentTypeError: the user's function returned something other than a text.
    """
    if wish is False:
        return None
    if callable(wish):
        return _own_text(trace, cast("Callable[[Trace], object]", wish))
    line_of: dict[str, tuple[str, int]] = {}
    places: dict[tuple[str, str], list[int]] = {}
    for op in trace.ops:
        source = op.source
        if source is not None:
            line_of[op.label] = (source.file, source.line)
            places.setdefault((source.path or "", source.file), []).append(source.line)
    excerpts: list[Excerpt] = []
    for (path, file), lines in places.items():
        if path:
            excerpts += _excerpts(path, sorted(set(lines)), "forward" if wish is True else wish)
        else:
            why = "(the source is not in a saved trace)" if trace.provenance.loaded else "(there is no such file)"
            excerpts += [Excerpt(file=file, path="", first=line, lines=(why,)) for line in sorted(set(lines))]
    return Panel(excerpts=_limited(excerpts), line_of=line_of)


def _own_text(trace: Trace, write: Callable[[Trace], object]) -> Panel:
    text = write(trace)
    if not isinstance(text, str):
        raise ArgumentTypeError(
            f"draw(code_panel=...): the function returned {type(text).__name__}, which is no text.",
            code="option_type",
            remedy="return the text that shall stand beside the graph",
            option="code_panel",
        )
    return Panel(excerpts=(Excerpt(file="", path="", first=1, lines=tuple(text.splitlines())),))


def _limited(excerpts: list[Excerpt]) -> tuple[Excerpt, ...]:
    kept: list[Excerpt] = []
    left = MOST_LINES
    for excerpt in excerpts:
        if left <= 0:
            break
        kept.append(replace(excerpt, lines=excerpt.lines[:left]))
        left -= len(excerpt.lines)
    return tuple(kept)


def _excerpts(path: str, lines: list[int], wish: str) -> list[Excerpt]:
    """Return the pieces of a file that hold the given lines: functions, classes, or both of a class's main methods."""
    text = linecache.getlines(path)
    try:
        tree = ast.parse("".join(text))
    except SyntaxError:
        return []
    spans = sorted({span for line in lines for span in _spans(tree, line, wish)})
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return [
        Excerpt(
            file=basename(path),
            path=path,
            first=start,
            lines=tuple(line.rstrip("\n").expandtabs(4) for line in text[start - 1 : end]),
        )
        for start, end in merged
    ]


def _spans(tree: ast.Module, line: int, wish: str) -> list[tuple[int, int]]:
    functions: list[tuple[int, int]] = []
    classes: list[ast.ClassDef] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _holds(node, line):
            functions.append((node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, ast.ClassDef) and _holds(node, line):
            classes.append(node)
    if wish == "class" and classes:
        return [(classes[-1].lineno, classes[-1].end_lineno or classes[-1].lineno)]
    found = [max(functions)] if functions else [(line, line)]
    if wish == "init+forward" and classes:
        found += [
            (node.lineno, node.end_lineno or node.lineno)
            for node in classes[-1].body
            if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        ]
    return found


def _holds(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def attach_panel(shown: Display, panel: Panel, scene: Scene, network: Network, theme: Theme) -> Display:
    """Return the picture with the source to its right; ops link to their lines, and lines to their first op."""
    left = shown.width + MARGIN
    groups, width, height, lines = _listing(panel, left, theme)
    node_of = _nodes_by_line(panel, scene, network)
    anchor = {line: f"node-{number}" for number, line in enumerate(node_of)}
    first = {key: line for line, keys in node_of.items() for key in keys[:1]}
    line_of = {key: line for line, keys in node_of.items() for key in keys}
    linked: list[Group] = []
    for group in shown.groups:
        line = line_of.get(group.key) if group.kind == "node" else None
        if line is not None and line in lines:
            mine = anchor[line] if first.get(group.key) == line else ""
            group = replace(group, link=f"#{lines[line]}", anchor=mine)
        linked.append(group)
    for group in groups:
        target = next((line for line, name in lines.items() if name == group.anchor), None)
        linked.append(replace(group, link=f"#{anchor[target]}") if target is not None and target in anchor else group)
    return replace(
        shown,
        width=left + width + MARGIN,
        height=max(shown.height, height + MARGIN),
        groups=tuple(linked),
    )


def _nodes_by_line(panel: Panel, scene: Scene, network: Network) -> dict[tuple[str, int], list[str]]:
    owners = network.owners or network.labels
    owner_of = dict(zip(network.labels, owners, strict=True))
    found: dict[tuple[str, int], list[str]] = {}
    for node in scene.nodes():
        line = panel.line_of.get(owner_of.get(node.first or node.key, ""))
        if line is not None:
            found.setdefault(line, []).append(node.key)
    return found


def _listing(panel: Panel, left: float, theme: Theme) -> tuple[list[Group], float, float, dict[tuple[str, int], str]]:
    """Return the groups of the source lines, their width and height, and the anchor of each line."""
    groups: list[Group] = []
    anchors: dict[tuple[str, int], str] = {}
    busy = set(panel.line_of.values())
    y, width = MARGIN + HEAD_SIZE, 0.0
    for excerpt in panel.excerpts:
        if excerpt.file:
            text = f"{excerpt.file}:{excerpt.first}" + (" · Open source" if excerpt.path else "")
            words = Words(left, y, text, HEAD_SIZE, True, theme.text, _bold_width(text))
            link = f"vscode://file/{excerpt.path.lstrip('/')}:{excerpt.first}" if excerpt.path else ""
            groups.append(Group(f"source:{text}", "source", (words,), excerpt.file, link))
            width = max(width, words.width)
            y += LINE_HEIGHT + 2
        for number, line in enumerate(excerpt.lines, start=excerpt.first):
            shown = f"{number:>4}  {line[:LONGEST]}"
            place = (excerpt.file, number)
            wide = mono_width(shown, CODE_SIZE)
            used = place in busy
            shapes: list[Shape] = []
            if used:
                shapes.append(
                    Bar(left - 2, y - CODE_SIZE, wide + 4, LINE_HEIGHT, 2, theme.fills[1], theme.fills[1], 0.5)
                )
                anchors[place] = f"line-{len(anchors)}"
            colour = theme.text if used else theme.muted
            shapes.append(Words(left, y, shown, CODE_SIZE, False, colour, wide, mono=True))
            name = anchors.get(place, "")
            groups.append(Group(f"line:{excerpt.file}:{number}", "line", tuple(shapes), anchor=name))
            width = max(width, wide)
            y += LINE_HEIGHT
        y += LINE_HEIGHT
    return groups, width, y, anchors


def _bold_width(text: str) -> float:
    return text_width(text, HEAD_SIZE, True)
