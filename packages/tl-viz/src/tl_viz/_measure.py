"""How wide a text is, known without a browser or a font file."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from tl_viz._font_table import BOLD, FIRST, OTHERS, REGULAR, UNKNOWN

if TYPE_CHECKING:
    from tl_viz._scene import TextRow

EDGE_LABEL_SIZE = 9.5
"""Font size of the text beside a line, in pixels."""

SLOT_SIZE = 9.5
"""Font size of the name of an argument, in pixels."""

END_SIZE = 9.0
"""Font size of the text that says which copies or rounds a line belongs to, in pixels."""

MARK_SIZE = 10.0
"""Font size of the words at the ends of columns, in pixels."""

PART_GAP = 6.0
"""Distance between two parts of a title."""


@lru_cache(maxsize=8192)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of `text` in pixels at a font size of `size` pixels.

    Example:
        >>> text_width("Conv2d", 10.0)
        34.46
    """
    table = BOLD if bold else REGULAR
    total = 0
    for character in text:
        index = ord(character) - FIRST
        total += table[index] if 0 <= index < len(table) else OTHERS.get(character, UNKNOWN)
    return round(total * size / 1000, 2)


MONO_ADVANCE = 0.6
"""Width of every character of Courier, as a share of the font size."""


def mono_width(text: str, size: float) -> float:
    """Return the width of `text` in a font whose characters are all equally wide."""
    return round(len(text) * size * MONO_ADVANCE, 2)


def part_widths(parts: tuple[TextRow, ...]) -> tuple[float, ...]:
    """Return the widths of the parts of a title."""
    return tuple([text_width(part.text, part.size, part.bold) for part in parts])


def part_places(widths: tuple[float, ...], start: float) -> tuple[float, ...]:
    """Return where the parts of a title begin that stand beside each other from `start` on."""
    return tuple(accumulate([start, *[width + PART_GAP for width in widths[:-1]]])) if widths else ()


def joined_width(widths: tuple[float, ...]) -> float:
    """Return the width of the parts of a title that stand beside each other."""
    return sum(widths) + PART_GAP * max(0, len(widths) - 1)


def shorten(text: str, width: float, size: float, bold: bool = False) -> str:
    """Return `text`, its middle replaced by an ellipsis where it is wider than `width` pixels.

    Example:
        >>> shorten("transformer.h.0.attn.c_attn", 80.0, 11.0)
        'transfo….c_attn'
    """
    if text_width(text, size, bold) <= width:
        return text
    keep = len(text) - 1
    while keep > 1:
        head, tail = (keep + 1) // 2, keep // 2
        short = f"{text[:head]}…{text[-tail:]}"
        if text_width(short, size, bold) <= width:
            return short
        keep -= 1
    return "…"
