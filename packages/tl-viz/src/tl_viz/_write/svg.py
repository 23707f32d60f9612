"""Writes a display list as SVG: real text of a known width, one group per item, no script and no outside reference."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from tl_viz._display import Bar, Display, Group, Shape, Stroke, Words
from tl_viz._write.corners import arrowhead, stroke_steps

MONO = "Courier, 'Courier New', 'Liberation Mono', 'DejaVu Sans Mono', monospace"

TARGET = "<style>g:target rect{stroke:#d6336c;stroke-width:3}</style>"
"""Outlines what a link inside of the picture led to."""


FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


def to_svg(display: Display) -> str:
    """Return the SVG text of a display list.

    Every text has its `textLength` set, so that it fits its box in whatever font the viewer has.
    """
    width, height = _number(display.width), _number(display.height)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONT}" role="img">'
    ]
    if display.title:
        out.append(f"<title>{escape(display.title)}</title>")
    if display.background:
        out.append(f'<rect width="{width}" height="{height}" fill="{display.background}"/>')
    if any(group.anchor for group in display.groups):
        out.append(TARGET)
    out += [_group(group) for group in display.groups]
    out.append("</svg>\n")
    return "\n".join(out)


def _group(group: Group) -> str:
    shapes = "".join([_shape(shape) for shape in group.shapes])
    tooltip = f"<title>{escape(group.tooltip)}</title>" if group.tooltip else ""
    inside = f"{tooltip}{shapes}"
    if group.link:
        inside = f"<a href={quoteattr(group.link)}>{inside}</a>"
    anchor = f" id={quoteattr(group.anchor)}" if group.anchor else ""
    return f'<g class="{group.kind}" data-key={quoteattr(group.key)}{anchor}>{inside}</g>'


def _shape(shape: Shape) -> str:
    if isinstance(shape, Bar):
        return _bar(shape)
    if isinstance(shape, Words):
        return _words(shape)
    return _stroke(shape)


def _bar(bar: Bar) -> str:
    dash = ' stroke-dasharray="4 3"' if bar.dashed else ""
    return (
        f'<rect x="{_number(bar.x)}" y="{_number(bar.y)}" width="{_number(bar.width)}" '
        f'height="{_number(bar.height)}" rx="{_number(bar.radius)}" fill="{bar.fill}" '
        f'stroke="{bar.stroke}" stroke-width="{_number(bar.stroke_width)}"{dash}/>'
    )


def _words(words: Words) -> str:
    bold = ' font-weight="bold"' if words.bold else ""
    if words.mono:
        bold += f' font-family="{MONO}" xml:space="preserve"'
    return (
        f'<text x="{_number(words.x)}" y="{_number(words.y)}" font-size="{_number(words.size)}"{bold} '
        f'fill="{words.colour}" textLength="{_number(words.width)}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(words.text)}</text>'
    )


def _stroke(stroke: Stroke) -> str:
    steps: list[str] = []
    heads: list[str] = []
    for number, (points, arrow) in enumerate(zip(stroke.lines, stroke.arrows, strict=True)):
        for letter, ends in stroke_steps(stroke, number):
            steps.append(letter + " ".join([f"{_number(x)} {_number(y)}" for x, y in ends]))
        if arrow:
            tip, left, right = arrowhead(points)
            heads.append("M" + "L".join([f"{_number(x)} {_number(y)}" for x, y in (tip, left, right)]) + "Z")
    dash = ' stroke-dasharray="3 3"' if stroke.dashed else ""
    line = (
        f'<path d="{"".join(steps)}" fill="none" stroke="{stroke.colour}" '
        f'stroke-width="{_number(stroke.width)}"{dash}/>'
    )
    return line + (f'<path d="{"".join(heads)}" fill="{stroke.colour}"/>' if heads else "")


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
