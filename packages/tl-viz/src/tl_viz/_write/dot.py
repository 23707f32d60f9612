"""Writes a scene as DOT text, which needs no Graphviz: that only reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tl_viz._scene import Box, Edge, Node, Scene, heavy_line, joins_line

if TYPE_CHECKING:
    from tl_viz._layout import Direction
    from tl_viz._theme import Theme

RANKDIR = {"topdown": "TB", "bottomup": "BT", "leftright": "LR", "rightleft": "RL"}
POINTS_PER_INCH = 72.0


def to_dot(scene: Scene, theme: Theme, direction: Direction, *, name: str = "") -> str:
    """Return the DOT text of a scene: a cluster for every frame, and the node sizes of our own engine.

    Without a name it has no title, and is made for its places alone.
    """
    joined = joins_line(scene.joins)
    title = "\\l".join([_escape(text) for text in (name, scene.made, heavy_line(scene.heavy), joined) if text])
    out = [
        f"digraph {_quote(name or 'network')} {{",
        f'  graph [rankdir={RANKDIR[direction]}, fontname="Helvetica", fontsize=11, '
        f'bgcolor="{theme.background or "transparent"}", nodesep=0.3, ranksep=0.35'
        + (f', label="{title}\\l", labelloc=t, labeljust=l' if name else "")
        + "];",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=9, fixedsize=true];',
        f'  edge [color="{theme.line}", arrowsize=0.6, fontname="Helvetica", fontsize=9];',
    ]
    _children(scene.root, theme, out, "  ")
    joins = {node.key for node in scene.nodes() if node.joins == "branches"}
    for edge in scene.edges:
        out += [f"  {_quote(edge.source)} -> {_quote(key)}{_line(edge, key in joins, theme)};" for key in edge.targets]
    out.append("}\n")
    return "\n".join(out)


def _line(edge: Edge, joins: bool, theme: Theme) -> str:
    """Return the attributes of one line; where branches join, its arrow stands on a bar."""
    parts: list[str] = []
    if edge.role != "data":
        parts.append(f'color="{theme.loop if edge.role == "loop" else theme.faint}"')
    if edge.role == "loop":
        parts += ["constraint=false", *([f"label={_quote(edge.label)}"] if edge.label else [])]
    if joins:
        parts.append("arrowhead=teenormal")
    return f" [{', '.join(parts)}]" if parts else ""


def _children(box: Box, theme: Theme, out: list[str], indent: str) -> None:
    for child in box.children:
        if isinstance(child, Node):
            out.append(indent + _node(child, theme))
            continue
        out.append(f"{indent}subgraph {_quote('cluster_' + child.key)} {{")
        title = "  ".join([part.text for part in child.title])
        stroke = theme.run if child.copies > 1 or child.role == "run" else theme.frame
        style = "rounded,filled,dashed" if child.role == "segment" else "rounded,filled"
        out.append(
            f'{indent}  label={_quote(title)}; labeljust=l; style="{style}"; '
            f'color="{stroke}"; fillcolor="{theme.fills[0]}"; margin=10;'
        )
        _children(child, theme, out, indent + "  ")
        out.append(indent + "}")


def _node(node: Node, theme: Theme) -> str:
    fill, stroke = theme.learned if node.learned else theme.nodes[node.role]
    closed = "[+] " if node.role == "module" else ""
    label = closed + "\\n".join([_escape(row.text) for row in node.rows])
    peripheries = ", peripheries=2" if node.copies > 1 else ""
    return (
        f'{_quote(node.key)} [label="{label}", fillcolor="{node.tint or fill}", '
        f'color="{theme.mark if node.marked else stroke}", fontcolor="{theme.text}", '
        f"width={node.width / POINTS_PER_INCH:.3f}, height={node.height / POINTS_PER_INCH:.3f}"
        f"{peripheries}];"
    )


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _quote(text: str) -> str:
    return f'"{_escape(text)}"'
