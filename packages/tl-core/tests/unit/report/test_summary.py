"""Summaries: the whole text of small ones, and what holds for all of them."""

# ruff: noqa: RUF001  # the tables draw with these characters

import re

import pytest

from tl_core import (
    BackendUnsupportedError,
    CaptureOptions,
    MissingDependencyError,
    TraceBuilder,
    TraceInfo,
)
from tl_core._facts import COLUMNS
from tl_core._grid import cell_width
from tl_core._summary import _fitting


def lines(trace, width=100, **options):
    return trace.summary(**options).text(width).splitlines()


def table(trace, width=100, **options):
    """The rows between the second and the third rule."""
    text = lines(trace, width, **options)
    rules = [at for at, line in enumerate(text) if line.startswith("──")]
    return text[rules[1] + 1 : rules[2]]


def footer(trace, label):
    text = "\n".join(lines(trace, 400))
    return re.search(rf"^{label} +(.*)$", text, re.MULTILINE)[1]


def test_the_whole_summary_of_a_residual_network(residual_trace):
    assert lines(residual_trace) == [
        "Net · net_1",
        "x 2×10 float32 → 2×3 float32",
        "───────────────────────────────────────────────────────────",
        "Module                  Output shape  Params      %   FLOPs",
        "───────────────────────────────────────────────────────────",
        "Net                     2×3              389   100%  1.40 k",
        "├─ stem (Linear)        2×10             110  28.3%     400",
        "├─ blocks (Sequential)  2×10             200  51.4%     880",
        "│  ├─ 0 (Block)         2×10             100  25.7%     440",
        "│  │  ├─ fc (Linear)    2×10             100  25.7%     400",
        "│  │  ├─ act (ReLU)     2×10                             20",
        "│  │  └─ + add                                           20",
        "│  └─ 1 (Block) like 0  2×10             100  25.7%     440",
        "├─ head (Linear)        2×3               30   7.7%     120",
        "└─ spare (Linear)       not called        49  12.6%",
        "───────────────────────────────────────────────────────────",
        "Params   389 (1.52 KiB) · 359 trainable, 30 frozen · buffers 10 bytes · 49 not used in this run",
        "Compute  1.40 kFLOPs · 660 MACs, forward only",
        "Memory   activations 584 bytes · saved 80 bytes, 1 of 10 values",
        "Graph    8 ops · 10 modules called · 1 input · 1 output",
        "Capture  paper 1.0 in 2 ms · eval, no grad · verified (provenance_complete)",
    ]


def test_the_layers_of_a_residual_network(residual_trace):
    assert table(residual_trace, level="op") == [
        "input_1     x                 2×10",
        "linear_1_1  stem              2×10             110  28.3%    400",
        "linear_2_2  blocks.0.fc       2×10             100  25.7%    400",
        "relu_1_3    blocks.0.act      2×10                            20",
        "add_1_4     blocks.0          2×10                            20",
        "... 3 ops   blocks.1 (Block)  2×10             100  25.7%    440",
        "linear_4_8  head              2×3               30   7.7%    120",
        "output_1                      2×3",
    ]
    unfolded = table(residual_trace, level="op", fold_repeats=False)
    assert [row.split()[0] for row in unfolded] == [op.layer_label for op in residual_trace.ops]


def test_the_compute_view(residual_trace):
    text = lines(residual_trace, view="compute")
    assert text[3].split() == ["Module", "Calls", "FLOPs", "%", "MACs", "Activations", "Time", "%"]
    assert text[5].split() == ["Net", "1", "1.40", "k", "100%", "660", "584", "B", "8", "µs", "100%"]
    assert text[7].split() == [
        "├─",
        "blocks",
        "(Sequential)",
        "1",
        "880",
        "62.9%",
        "400",
        "480",
        "B",
        "6",
        "µs",
        "75.0%",
    ]


def test_unfolded_blocks_are_listed_in_full(residual_trace):
    assert [row.split("  ")[0] for row in table(residual_trace, fold_repeats=False)] == [
        "Net",
        "├─ stem (Linear)",
        "├─ blocks (Sequential)",
        "│",
        "│",
        "│",
        "│",
        "│",
        "│",
        "│",
        "│",
        "├─ head (Linear)",
        "└─ spare (Linear)",
    ]


@pytest.mark.parametrize(("depth", "rows"), [(0, 1), (1, 5), (2, 6), (3, 10), (9, 10)])
def test_depth(residual_trace, depth, rows):
    assert len(table(residual_trace, depth=depth)) == rows


def test_equal_blocks_below_the_shown_depth_are_one_row_with_their_sum(residual_trace):
    assert table(residual_trace, depth=2)[3] == "│  └─ 0..1 (Block x2)   2×10             200  51.4%     880"


def blocks(run, count, name=str, differ=None):
    """A stack of `count` blocks of a linear layer each, called in turn."""
    run.module("h", "ModuleList")
    x = run.source("input", "x", (2, 10))
    for number in range(count):
        run.module(f"h.{name(number)}", "Block")
        run.module(f"h.{name(number)}.fc", "Linear")
    with run.inside("") as root:
        for number in range(count):
            with run.inside(f"h.{name(number)}") as block:
                with run.inside(f"h.{name(number)}.fc") as call:
                    x = run.op("linear", [x], (2, 10 if number != differ else 20))
                run.returns(call, x)
            run.returns(block, x)
    run.returns(root, x)
    run.source("output", "", (2, 10), parents=[x])
    return run.finish()


def names(trace, **options):
    return [re.sub(r"^[│├└─ ]+", "", row).split("  ")[0] for row in table(trace, **options)]


def test_the_first_block_is_shown_and_the_equal_ones_behind_it_are_folded(run):
    assert names(blocks(run, 12)) == ["Net", "h (ModuleList)", "0 (Block)", "fc (Linear)", "1..11 (Block x11) like 0"]


def test_a_different_block_parts_a_run(run):
    trace = blocks(run, 6, differ=2)
    assert names(trace) == [
        "Net",
        "h (ModuleList)",
        "0 (Block)",
        "fc (Linear)",
        "1 (Block) like 0",
        "2 (Block)",
        "fc (Linear)",
        "3 (Block)",
        "fc (Linear)",
        "4..5 (Block x2) like 3",
    ]


def test_numbered_names_fold_and_other_names_do_not(new_run):
    assert names(blocks(new_run(), 3, name=lambda number: f"block_{number}"))[-1] == ("block_1..2 (Block x2) like 0")
    assert names(blocks(new_run(), 3, name=lambda number: "abc"[number])) == [
        "Net",
        "h (ModuleList)",
        "a (Block)",
        "fc (Linear)",
        "b (Block) like a",
        "c (Block) like a",
    ]
    assert names(blocks(new_run(), 3, name=lambda number: str(2 * number)))[-2:] == [
        "2 (Block) like 0",
        "4 (Block) like 0",
    ]


def test_a_folded_row_adds_up(run):
    row = next(row for row in table(blocks(run, 12)) if "x11" in row)
    assert row.endswith("4.40 k")  # eleven times 400


def test_modules_stand_in_the_order_of_their_first_call(run):
    for name in ("last", "first", "never"):
        run.module(name, "Linear")
    x = run.source("input", "x", (2, 10))
    with run.inside(""):
        for name in ("first", "last", "first"):
            with run.inside(name):
                x = run.op("linear", [x], (2, 10))
    trace = run.finish()
    assert names(trace) == ["Net", "first (Linear) 2 calls", "last (Linear)", "never (Linear)"]


def test_own_code_is_one_row(run):
    run.module("fc", "Linear")
    x = run.source("input", "x", (2, 10))
    with run.inside(""):
        with run.inside("fc"):
            x = run.op("linear", [x], (2, 10))
        x = run.op("view", [x], (2, 10))
        for name in ("relu", "relu_", "cat", "sigmoid", "mystery", "add"):
            x = run.op(name, [x], (2, 10))
    row = table(run.finish())[-1]
    # by FLOPs, then by calls, then by name; `view` is no row of its own
    assert row.startswith("└─ + add, relu, relu_, sigmoid and 2 more")
    assert row.endswith("≥80")


def test_own_code_that_only_reshapes_is_no_row(run):
    run.module("fc", "Linear")
    x = run.source("input", "x", (2, 10))
    with run.inside(""):
        with run.inside("fc"):
            x = run.op("linear", [x], (2, 10))
        run.op("flatten", [x], (20,))
    assert names(run.finish()) == ["Net", "fc (Linear)"]


def test_tied_parameters_are_counted_once(run):
    for name in ("embed", "head"):
        run.module(name, "Linear")
    weight = run.param("embed.weight", (10, 10))
    run.builder.records.params[weight].aliases += ("head.weight",)
    run.modules["head"].params += (weight,)
    x = run.source("input", "x", (2, 10))
    with run.inside("") as root:
        for name in ("embed", "head"):
            with run.inside(name) as call:
                x = run.op("linear", [x], (2, 10), [weight])
            run.returns(call, x)
    run.returns(root, x)
    trace = run.finish()
    rows = [row.split() for row in table(trace)]
    assert rows[0][:4] == ["Net", "2×10", "100", "100%"]
    assert rows[1][3:6] == ["2×10", "100", "100%"]
    assert rows[2][3:5] == ["2×10", "(100)"]
    assert "Parameters in brackets are used there too and counted elsewhere." in lines(trace)
    assert footer(trace, "Params") == "100 (400 bytes) · all trainable · tied: embed.weight = head.weight"
    by_op = [row.split() for row in table(trace, level="op")]
    assert by_op[1][3:5] == ["100", "100%"]
    assert by_op[2][3] == "(100)"


def test_a_shared_module_is_counted_at_its_first_place(run):
    run.module("a", "Linear")
    run.modules["a"].aliases += ("box.b",)
    weight = run.param("a.weight", (10, 10))
    box = run.module("box", "Box")
    box.children += (run.modules["a"].index,)
    x = run.source("input", "x", (2, 10))
    with run.inside(""), run.inside("a"):
        x = run.op("linear", [x], (2, 10), [weight])
    with run.inside("box"), run.inside("a"):
        run.op("linear", [x], (2, 10), [weight])
    rows = [re.sub(r" {2,}", "  ", row) for row in table(run.finish())]
    assert rows[1:] == ["├─ a (Linear) 2 calls  100  100%  800", "└─ box (Box)  400", "  └─ b (Linear)  is a  (100)"]


def test_recursion_is_counted_once(run):
    run.module("tree", "Tree")
    x = run.source("input", "x", (2, 10))
    with run.inside(""), run.inside("tree"), run.inside("tree"):
        run.op("linear", [x], (2, 10))
    assert table(run.finish())[1].endswith("400")


def test_work_of_a_call_with_several_outputs_is_counted_once(run):
    run.module("fc", "Linear")
    x = run.source("input", "x", (2, 10))
    with run.inside(""), run.inside("fc"):
        run.outputs("linear", [x], [(2, 10), (2, 5)])
    row = table(run.finish(), columns=["flops", "macs", "duration", "ops", "activation_bytes"])[1]
    assert row.split()[3:] == ["400", "200", "1", "µs", "2", "120", "B"]


def test_outputs_of_several_tensors_and_of_changing_shapes(run):
    for name in ("rnn", "pool"):
        run.module(name, name.upper())
    x = run.source("input", "x", (2, 10))
    with run.inside(""):
        with run.inside("rnn") as call:
            outs = run.outputs("lstm", [x], [(2, 5), (1, 5), (1, 5)])
        run.returns(call, *outs)
        for size in (4, 2):
            with run.inside("pool") as call:
                x = run.op("pool", [outs[0]], (2, size))
            run.returns(call, x)
    rows = table(run.finish())
    assert rows[1].split() == ["├─", "rnn", "(RNN)", "2×5", "+2", "?"]
    assert rows[2].split() == ["└─", "pool", "(POOL)", "2", "calls", "varies", "?"]


def test_unknown_operators_are_named_and_marked(run):
    run.module("fc", "Linear")
    x = run.source("input", "x", (2, 10))
    with run.inside(""), run.inside("fc"):
        x = run.op("linear", [x], (2, 10))
        run.op("mystery", [x], (2, 10))
    trace = run.finish()
    assert [row.split()[-1] for row in table(trace)] == ["≥400", "≥400"]
    assert footer(trace, "Compute") == "400 FLOPs · 200 MACs, forward only · no formula for mystery"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            BackendUnsupportedError(
                "No backend is called 'paper'; installed: none.", code="unknown_backend", remedy="pip install tl-paper"
            ),
            "not counted: No backend is called 'paper'; installed: none; pip install tl-paper",
        ),
        (
            MissingDependencyError(
                "Backend 'paper' needs ink, which is not installed.",
                code="missing_dependency",
                remedy="pip install ink",
            ),
            "not counted: Backend 'paper' needs ink, which is not installed; pip install ink",
        ),
    ],
)
def test_without_the_framework_everything_but_the_work_is_shown(residual_trace, monkeypatch, error, text):
    def missing(name):
        raise error

    monkeypatch.setattr("tl_core._cost.backend", missing)
    assert table(residual_trace)[0] == "Net                     2×3              389   100%"
    assert footer(residual_trace, "Compute") == text
    assert footer(residual_trace, "Params").startswith("389 ")


def test_no_modules_means_a_list_of_layers(run):
    x = run.source("input", "x", (2, 10))
    run.source("buffer", "b", (1,))
    run.source("constant", "global:C", (1,))
    run.source("constant", "global:D", (1,))
    with run.inside(""):
        x = run.op("relu", [x], (2, 10))
    run.source("output", "", (2, 10), parents=[x])
    trace = run.finish(options=CaptureOptions(keep_orphans=True))
    assert [row.split()[0] for row in table(trace)] == ["input_1", "relu_1_1", "output_1"]
    assert "Not listed: 1 buffer, 2 constants." in lines(trace)


def test_passes_of_a_layer_are_one_row(run):
    x = run.source("input", "x", (2, 10))
    with run.inside(""):
        for _ in range(1200):
            x = run.op("relu", [x], (2, 10))
    groups = ((0, 1), *((1, number) for number in range(1, 1201)))
    trace = run.finish(groups=groups)
    assert [re.sub(r" {2,}", "  ", row) for row in table(trace)] == [
        "input_1  x  2×10",
        "relu_1_1 1,200 passes  2×10  24.0 k",
    ]
    assert footer(trace, "Graph") == "1,200 ops · 1 layer, up to 1,200 passes · 1 input"


def test_long_lists_of_outputs_are_cut(run):
    with run.inside(""):
        made = [run.op("relu", [run.source("input", f"x{number}", (1,))], (1,)) for number in range(9)]
    for number, op in enumerate(made):
        run.source("output", f".out[{number}]", (1,), parents=[op])
    trace = run.finish()
    rows = [row.split("  ")[0] for row in table(trace, level="op")]
    assert [row for row in rows if "put" in row] == [
        "input_1",
        "input_2",
        "input_3",
        "... 6 more inputs",
        "output_1",
        "output_2",
        "output_3",
        "... 6 more outputs",
    ]
    assert lines(trace)[1] == ("x0 1 float32, x1 1 float32 and 7 more → out[0] 1 float32, out[1] 1 float32 and 7 more")


def test_max_rows_keeps_both_ends(run):
    x = run.source("input", "x", (2, 10))
    with run.inside(""):
        for _ in range(20):
            x = run.op("relu", [x], (2, 10))
    trace = run.finish(options=CaptureOptions(recurrence_detection=False))
    rows = [row.split("  ")[0] for row in table(trace, max_rows=6)]
    assert rows == [
        "input_1",
        "relu_1_1",
        "relu_2_2",
        "relu_3_3",
        "... 15 more rows; summary(max_rows=21) shows all",
        "relu_19_19",
        "relu_20_20",
    ]
    assert len(table(trace, max_rows=20)) == 21  # a line about one row would take its place
    assert len(table(trace, max_rows=21)) == 21
    assert [row.split()[0] for row in table(trace, max_rows=1)] == ["input_1", "..."]


def test_a_deep_model_is_opened_as_far_as_it_fits(run):
    for outer in "abcdefghijkl":
        run.module(outer, "Box")
        for inner in "vwxyz":
            run.module(f"{outer}.{inner}", "Box")
    trace = run.finish()
    assert len(table(trace, fold_repeats=False)) == 13
    assert "1 of 2 levels shown; summary(depth=2) shows all." in lines(trace, fold_repeats=False)
    assert len(table(trace, fold_repeats=False, depth=2)) == 73
    assert len(table(trace)) == 18  # one box opened, eleven like it


@pytest.mark.parametrize(
    ("counts", "limit", "depth"),
    [
        ([1], 64, 0),
        ([1, 50], 64, 1),  # the first level is always opened
        ([1, 9, 40], 64, 2),
        ([1, 20, 41], 64, 1),
        ([1, 5, 64], 64, 2),  # few rows: one level more, on a long page
        ([1, 5, 65], 64, 1),
        ([1, 5, 50, 60], 64, 2),
        ([1, 12, 50], 64, 1),
        ([1, 5, 20], 10, 1),  # `max_rows` counts
    ],
)
def test_the_depth_that_fits(counts, limit, depth):
    assert _fitting(counts, limit) == depth


def test_an_empty_trace(run):
    assert table(run.finish()) == ["nothing was recorded"]
    bare = TraceBuilder().finish(
        TraceInfo(name="f_1", backend="paper", model_class_name="f", framework_version="1", duration_ns=5)
    )
    assert lines(bare) == [
        "f · f_1",
        "no tensor inputs → no tensor outputs",
        "─────────────────────────────────────────────",
        "Layer  Module  Output shape  Params  %  FLOPs",
        "─────────────────────────────────────────────",
        "nothing was recorded",
        "─────────────────────────────────────────────",
        "Params   none",
        "Compute  0 FLOPs · 0 MACs, forward only",
        "Memory   activations 0 bytes · no values saved",
        "Graph    0 ops",
        "Capture  paper 1 in 5 ns · eval · verified (provenance_complete)",
    ]


def test_huge_numbers_stay_readable(run):
    run.module("moe", "Experts")
    run.param("moe.weight", (10**7, 10**6))
    x = run.source("input", "x", (2, 10))
    with run.inside("") as root, run.inside("moe") as call:
        x = run.op("linear", [x], (10**6, 10**6, 10**6))
    run.returns(call, x)
    run.returns(root, x)
    trace = run.finish()
    assert table(trace)[1] == "└─ moe (Experts)  1000000×1000000×1000000  10.0 T  100%  20.0 E"
    assert (
        footer(trace, "Params")
        == "10,000,000,000,000 (36.4 TiB) · all trainable · 10,000,000,000,000 not used in this run"
    )
    assert all(cell_width(line) <= 100 for line in lines(trace))


def test_strange_names_stay_in_their_cells(new_run):
    run = new_run("Überнет层")
    run.module("层\n\x1b[31m", "<b>")
    with run.inside(""), run.inside("层\n\x1b[31m"):
        run.op("relu", [run.source("input", "вход\t", (2, 10))], (2, 10))
    trace = run.finish()
    text = lines(trace)
    bad = "\N{REPLACEMENT CHARACTER}"
    assert text[0] == "Überнет层 · überнет层_1"
    assert text[1] == f"вход{bad} 2×10 float32 → no tensor outputs"
    assert text[6].startswith(f"└─ 层{bad}{bad}[31m (<b>)")
    assert cell_width(text[6].rpartition("20")[0]) == cell_width(text[5].rpartition("20")[0])


def test_no_line_is_wider_than_the_width(residual_trace, run):
    for options in ({}, {"level": "op"}, {"view": "compute"}, {"columns": list(COLUMNS)}):
        for width in (40, 47, 60, 80, 100):
            for line in lines(residual_trace, width, **options):
                assert cell_width(line) <= width, (options, width, line)


def test_every_column(residual_trace):
    expected = {
        "module": ("Module", ""),
        "output_shape": ("Output shape", "2×10"),
        "dtype": ("Dtype", "float32"),
        "calls": ("Calls", "1"),
        "ops": ("Ops", "6"),
        "params": ("Params", "200"),
        "params_percent": ("%", "51.4%"),
        "trainable": ("Trainable", "200"),
        "flops": ("FLOPs", "880"),
        "flops_percent": ("%", "62.9%"),
        "macs": ("MACs", "400"),
        "activation_bytes": ("Activations", "480 B"),
        "duration": ("Time", "6 µs"),
        "duration_percent": ("%", "75.0%"),
    }
    assert list(expected) == list(COLUMNS)
    for name, (title, cell) in expected.items():
        text = lines(residual_trace, columns=[name])
        assert text[3].split("  ")[-1].strip() == title
        assert text[7].removeprefix("├─ blocks (Sequential)").strip() == cell


@pytest.mark.parametrize(
    ("info", "text"),
    [
        ({"outcome": "failed"}, "eval, no grad · the model raised; this is what ran · verified (provenance_complete)"),
        ({"outcome": "stopped"}, "eval, no grad · stopped early · verified (provenance_complete)"),
        ({"grad_enabled": True}, "eval · verified (provenance_complete)"),
        ({"loaded": True}, "eval, no grad · verified (provenance_complete) · loaded from a bundle"),
    ],
)
def test_the_capture_line(run, info, text):
    assert footer(run.finish(**info), "Capture") == f"paper 1.0 in 2 ms · {text}"


def test_gaps_are_counted(run):
    for reason in ("unseen_write", "thread", "unseen_write"):
        run.builder.gap(reason, "something", -1)
    assert footer(run.finish(), "Capture") == (
        "paper 1.0 in 2 ms · eval, no grad · not verified (unseen_write) · 3 gaps: unseen_write x2, thread"
    )


@pytest.mark.parametrize(
    ("modes", "text"), [((True, True), "train"), ((True, False), "train and eval modules mixed"), ((False,), "eval")]
)
def test_the_mode(new_run, modes, text):
    run = new_run()
    run.modules[""].training = modes[0]
    for number, training in enumerate(modes):
        run.module(f"m{number}", "M", training)
    assert footer(run.finish(), "Capture").split(" · ")[1] == f"{text}, no grad"


def test_a_failed_run_has_not_returned(run):
    run.source("input", "x", (1,))
    assert lines(run.finish(outcome="failed"))[1] == "x 1 float32 → (failed before it returned)"


def test_frozen_and_trainable(new_run):
    run = new_run()
    run.param("w", (2, 2), requires_grad=False)
    run.op("f", [run.source("input", "x", (1,))], (1,), [0])
    assert footer(run.finish(), "Params") == "4 (16 bytes) · all frozen"


def test_branches_on_values_are_counted(run):
    x = run.source("input", "x", (1,))
    for _ in range(2):
        run.builder.read("bool", x.index, True, ())
    run.builder.read("item", x.index, 1.0, ())
    assert footer(run.finish(), "Graph") == "0 ops · 1 input · 2 branches on tensor values"
