"""The source beside the graph."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import sourced
from recorder import Recorder

from tl_core import ArgumentTypeError

SVG = "{http://www.w3.org/2000/svg}"
PATH = sourced.__file__


def said(drawing):
    return [text.text for text in ET.fromstring(drawing.svg).iter(f"{SVG}text")]


def test_the_function_of_the_calls_is_shown_with_its_line_numbers():
    lines = [text for text in said(sourced.small().draw(code_panel=True)) if text[:4].strip().isdigit()]
    assert [line[6:].strip() for line in lines] == [
        "def forward(self, x):",
        'y = self.run.op("relu", x, frames=here())',
        'return self.run.op("exp", y, frames=here())',
    ]
    source = Path(PATH).read_text(encoding="utf-8").splitlines()
    for line in lines:
        assert source[int(line[:4]) - 1].strip() == line[6:].strip()


@pytest.mark.parametrize(("wish", "first"), [("class", "class Small:"), ("init+forward", "def __init__(self, run):")])
def test_the_class_or_its_main_methods_can_be_asked_for(wish, first):
    lines = [text[6:].strip() for text in said(sourced.small().draw(code_panel=wish)) if text[:4].strip().isdigit()]
    assert lines[0] == first
    assert "def forward(self, x):" in lines


def test_links_lead_both_ways():
    root = ET.fromstring(sourced.small().draw(code_panel=True).svg)
    anchors = {group.get("id"): group for group in root.iter(f"{SVG}g") if group.get("id")}
    links = {
        group.get("data-key"): group.find(f"{SVG}a").get("href").removeprefix("#")
        for group in root.iter(f"{SVG}g")
        if group.find(f"{SVG}a") is not None and group.find(f"{SVG}a").get("href").startswith("#")
    }
    relu = anchors[links["relu_1_1"]]
    assert 'self.run.op("relu"' in "".join(relu.itertext())
    assert anchors[links[relu.get("data-key")]].get("data-key") == "relu_1_1"


def test_the_absolute_path_stands_in_one_link_and_nowhere_else():
    svg = sourced.small().draw(code_panel=True).svg
    assert re.findall(r'href="(vscode://file/[^"]+)"', svg) == [f"vscode://file{PATH}:{_line('def forward')}"]
    assert svg.count(PATH) == 1
    assert "sourced.py" in "".join(said(sourced.small().draw(code_panel=True)))
    assert PATH not in sourced.small().draw().svg


def _line(text):
    lines = Path(PATH).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_hovering_shows_the_base_name():
    svg = sourced.small().draw().svg
    assert f"sourced.py:{_line('relu')}" in svg


def test_a_function_may_write_the_panel():
    drawing = sourced.small().draw(code_panel=lambda trace: f"{len(trace)} ops\nsecond line")
    assert [text[6:] for text in said(drawing) if text[:4].strip().isdigit()] == ["4 ops", "second line"]
    with pytest.raises(ArgumentTypeError, match="returned int, which is no text"):
        sourced.small().draw(code_panel=len)


def test_the_panel_stands_beside_the_graph():
    plain, panelled = sourced.small().draw(), sourced.small().draw(code_panel=True)
    assert panelled.geometry == plain.geometry
    assert panelled.width > plain.width


def test_source_that_is_no_file_is_said_to_be_none():
    run = Recorder()
    code = compile("y = op('relu', x, frames=here())", "<typed>", "exec")
    names = {"op": run.op, "x": run.input(), "here": sourced.here}
    exec(code, names)
    drawing = run.done(names["y"]).draw(code_panel=True)
    assert "   1  (there is no such file)" in said(drawing)
