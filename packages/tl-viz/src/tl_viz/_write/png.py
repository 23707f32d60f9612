"""Writes a display list as PNG with the resvg library, an extra of this package."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from tl_core import MissingDependencyError
from tl_viz._write.svg import to_svg

if TYPE_CHECKING:
    from tl_viz._display import Display

LARGEST = 8192
"""The longest side in pixels; larger pictures are scaled down."""

SCALE = 2.0
"""Pixels of the PNG for each pixel of the picture, so that text stays sharp."""


def png_scale(display: Display) -> float:
    """Return how many pixels of the PNG stand for one of the picture."""
    return min(SCALE, LARGEST / max(display.width, display.height))


def to_png(display: Display) -> bytes:
    """Return the bytes of a PNG.

    Raises:
        MissingDependencyError: resvg is not installed.
    """
    try:
        import resvg_py  # noqa: PLC0415 - an extra, needed by this format alone
    except ImportError as error:
        raise MissingDependencyError(
            "a PNG was asked for, and the library that draws it is not installed",
            code="extra_missing",
            remedy="pip install 'tl-viz[png]', or save as .svg or .pdf, which need nothing.",
            extra="png",
        ) from error
    whole = replace(display, width=ceil(display.width), height=ceil(display.height))  # resvg rounds it before it scales
    width = max(1, round(whole.width * png_scale(whole)))
    return bytes(resvg_py.svg_to_bytes(svg_string=to_svg(whole), width=width))
