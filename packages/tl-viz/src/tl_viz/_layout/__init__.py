"""The layout engine: from a scene without coordinates to places and lines, without any binary."""

from tl_viz._layout.beside import Room as Room
from tl_viz._layout.beside import Wish as Wish
from tl_viz._layout.engine import lay_out as lay_out
from tl_viz._layout.geometry import Direction as Direction
from tl_viz._layout.geometry import Geometry as Geometry
from tl_viz._layout.geometry import Line as Line
from tl_viz._layout.geometry import Rect as Rect
