"""No line through a node, nothing outside its frame, every edge whole: on random nested scenes, in every direction."""

from __future__ import annotations

import pytest
from hypothesis import given
from quality import all_faults, labels_on_nodes
from scenes import scenes

from tl_viz._layout import lay_out
from tl_viz._scene import Box, Edge, Node, Scene

DIRECTIONS = ("topdown", "bottomup", "leftright", "rightleft")


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(scene=scenes())
def test_random_scenes_have_no_faults(scene: Scene, direction: str) -> None:
    geometry = lay_out(scene, direction=direction)
    assert all_faults(scene, geometry) == []
    assert labels_on_nodes(scene, geometry) == []


@given(scene=scenes())
def test_layout_is_a_function_of_the_scene_alone(scene: Scene) -> None:
    assert lay_out(scene) == lay_out(scene)
    assert lay_out(scene).rects == lay_out(scene, reuse=False).rects


@given(scene=scenes())
def test_keys_do_not_move_anything(scene: Scene) -> None:
    renamed = _renamed(scene)
    before, after = lay_out(scene), lay_out(renamed)
    assert list(before.rects.values()) == list(after.rects.values())
    assert before.lines == after.lines


def _renamed(scene: Scene) -> Scene:
    def other(key: str) -> str:
        return f"zz{key[::-1]}"

    def item(one: Node | Box) -> Node | Box:
        if isinstance(one, Node):
            return Node(key=other(one.key), role=one.role, rows=one.rows, width=one.width, height=one.height)
        return Box(
            key=other(one.key), role=one.role, title=one.title, children=tuple(item(child) for child in one.children)
        )

    root = item(scene.root)
    assert isinstance(root, Box)
    edges = tuple(
        Edge(
            source=other(edge.source),
            targets=tuple(other(target) for target in edge.targets),
            role=edge.role,
            label=edge.label,
        )
        for edge in scene.edges
    )
    return Scene(root=root, edges=edges)
