"""Where a call stands in the user's code."""

from __future__ import annotations

from pathlib import Path

from scripted_run import Run

from tl_core import SourceLine
from tl_core._source import Source, line_of, span_of

HERE = Path(__file__)


def helper(run, x):
    return run("relu", x)  # the helper's line


def line_with(text):
    return next(number for number, line in enumerate(HERE.read_text().splitlines(), 1) if line.endswith(text))


def test_the_innermost_user_frame_and_the_stack():
    def model(run, x):
        return helper(
            run,
            x,
        )  # the model's line

    run = Run()
    source = run.play(model, run.input()).ops[1].source
    assert (source.file, source.line, source.function) == ("test_source.py", line_with("# the helper's line"), "helper")
    assert source.path == str(HERE)
    assert [(frame.function, frame.line) for frame in source.stack] == [
        ("helper", line_with("# the helper's line")),
        ("model", line_with("# the model's line") - 3),
    ]
    assert source.places == tuple((frame.file, frame.function, frame.line) for frame in source.stack)
    assert source.places is run.play(model, run.input()).ops[1].source.places  # so that it can be asked of every op
    assert source.code() == '    return run("relu", x)  # the helper\'s line\n'
    assert source.code(context=1).splitlines()[0] == "def helper(run, x):"
    assert str(source) == f"test_source.py:{source.line} in helper"
    assert repr(source) == f"<Source {source}>"


def test_the_span_of_a_call_is_its_expression():
    def model(run, x):
        return run("add", run("sin", x), run("cos", x))  # three calls

    run = Run()
    trace = run.play(model, run.input())
    text = HERE.read_text().splitlines()[line_with("# three calls") - 1]
    spans = [op.source.span for op in trace.ops if op.kind == "op"]
    assert [text[span.column : span.end_column] for span in spans] == [
        'run("sin", x)', 'run("cos", x)', 'run("add", run("sin", x), run("cos", x))',
    ]  # fmt: skip
    assert {span.line for span in spans} == {line_with("# three calls")}


def test_a_loaded_site_knows_base_names_only():
    source = Source((("net.py", 12, "forward"), ("run.py", 3, "main")))
    assert (source.file, source.line, source.function, source.path, source.span) == (
        "net.py",
        12,
        "forward",
        None,
        None,
    )
    assert source.code() == ""
    assert source.places == (("net.py", "forward", 12), ("run.py", "main", 3))
    assert source.stack == (
        SourceLine(file="net.py", line=12, function="forward"),
        SourceLine(file="run.py", line=3, function="main"),
    )


def test_code_without_a_file():
    space = {}
    exec("def model(run, x):\n    return run('relu', x)\n", space)
    run = Run()
    source = run.play(space["model"], run.input()).ops[1].source
    assert (source.file, source.line, source.path, source.code()) == ("<string>", 2, None, "")


def test_code_without_positions():
    code = helper.__code__.replace(co_linetable=b"")
    assert span_of(code, 4) is None
    assert line_of(code, 4) == 0
    assert span_of(helper.__code__, 10**6) is None
