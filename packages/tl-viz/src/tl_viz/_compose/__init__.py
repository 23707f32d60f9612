"""From a plan to a scene: which items there are, what they say, and which lines join them."""

from tl_viz._compose.compose import compose as compose
