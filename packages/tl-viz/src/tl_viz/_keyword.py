"""Refuses keywords that `draw` does not have; what other tools call them is known."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from tl_core import unknown_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from tl_core import ArgumentTypeError

P = ParamSpec("P")
R = TypeVar("R")

SPELLED_OTHERWISE = {
    "vis_mode": "view",
    "vis_opt": "view",
    "vis_call_depth": "depth",
    "vis_nesting_depth": "depth",
    "vis_direction": "direction",
    "rankdir": "direction",
    "vis_node_placement": "layout",
    "renderer": "layout",
    "engine": "layout",
    "show_buffer_layers": "show_buffers",
    "vis_buffer_layers": "show_buffers",
    "node_label_fields": "label",
    "colour_by": "color_by",
    "node_overlay": "color_by",
    "vis_theme": "theme",
    "timeout": "deadline_s",
}
"""What other tools and earlier releases call an option -> its name here."""

FILES = frozenset(
    {"path", "filename", "file_format", "format", "vis_outpath", "vis_fileformat", "vis_save_only", "save_only"}
)
"""Keywords of tools that write a file while they draw."""


def known_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function`, refusing keywords that it does not have with a typed error."""
    known = tuple(signature(function).parameters)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise _unknown(function.__name__, name, known[1:])
        return function(*args, **kwargs)

    return checked


def _unknown(function: str, name: str, known: tuple[str, ...]) -> ArgumentTypeError:
    remedy = ""
    if name in FILES:
        remedy = f"{function}(...).save('network.svg') writes a file; its suffix says the format"
    elif name in SPELLED_OTHERWISE:
        remedy = f"write {SPELLED_OTHERWISE[name]}=..."
    return unknown_option(f"tl.{function}", name, known, remedy)
