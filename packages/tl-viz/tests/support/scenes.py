"""Random nested scenes."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from tl_viz._measure import text_width
from tl_viz._scene import Box, Edge, Node, Scene, TextRow


@dataclass
class _Counter:
    leaves: list[str] = field(default_factory=list)
    boxes: int = 0


@st.composite
def scenes(draw: st.DrawFn, *, loops: bool = True) -> Scene:
    """Draw a scene with up to four levels, hyperedges of any span, hubs, loops and loose nodes."""
    counter = _Counter()
    children = [_item(draw, counter, 3) for _ in range(draw(st.integers(1, 7)))]
    keys = counter.leaves
    edges: list[Edge] = []
    for index, key in enumerate(keys):
        later = keys[index + 1 :]
        if later and draw(st.integers(0, 4)):
            near = later[:3] if draw(st.booleans()) else later
            targets = draw(st.lists(st.sampled_from(near), min_size=1, max_size=4, unique=True))
            edges.append(Edge(source=key, targets=tuple(targets)))
    if keys and draw(st.integers(0, 4)) == 0:
        hub = draw(st.sampled_from(keys[: max(1, len(keys) // 2)]))
        readers = tuple(keys[keys.index(hub) + 1 :])
        if readers:
            edges.append(Edge(source=hub, targets=readers))
    if loops and draw(st.integers(0, 2)) == 0:
        back = draw(st.integers(0, len(keys) - 1))
        to = draw(st.integers(0, back))
        edges.append(Edge(source=keys[back], targets=(keys[to],), role="loop", label="next round (2, 16)"))
    return Scene(root=Box(key="", role="root", title=(), children=tuple(children)), edges=tuple(edges))


def _item(draw: st.DrawFn, counter: _Counter, depth: int) -> Node | Box:
    if depth == 0 or draw(st.integers(0, 2)):
        key = f"n{len(counter.leaves)}"
        counter.leaves.append(key)
        row = TextRow(text=draw(st.sampled_from(["add", "conv2d", "scaled_dot_product_attention"])))
        width = text_width(row.text, row.size) + 20
        return Node(key=key, role="op", rows=(row,), width=width, height=draw(st.sampled_from([26.0, 40.0, 64.0])))
    counter.boxes += 1
    key = f"b{counter.boxes}"
    words = ["h", "layer1.0", "a_module_with_a_long_name", "×12 own weights", "445k params ×12 · 5.34M in all"]
    title = tuple(
        TextRow(text=text, bold=True) for text in draw(st.lists(st.sampled_from(words), min_size=1, max_size=4))
    )
    children = tuple(_item(draw, counter, depth - 1) for _ in range(draw(st.integers(1, 5))))
    return Box(key=key, role="module", title=title if draw(st.integers(0, 3)) else (), children=children)
