"""SVG, DOT, PDF and PNG: well formed, complete, and opened by the programs that people use."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from math import ceil

import pytest
from browser import needs
from nets import recurrent, transformer

from tl_core import ConfigurationError, MissingDependencyError
from tl_viz._measure import text_width

SVG = "{http://www.w3.org/2000/svg}"


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


def test_png_has_the_size_of_the_picture(drawing, tmp_path):
    pytest.importorskip("resvg_py")
    data = drawing.save(tmp_path / "net.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") == 2 * ceil(drawing.width)  # whole pixels, each twice as large


def test_a_large_png_is_scaled_down(drawing, tmp_path, monkeypatch):
    pytest.importorskip("resvg_py")
    monkeypatch.setattr("tl_viz._write.png.LARGEST", 700)
    assert drawing.height > 700
    data = drawing.save(tmp_path / "net.png").read_bytes()
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert height == pytest.approx(700, abs=2)
    assert width / height == pytest.approx(drawing.width / drawing.height, rel=0.01)


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
