"""The twelve gallery networks in the programs that people open pictures with."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from browser import answer, needs
from columns import DEFAULTS, load, names

from tl_viz import DARK
from tl_viz._draw import picture
from tl_viz._write.png import png_scale

SVG = "{http://www.w3.org/2000/svg}"
FREE_WIDTHS = """[...document.querySelectorAll('svg')].map(svg => [...svg.querySelectorAll('text')].map(text => {
    text.removeAttribute('textLength');
    return text.getComputedTextLength();
}))"""
OVERFLOWS = """[...document.querySelectorAll('svg')].map(svg => [...svg.querySelectorAll('g.node, g.box')].flatMap(group => {
    const bars = group.querySelectorAll('rect');
    if (!bars.length) return [];
    const frame = bars[bars.length - 1].getBBox();
    return [...group.querySelectorAll('text')].filter(text => {
        const box = text.getBBox();
        return box.x < frame.x - 0.5 || box.x + box.width > frame.x + frame.width + 0.5
            || box.y + box.height * 0.2 < frame.y - 0.5 || box.y + box.height * 0.8 > frame.y + frame.height + 0.5;
    }).map(text => group.dataset.key + ': ' + text.textContent);
}))"""


@pytest.fixture(scope="module")
def drawings():
    return {name: picture(load(name), DEFAULTS) for name in names()}


@needs["chromium"]
def test_svg_and_png_files_open_in_a_browser_at_their_size(drawings, tmp_path):
    pytest.importorskip("resvg_py")
    body, wanted = [], []
    for name, drawing in drawings.items():
        for suffix, scale in ((".svg", 1.0), (".png", png_scale(drawing._display))):
            body.append(f'<img src="{drawing.save(tmp_path / (name + suffix)).as_uri()}">')
            wanted.append([drawing.width * scale, drawing.height * scale])
    sizes = answer(tmp_path, "".join(body), "[...document.images].map(i => [i.naturalWidth, i.naturalHeight])")
    assert len(sizes) == 24
    for size, right in zip(sizes, wanted, strict=True):
        assert size == pytest.approx(right, abs=2.0)  # a PNG shows whole pixels, each twice as large


@needs["chromium"]
def test_inline_svg_has_every_item_and_no_label_overflows(drawings, tmp_path):
    body = "".join(drawing.svg for drawing in drawings.values())
    counts = answer(
        tmp_path, body, "[...document.querySelectorAll('svg')].map(s => s.querySelectorAll('g.node').length)"
    )
    assert counts == [drawing.collapse_plan.items for drawing in drawings.values()]
    assert dict(zip(drawings, answer(tmp_path, body, OVERFLOWS), strict=True)) == {name: [] for name in drawings}


@needs["chromium"]
def test_an_overflow_would_be_found(drawings, tmp_path):
    svg = drawings["vit"].svg
    wide = svg.replace('lengthAdjust="spacingAndGlyphs">qkv<', 'lengthAdjust="spacingAndGlyphs">' + "qkv" * 40 + "<")
    assert wide != svg
    found = answer(tmp_path, wide.replace("textLength", "data-length"), OVERFLOWS)
    assert [text.partition(": ")[2] for text in found[0]] == ["qkv" * 40]


@needs["chromium"]
def test_texts_are_as_wide_as_the_browser_makes_them(drawings, tmp_path):
    """With Helvetica, Arial or Liberation Sans; other fonts are fitted by the width that each text claims."""
    fonts = subprocess.run(["fc-list"], capture_output=True, text=True, check=False).stdout
    if not any(name in fonts for name in ("Helvetica", "Arial", "LiberationSans")):
        pytest.skip("no font with the widths of Helvetica is installed")
    real = answer(tmp_path, "".join(drawing.svg for drawing in drawings.values()), FREE_WIDTHS)
    compared = 0
    for drawing, widths in zip(drawings.values(), real, strict=True):
        texts = list(ET.fromstring(drawing.svg).iter(f"{SVG}text"))
        assert len(texts) == len(widths)
        for text, width in zip(texts, widths, strict=True):
            if text.text.isascii():
                claimed = float(text.get("textLength"))
                assert 0.97 * claimed - 1.0 <= width <= claimed + 1.0, text.text  # kerning only narrows
                compared += 1
    assert compared > 600


@needs["pdftoppm"]
@pytest.mark.parametrize("name", names())
def test_pdf_opens_and_says_what_the_picture_says(drawings, name, tmp_path):
    drawing = drawings[name]
    path = drawing.save(tmp_path / "net.pdf")
    text = subprocess.run(["pdftotext", "-raw", path, "-"], capture_output=True, text=True, check=True).stdout
    said = "".join(text.split())
    missing = [row.text for node in drawing.scene.nodes() for row in node.rows if "".join(row.text.split()) not in said]
    assert missing == []
    subprocess.run(["pdftoppm", "-r", "36", "-gray", "-singlefile", path, tmp_path / "net"], check=True)
    header, pixels = _pixels((tmp_path / "net.pgm").read_bytes())
    assert header == pytest.approx([drawing.width / 2, drawing.height / 2], abs=1)
    drawn = sum(value < 200 for value in pixels) / len(pixels)
    assert 0.005 < drawn < 0.5


def _pixels(data):
    _, width, height, _, rest = data.split(maxsplit=4)
    return [int(width), int(height)], rest


@needs["pdftoppm"]
def test_a_dark_pdf_is_dark(tmp_path):
    drawing = picture(load("unet"), replace(DEFAULTS, theme=DARK))
    path = drawing.save(tmp_path / "net.pdf")
    subprocess.run(["pdftoppm", "-r", "36", "-gray", "-singlefile", path, tmp_path / "net"], check=True)
    _, pixels = _pixels((tmp_path / "net.pgm").read_bytes())
    assert sum(value < 70 for value in pixels) > 0.6 * len(pixels)


@needs["dot"]
@pytest.mark.parametrize("name", names())
def test_graphviz_reads_the_dot_text(drawings, name):
    drawing = drawings[name]
    done = subprocess.run(["dot", "-Tplain"], input=drawing.dot, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert sum(line.startswith("node ") for line in lines) == drawing.collapse_plan.items
    assert sum(line.startswith("edge ") for line in lines) == sum(len(edge.targets) for edge in drawing.scene.edges)
