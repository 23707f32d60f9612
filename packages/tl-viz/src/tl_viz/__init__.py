"""Draws TorchLens traces as SVG, DOT, PNG and PDF, with no system binary and no machine-learning framework."""

from tl_viz._draw import draw as draw
from tl_viz._drawing import CollapsePlan as CollapsePlan
from tl_viz._drawing import Drawing as Drawing
from tl_viz._layout import Geometry as Geometry
from tl_viz._layout import Line as Line
from tl_viz._layout import Rect as Rect
from tl_viz._plan import COLLAPSE_OPTIMIZER_MAX_OPS as COLLAPSE_OPTIMIZER_MAX_OPS
from tl_viz._scene import Box as Box
from tl_viz._scene import Edge as Edge
from tl_viz._scene import Node as Node
from tl_viz._scene import Scene as Scene
from tl_viz._scene import TextRow as TextRow
from tl_viz._theme import DARK as DARK
from tl_viz._theme import LIGHT as LIGHT
from tl_viz._theme import PAPER as PAPER
from tl_viz._theme import Theme as Theme

__all__ = [
    # drawing
    "draw",
    "Drawing",
    "CollapsePlan",
    "COLLAPSE_OPTIMIZER_MAX_OPS",
    # what a drawing is made of
    "Scene",
    "Node",
    "Box",
    "Edge",
    "TextRow",
    "Geometry",
    "Rect",
    "Line",
    # colours
    "Theme",
    "LIGHT",
    "DARK",
    "PAPER",
]
