"""Writes a display list as a PDF of one page, with the fonts that every viewer has, and no library."""

from __future__ import annotations

from math import ceil

from tl_viz._display import Bar, Display, Shape, Stroke, Words
from tl_viz._measure import mono_width, text_width
from tl_viz._write.corners import arrowhead, stroke_steps

LARGEST = 14_400.0
"""The longest side of a page in units; longer pages get a larger unit."""

CURVE = 0.5523
"""How far the control points of a quarter circle lie from its ends, for radius 1."""

SYMBOLS = {"→": "\\256", "≈": "\\273"}
"""Characters of the Symbol font by their octal codes."""


def to_pdf(display: Display) -> bytes:
    """Return the bytes of a PDF with one page as large as the picture."""
    unit = max(1, ceil(max(display.width, display.height) / LARGEST))
    scale = 1 / unit
    out = [f"{_n(scale)} 0 0 {_n(-scale)} 0 {_n(display.height * scale)} cm", "0 J 1 j"]
    if display.background:
        out.append(f"{_colour(display.background)} rg 0 0 {_n(display.width)} {_n(display.height)} re f")
    for group in display.groups:
        for shape in group.shapes:
            out.append(_shape(shape))
    page = (
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_n(display.width * scale)} "
        f"{_n(display.height * scale)}] /UserUnit {unit} /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R /F2 6 0 R /F3 7 0 R /F4 8 0 R >> >> >>"
    )
    content = "\n".join(out).encode("latin-1")
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
    return _file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            page.encode(),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            font.format("Helvetica").encode(),
            font.format("Helvetica-Bold").encode(),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Symbol >>",
            font.format("Courier").encode(),
        ]
    )


def _file(objects: list[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.6\n%\xe2\xe3\xcf\xd3\n")
    places: list[int] = []
    for number, body in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for place in places:
        out += b"%010d 00000 n \n" % place
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return bytes(out)


def _shape(shape: Shape) -> str:
    if isinstance(shape, Bar):
        return _bar(shape)
    if isinstance(shape, Words):
        return _words(shape)
    return _stroke(shape)


def _bar(bar: Bar) -> str:
    x, y, right, low = bar.x, bar.y, bar.x + bar.width, bar.y + bar.height
    r = min(bar.radius, bar.width / 2, bar.height / 2)
    k = r * (1 - CURVE)
    outline = " ".join(
        [
            f"{_n(x + r)} {_n(y)} m {_n(right - r)} {_n(y)} l",
            f"{_n(right - k)} {_n(y)} {_n(right)} {_n(y + k)} {_n(right)} {_n(y + r)} c",
            f"{_n(right)} {_n(low - r)} l",
            f"{_n(right)} {_n(low - k)} {_n(right - k)} {_n(low)} {_n(right - r)} {_n(low)} c",
            f"{_n(x + r)} {_n(low)} l",
            f"{_n(x + k)} {_n(low)} {_n(x)} {_n(low - k)} {_n(x)} {_n(low - r)} c",
            f"{_n(x)} {_n(y + r)} l",
            f"{_n(x)} {_n(y + k)} {_n(x + k)} {_n(y)} {_n(x + r)} {_n(y)} c h",
        ]
    )
    dash = "[4 3] 0 d" if bar.dashed else "[] 0 d"
    return f"{dash} {_n(bar.stroke_width)} w {_colour(bar.fill)} rg {_colour(bar.stroke)} RG {outline} B"


def _stroke(stroke: Stroke) -> str:
    dash = "[3 3] 0 d" if stroke.dashed else "[] 0 d"
    out = [f"{dash} {_n(stroke.width)} w {_colour(stroke.colour)} RG {_colour(stroke.colour)} rg"]
    for number, (points, arrow) in enumerate(zip(stroke.lines, stroke.arrows, strict=True)):
        x = y = 0.0
        for letter, ends in stroke_steps(stroke, number):
            if letter == "Q":  # a curve with one control point, written with two
                (cx, cy), (ex, ey) = ends
                control = (x + (cx - x) * 2 / 3, y + (cy - y) * 2 / 3)
                other = (ex + (cx - ex) * 2 / 3, ey + (cy - ey) * 2 / 3)
                pairs = (*control, *other, ex, ey)
                out.append(" ".join([_n(value) for value in pairs]) + " c")
                x, y = ex, ey
            else:
                ((x, y),) = ends
                out.append(f"{_n(x)} {_n(y)} {'m' if letter == 'M' else 'l'}")
        out.append("S")
        if arrow:
            (ax, ay), (bx, by), (cx, cy) = arrowhead(points)
            out.append(f"{_n(ax)} {_n(ay)} m {_n(bx)} {_n(by)} l {_n(cx)} {_n(cy)} l h f")
    return "\n".join(out)


def _words(words: Words) -> str:
    x = words.x
    out: list[str] = []
    for piece in _pieces(words.text):
        symbol = piece in SYMBOLS
        font = "F3" if symbol else ("F4" if words.mono else ("F2" if words.bold else "F1"))
        text = SYMBOLS[piece] if symbol else _escape(piece)
        out.append(
            f"BT {_colour(words.colour)} rg /{font} {_n(words.size)} Tf "
            f"1 0 0 -1 {_n(x)} {_n(words.y)} Tm ({text}) Tj ET"
        )
        x += mono_width(piece, words.size) if words.mono else text_width(piece, words.size, words.bold)
    return "\n".join(out)


def _pieces(text: str) -> list[str]:
    """Cut a text so that every character of another font stands alone."""
    pieces: list[str] = []
    plain = ""
    for character in text:
        if character in SYMBOLS:
            if plain:
                pieces.append(plain)
            pieces.append(character)
            plain = ""
        else:
            plain += character
    return [*pieces, plain] if plain else pieces


def _escape(text: str) -> str:
    out: list[str] = []
    for byte in text.encode("cp1252", errors="replace"):
        character = chr(byte)
        if character in "()\\":
            out.append("\\" + character)
        elif 32 <= byte < 127:
            out.append(character)
        else:
            out.append(f"\\{byte:03o}")
    return "".join(out)


def _colour(colour: str) -> str:
    return " ".join([_n(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5)])


def _n(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
