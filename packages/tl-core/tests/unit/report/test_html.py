"""The table of a notebook: every text escaped, nothing loaded from elsewhere, well formed."""

# the tables draw with these characters

import re
from html.parser import HTMLParser

import pytest

from tl_core._html import to_html


class Reader(HTMLParser):
    """Collects rows of cells and checks that every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.tags, self.styles = [], [], set(), []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.styles += [value for name, value in attrs if name == "style"]
        assert {name for name, _ in attrs} <= {"style", "colspan"}
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "tr" in self.open:
            self.rows[-1][-1] += data


def html(trace, **options):
    return trace.summary(**options)._repr_html_()


def test_the_cells_are_those_of_the_text(residual_trace):
    rows = Reader(html(residual_trace)).rows
    assert rows[0] == ["Module", "Output shape", "Params", "%", "FLOPs"]
    assert rows[1] == ["Net", "2×3", "389", "100%", "1.40 k"]
    assert rows[3] == ["├─ blocks (Sequential)", "2×10", "200", "51.4%", "880"]
    assert rows[7] == ["│  │  └─ + add", "", "", "", "20"]
    assert rows[8] == ["│  └─ 1 (Block) like 0", "2×10", "100", "25.7%", "440"]
    assert rows[10] == ["└─ spare (Linear)", "not called", "49", "12.6%", ""]
    assert len(rows) == 11


def test_title_footer_and_notes_are_there(residual_trace):
    text = re.sub(r"<[^>]+>", "", html(residual_trace, fold_repeats=False, max_rows=4))
    assert text.startswith("Net · net_1x 2×10 float32 → 2×3 float32Module")
    assert "1 of 3 levels shown; summary(depth=3) shows all.Params389 (1.52 KiB)" in text
    assert text.endswith("verified (provenance_complete)")


@pytest.mark.parametrize("nasty", ["<script>alert(1)</script>", "\"'><img src=x onerror=y>", "a & b &amp; <c>"])
def test_every_text_is_escaped(new_run, nasty):
    run = new_run(nasty)
    run.module(nasty, nasty)
    x = run.source("input", nasty, (1,))
    with run.inside(""), run.inside(nasty):
        x = run.op(nasty, [x], (1,))
    with run.inside(""):
        run.op(nasty, [x], (1,))
    run.builder.gap(nasty, nasty, -1)
    trace = run.finish(name=nasty, framework_version=nasty)
    for options in ({}, {"level": "op"}, {"columns": ["module", "output_shape"]}):
        reader = Reader(html(trace, **options))
        assert reader.tags <= {"div", "b", "span", "table", "thead", "tbody", "tr", "th", "td"}
        assert nasty in "".join(cell for row in reader.rows for cell in row)


def test_nothing_is_loaded(residual_trace):
    text = html(residual_trace)
    assert "http" not in text
    assert "url(" not in text
    assert "<style" not in text


def test_shares_have_bars(residual_trace):
    text = html(residual_trace)
    assert "rgba(8,145,178,.2) 51.4%,transparent 51.4%" in text
    assert text.count("linear-gradient") == 8  # the rows with parameters


def test_a_row_about_rows_spans_the_table(run):
    reader = Reader(to_html(run.finish().summary().grid))
    assert reader.rows[1] == ["nothing was recorded"]
