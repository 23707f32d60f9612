"""Fixed-width tables: cutting, wrapping, and what is left out when they do not fit."""

# the tables draw with these characters

import pytest

from tl_core._grid import Column, Grid, Row, cell_width, cut, cut_start, lay_out, pad, printable, wrap


def row(name="conv", kind="module", type_="Conv2d", tree="", remark="", cells=("1", "22", "333")):
    return Row(kind=kind, tree=tree, name=name, type=type_, remark=remark, cells=cells)


def grid(*rows, notes=(), footer=()):
    columns = (Column(title="Shape", left=True), Column(title="Params"), Column(title="F"))
    return Grid(
        title="Net", subtitle="x to y", name_title="Module", columns=columns, rows=rows, notes=notes, footer=footer
    )


def text(table, width):
    return ["".join(piece for piece, _ in line) for line in lay_out(table, width)]


@pytest.mark.parametrize(
    ("value", "width"),
    [("", 0), ("abc", 3), ("×·…", 3), ("层", 2), ("e\u0301", 1), ("\u200b", 0), ("ブロック1", 9), ("😀", 2)],
)
def test_widths_on_a_terminal(value, width):
    assert cell_width(value) == width


@pytest.mark.parametrize(
    ("value", "width", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abcd", 1, "…"),
        ("abcd", 0, ""),
        ("层层层", 5, "层层…"),
        ("层层层", 4, "层…"),
    ],
)
def test_cut(value, width, expected):
    assert cut(value, width) == expected
    assert cell_width(cut(value, width)) <= width


def test_cut_start_keeps_the_end():
    assert cut_start("transformer.h.0.attn", 10) == "….h.0.attn"
    assert cut_start("short", 10) == "short"


def test_pad():
    assert pad("层", 4, left=True) == "层  "
    assert pad("层", 4, left=False) == "  层"


def test_control_characters_do_not_break_lines():
    assert (
        printable("a\nb\x1b[31mc\t")
        == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[31mc\N{REPLACEMENT CHARACTER}"
    )
    assert printable("层 ok") == "层 ok"


@pytest.mark.parametrize(
    ("value", "width", "lines"),
    [("a bb ccc", 4, ["a bb", "ccc"]), ("abcdefgh ij", 4, ["abc…", "ij"]), ("", 4, [""])],
)
def test_wrap(value, width, lines):
    assert wrap(value, width) == lines


def test_a_table_is_as_wide_as_its_cells():
    assert text(grid(row(), row(name="a", cells=("10×10", "1,000", ""))), 80) == [
        "Net",
        "x to y",
        "─" * 33,
        "Module         Shape  Params    F",
        "─" * 33,
        "conv (Conv2d)  1          22  333",
        "a (Conv2d)     10×10   1,000",
        "─" * 33,
    ]


def test_names_are_cut_first_then_columns_go():
    table = grid(row(name="a_very_long_name_of_a_module", cells=("1×2×3", "1,000", "9 G")))
    assert text(table, 80)[5] == "a_very_long_name_of_a_module (Conv2d)  1×2×3   1,000  9 G"
    assert text(table, 40)[5] == "a_very_long_name_of…  1×2×3   1,000  9 G"
    assert text(table, 35)[3] == "Module                Shape  Params"
    assert text(table, 28)[3] == "Module                 Shape"
    assert text(table, 28)[5] == "a_very_long_name_of_…  1×2×3"
    assert text(table, 20)[3] == "Module"


def test_no_line_is_wider_than_asked():
    table = grid(
        row(name="a_very_long_name_of_a_module", cells=("1×2×3", "1,000", "9 G")),
        row(name="层" * 30, type_="ブロック", cells=("1×2×3×4×5", "1,000,000", "")),
        notes=("word " * 30,),
        footer=(("Params", "x" * 200),),
    )
    for width in range(16, 120):
        assert all(cell_width(line) <= width for line in text(table, width)), width


def test_a_name_runs_on_over_empty_cells():
    table = grid(
        row(name="fc", cells=("1×2×3×4", "1,000", "9 G")),
        row(kind="ops", name="+ scaled_dot_product_attention", type_="", cells=("", "", "50 M")),
        row(kind="ops", name="+ scaled_dot_product_attention and others", type_="", cells=("", "", "50 M")),
    )
    lines = text(table, 80)
    assert lines[5] == "fc (Conv2d)               1×2×3×4   1,000   9 G"
    assert lines[6] == "+ scaled_dot_product_attention             50 M"
    assert lines[7] == "+ scaled_dot_product_attention and others  50 M"
    assert text(table, 40)[7] == "+ scaled_dot_product_attention an…  50 M"


def test_notes_and_footer_are_wrapped():
    table = grid(
        row(), notes=("one two three four five six seven",), footer=(("Params", "1 2 3 4 5 6 7 8 9 10 11 12 13 14"),)
    )
    lines = text(table, 30)
    assert lines[-4:] == [
        "one two three four five six",
        "seven",
        "Params  1 2 3 4 5 6 7 8 9 10",
        "        11 12 13 14",
    ]


def test_a_note_row_has_no_cells():
    lines = text(grid(row(), row(kind="note", name="... 7 more rows", cells=())), 80)
    assert lines[6] == "... 7 more rows"


def test_an_empty_table():
    assert text(grid(), 40)[3] == "Module  Shape  Params  F"


def test_lines_have_no_spaces_at_their_end():
    table = grid(row(cells=("", "", "")), row(kind="note", name="x", cells=()))
    assert all(line == line.rstrip() for line in text(table, 60))
