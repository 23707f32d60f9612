"""SVG, DOT, PDF and PNG: well formed, complete, and opened by the programs that people use."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from nets import recurrent, transformer

from tl_core import ConfigurationError, MissingDependencyError
from tl_viz._measure import text_width

SVG = "{http://www.w3.org/2000/svg}"
needs = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    for name in ("dot", "pdftoppm", "chromium")
}
CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=2000",
    "--dump-dom",
]


@pytest.fixture(scope="module")
def drawing():
    return transformer(12).draw()


def test_svg_holds_every_item_as_a_group_with_real_text(drawing):
    root = ET.fromstring(drawing.svg)
    groups = {group.get("data-key"): group for group in root.iter(f"{SVG}g")}
    for node in drawing.scene.nodes():
        said = [text.text for text in groups[node.key].iter(f"{SVG}text")]
        assert said == [row.text for row in node.rows]
    for box in drawing.scene.boxes():
        assert [text.text for text in groups[box.key].iter(f"{SVG}text")] == [part.text for part in box.title]


def test_svg_refers_to_nothing_outside_and_runs_nothing(drawing):
    root = ET.fromstring(drawing.svg)
    assert {element.tag for element in root.iter()} <= {
        SVG + name for name in ("svg", "g", "rect", "path", "text", "title")
    }
    assert "http" not in drawing.svg.replace("http://www.w3.org/2000/svg", "")
    assert "vscode" not in drawing.svg


def test_every_text_claims_its_width(drawing):
    for text in ET.fromstring(drawing.svg).iter(f"{SVG}text"):
        bold = text.get("font-weight") == "bold"
        wanted = text_width(text.text, float(text.get("font-size")), bold)
        assert float(text.get("textLength")) == pytest.approx(wanted, abs=0.06)


def test_the_same_trace_gives_the_same_bytes():
    assert transformer(4).draw().svg == transformer(4).draw().svg


def test_labels_with_markup_are_escaped():
    from tl_viz._display import Display, Group, Words
    from tl_viz._write.svg import to_svg

    words = Words(0, 0, "a<b & 'c\"", 10, False, "#000000", 10)
    shown = Display(10, 10, "", (Group('k"<', "node", (words,), "t<t"),), "x & y")
    assert ET.fromstring(to_svg(shown)).find(f"{SVG}g").get("data-key") == 'k"<'


def test_dot_text_needs_no_graphviz(drawing):
    assert drawing.dot.startswith('digraph "Decoder" {')
    assert drawing.dot.count("subgraph") == len(list(drawing.scene.boxes()))
    assert drawing.dot.count(" -> ") == sum(len(edge.targets) for edge in drawing.scene.edges)


@needs["dot"]
def test_graphviz_reads_the_dot_text(drawing):
    done = subprocess.run(["dot", "-Tplain"], input=drawing.dot, capture_output=True, text=True, check=True)
    nodes = [line for line in done.stdout.splitlines() if line.startswith("node ")]
    assert len(nodes) == drawing.collapse_plan.items


@needs["dot"]
def test_dot_can_lay_out(drawing):
    by_dot = transformer(12).draw(layout="dot")
    assert by_dot.geometry.rects.keys() == drawing.geometry.rects.keys()
    assert by_dot.geometry != drawing.geometry
    assert {line.edge for line in by_dot.geometry.lines} == set(range(len(by_dot.scene.edges)))
    looped = recurrent(9).draw(layout="dot")
    assert {line.edge for line in looped.geometry.lines} == set(range(len(looped.scene.edges)))


@needs["dot"]
def test_dot_gets_no_more_time_than_it_was_given():
    with pytest.warns(UserWarning, match=r"did not finish within 1e-06 s"):
        drawing = transformer(3).draw(layout="dot", deadline_s=1e-6)
    assert "did not finish" in drawing.notes[-1]


def test_pdf_is_one_page_with_every_text(drawing, tmp_path):
    data = drawing.save(tmp_path / "net.pdf").read_bytes()
    assert data.startswith(b"%PDF-1.6")
    box = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\] /UserUnit 1", data)
    assert float(box[1]) == pytest.approx(drawing.width, abs=0.01)
    assert float(box[2]) == pytest.approx(drawing.height, abs=0.01)
    table = int(re.search(rb"startxref\n(\d+)", data)[1])
    assert data[table : table + 4] == b"xref"


def test_pages_larger_than_viewers_take_have_larger_units():
    from tl_viz._display import Display
    from tl_viz._write.pdf import to_pdf

    data = to_pdf(Display(100.0, 30_000.0, "#ffffff", (), "long"))
    assert b"/UserUnit 3" in data
    assert b"/MediaBox [0 0 33.333 10000]" in data


@needs["pdftoppm"]
def test_pdf_opens_and_says_what_the_picture_says(drawing, tmp_path):
    path = drawing.save(tmp_path / "net.pdf")
    text = subprocess.run(["pdftotext", path, "-"], capture_output=True, text=True, check=True).stdout
    assert "GPT" not in text
    for word in ("Decoder", "GELU", "×12 own weights", "no effect on the output"):
        assert word in text
    image = tmp_path / "net"
    subprocess.run(["pdftoppm", "-r", "72", "-singlefile", path, image], check=True)
    header = (tmp_path / "net.ppm").read_bytes()[:20].split()
    assert abs(int(header[1]) - drawing.width) <= 1
    assert abs(int(header[2]) - drawing.height) <= 1


def test_png_has_the_size_of_the_picture(drawing, tmp_path):
    pytest.importorskip("resvg_py")
    data = drawing.save(tmp_path / "net.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") == round(2 * drawing.width)


def test_without_its_extra_png_says_how_to_get_it(drawing, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tl-viz\[png\]'") as caught:
        drawing.save(tmp_path / "net.png")
    assert caught.value.code == "extra_missing"
    assert not (tmp_path / "net.png").exists()


def test_other_suffixes_are_refused(drawing, tmp_path):
    with pytest.raises(ConfigurationError, match=r"\.jpg is not a format") as caught:
        drawing.save(tmp_path / "net.jpg")
    assert caught.value.code == "picture_format_invalid"


@needs["chromium"]
def test_texts_are_as_wide_as_a_browser_draws_them(drawing, tmp_path):
    """With Helvetica, Arial or Liberation Sans; other fonts are fitted by the width that each text claims."""
    fonts = subprocess.run(["fc-list"], capture_output=True, text=True, check=False).stdout
    if not any(name in fonts for name in ("Helvetica", "Arial", "LiberationSans")):
        pytest.skip("no font with the widths of Helvetica is installed")
    free = re.sub(r' textLength="[\d.]+" lengthAdjust="\w+"', "", drawing.svg)
    widths, claimed = (
        _browser_widths(free, tmp_path),
        [(text.text, float(text.get("textLength"))) for text in ET.fromstring(drawing.svg).iter(f"{SVG}text")],
    )
    assert len(widths) == len(claimed) > 40
    for real, (text, width) in zip(widths, claimed, strict=True):
        if text.isascii():
            assert real == pytest.approx(width, abs=1.0), text


@needs["chromium"]
def test_no_label_overflows_in_a_browser(drawing, tmp_path):
    root = ET.fromstring(drawing.svg)
    widths = iter(_browser_widths(drawing.svg, tmp_path))
    for group in root.iter(f"{SVG}g"):
        bars = list(group.findall(f"{SVG}rect"))
        for text in group.findall(f"{SVG}text"):
            right = float(text.get("x")) + next(widths)
            if bars:
                bar = bars[-1]
                assert right <= float(bar.get("x")) + float(bar.get("width")) + 0.5, text.text


def _browser_widths(svg, folder):
    page = folder / "page.html"
    script = "document.title = [...document.querySelectorAll('svg text')].map(t => t.getComputedTextLength()).join(' ')"
    page.write_text(f"<html><body>{svg}<script>{script}</script></body></html>", encoding="utf-8")
    done = subprocess.run(
        ["chromium", *CHROMIUM, f"--user-data-dir={folder / 'profile'}", page.as_uri()],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return [float(width) for width in re.search(r"<title>([\d. ]+)</title>", done.stdout)[1].split()]
