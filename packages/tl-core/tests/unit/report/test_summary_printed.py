"""The summary where it is printed: refusals, terminals, widths, and the numbers in its cells."""

import io
import re
import sys

import pytest
from rich.console import Console

from tl_core import (
    ArgumentTypeError,
    ConfigurationError,
    Summary,
)
from tl_core._facts import COLUMNS, count_text, percent_text, work_text
from tl_core._totals import plural
from tl_core._tree import shape_text


def lines(trace, width=100, **options):
    return trace.summary(**options).text(width).splitlines()


@pytest.mark.parametrize(
    ("options", "error", "problem", "remedy"),
    [
        (
            {"level": "ops"},
            ConfigurationError,
            "summary(level='ops'): there is no such level. Did you mean 'op'?",
            "level is one of 'auto', 'module', 'op'",
        ),
        (
            {"view": "x"},
            ConfigurationError,
            "summary(view='x'): there is no such view.",
            "view is one of 'overview', 'compute'",
        ),
        ({"depth": -1}, ConfigurationError, "summary(depth=-1): the least is 0.", "summary(depth=3)"),
        ({"max_rows": 0}, ConfigurationError, "summary(max_rows=0): the least is 1.", "summary(max_rows=3)"),
        ({"depth": "2"}, ArgumentTypeError, "summary(depth='2'): a whole number or None is meant.", "summary(depth=3)"),
        (
            {"max_rows": True},
            ArgumentTypeError,
            "summary(max_rows=True): a whole number or None is meant.",
            "summary(max_rows=3)",
        ),
        (
            {"columns": ["flop"]},
            ConfigurationError,
            "A summary has no column 'flop'. Did you mean 'flops'?",
            f"the columns are {', '.join(COLUMNS)}",
        ),
        (
            {"columns": "flops"},
            ArgumentTypeError,
            "columns='flops' is one text; a list of column names is meant.",
            f"columns=['flops']; the columns are {', '.join(COLUMNS)}",
        ),
    ],
)
def test_refusals(residual_trace, options, error, problem, remedy):
    with pytest.raises(error) as refused:
        residual_trace.summary(**options)
    assert refused.value.problem == problem
    assert refused.value.remedy == remedy
    assert refused.value.code in ("summary_option_invalid", "summary_column_unknown")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_print_writes_plain_text(residual_trace, monkeypatch):
    summary = residual_trace.summary()
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert str(summary) == summary.text(100)
    assert "\x1b" not in str(summary)


def test_the_prompt_of_a_terminal_shows_colours(residual_trace, monkeypatch):
    summary = residual_trace.summary()
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert re.sub(r"\x1b\[[0-9;]*m", "", repr(summary)) == summary.text(100)
    assert "\x1b[36m (Linear)\x1b[0m" in repr(summary)
    monkeypatch.setenv("NO_COLOR", "1")
    assert repr(summary) == str(summary)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.delenv("NO_COLOR")
    assert repr(summary) == str(summary)


def test_rich_prints_it_at_its_own_width(residual_trace):
    console = Console(file=io.StringIO(), width=50, color_system=None)
    console.print(residual_trace.summary())
    assert console.file.getvalue().splitlines() == lines(residual_trace, 50)


def test_show_prints(residual_trace, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    residual_trace.summary().show()
    assert capsys.readouterr().out.splitlines() == lines(residual_trace, 70)


def test_the_width_of_the_terminal_is_used_up_to_a_hundred(residual_trace, monkeypatch):
    for columns, width in (("60", 60), ("250", 100), ("10", 40)):
        monkeypatch.setenv("COLUMNS", columns)
        assert str(residual_trace.summary()) == residual_trace.summary().text(width)


def test_outputs_that_cannot_draw_get_ascii(run, monkeypatch):
    run.module("fc", "Linear")
    with run.inside(""), run.inside("fc"):
        run.op("mystery", [run.op("linear", [run.source("input", "x", (2, 10))], (2, 10))], (2, 10))
    summary = run.finish().summary()

    class Old(io.StringIO):
        encoding = "cp437x"

    monkeypatch.setattr(sys, "stdout", Old())
    text = str(summary)
    assert text.isascii()
    assert text.splitlines()[1] == "x 2x10 float32 > no tensor outputs"
    assert text.splitlines()[6].split() == ["`-", "fc", "(Linear)", ">400"]
    Old.encoding = "latin-1"
    assert str(summary).isascii()
    monkeypatch.setattr(sys, "stdout", None)
    assert str(summary) == summary.text()


def test_a_summary_does_not_hold_the_trace(residual_trace):
    summary = residual_trace.summary()
    assert isinstance(summary, Summary)
    assert not {type(value).__name__ for value in (summary.grid.title, *summary.grid.rows, *summary.grid.columns)} & {
        "Trace",
        "Records",
        "State",
    }


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (999_999_999_999, "999,999,999,999"), (10**12, "1.00 T"), (-5, "-5")]
)
def test_counts(number, text):
    assert count_text(number) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 5, ""),
        (1, 0, ""),
        (1, 10_000, "<0.1%"),
        (5, 10_000, "0.1%"),
        (1, 3, "33.3%"),
        (9994, 10_000, "99.9%"),
        (9996, 10_000, "100%"),
        (7, 7, "100%"),
    ],
)
def test_percentages(part, whole, text):
    assert percent_text(part, whole) == text


@pytest.mark.parametrize(
    ("number", "uncounted", "counted", "text"),
    [
        (0, 0, True, ""),
        (0, 2, True, "?"),
        (1500, 0, True, "1.50 k"),
        (1500, 1, True, "≥1.50 k"),
        (7, 0, True, "7"),
        (0, 5, False, ""),
    ],
)
def test_work(number, uncounted, counted, text):
    assert work_text(number, uncounted, counted=counted) == text


def test_small_texts():
    assert shape_text(()) == "scalar"
    assert shape_text((0,)) == "0"
    assert shape_text((1, 2, 3)) == "1×2×3"
    assert [plural(count, "op") for count in (0, 1, 2, 1200)] == ["0 ops", "1 op", "2 ops", "1,200 ops"]
    assert [plural(2, noun) for noun in ("branch", "pass")] == ["2 branches", "2 passes"]
