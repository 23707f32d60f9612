"""A picture that is wrapped into columns."""

from __future__ import annotations

from columns import DEFAULTS, load

from tl_viz._draw import picture


def test_a_short_last_column_ends_where_the_picture_ends():
    """Swin is wrapped after its stages; the norm, the pool and the head stand beside the last stages, not at the top."""
    drawing = picture(load("swin"), DEFAULTS)
    rects, lines = drawing.geometry.rects, drawing.geometry.lines
    last = [node.key for node in drawing.scene.nodes()][-1]
    norm = drawing.scene.root.children[-6].key
    assert rects[last].y + rects[last].height > 0.95 * drawing.geometry.height
    number = next(index for index, edge in enumerate(drawing.scene.edges) if norm in edge.targets)
    highest = min(y for line in lines if line.edge == number for _, y in line.points)
    assert highest > rects[norm].y - 60
