"""The op table: every column of the residual network, and as a data frame."""

import builtins

import pandas as pd
import pytest

from tl_core import (
    ArgumentTypeError,
    BackendUnsupportedError,
    CaptureOptions,
    ConfigurationError,
    MissingDependencyError,
    op_table,
)
from tl_core._table import COLUMNS, USUAL

LABELS = [
    "input_1:1",
    "linear_1_1:1",
    "linear_2_2:1",
    "relu_1_3:1",
    "add_1_4:1",
    "linear_3_5:1",
    "relu_2_6:1",
    "add_2_7:1",
    "linear_4_8:1",
    "output_1:1",
]
EXPECTED = {
    "label": LABELS,
    "layer_label": [label.removesuffix(":1") for label in LABELS],
    "func_name": ["input", "linear", "linear", "relu_", "add", "linear", "relu_", "add", "linear", "output"],
    "type": ["input", "linear", "linear", "relu", "add", "linear", "relu", "add", "linear", "output"],
    "kind": ["input", *["op"] * 8, "output"],
    "module": [
        "",
        "stem",
        "blocks.0.fc",
        "blocks.0.act",
        "blocks.0",
        "blocks.1.fc",
        "blocks.1.act",
        "blocks.1",
        "head",
        "",
    ],
    "module_class": ["", "Linear", "Linear", "ReLU", "Block", "Linear", "ReLU", "Block", "Linear", ""],
    "pass_number": [1] * 10,
    "num_passes": [1] * 10,
    "shape": [*[(2, 10)] * 8, (2, 3), (2, 3)],
    "dtype": ["float32"] * 10,
    "device": ["cpu"] * 10,
    "size_bytes": [*[80] * 8, 24, 24],
    "parents": [
        (),
        ("input_1:1",),
        ("linear_1_1:1",),
        ("linear_2_2:1",),
        ("linear_1_1:1", "relu_1_3:1"),
        ("add_1_4:1",),
        ("linear_3_5:1",),
        ("add_1_4:1", "relu_2_6:1"),
        ("add_2_7:1",),
        ("linear_4_8:1",),
    ],
    "children": [
        ("linear_1_1:1",),
        ("linear_2_2:1", "add_1_4:1"),
        ("relu_1_3:1",),
        ("add_1_4:1",),
        ("linear_3_5:1", "add_2_7:1"),
        ("relu_2_6:1",),
        ("add_2_7:1",),
        ("linear_4_8:1",),
        ("output_1:1",),
        (),
    ],
    "params": [
        (),
        ("stem.weight", "stem.bias"),
        ("blocks.0.fc.weight",),
        (),
        (),
        ("blocks.1.fc.weight",),
        (),
        (),
        ("head.weight",),
        (),
    ],
    "flops": [0, 400, 400, 20, 20, 400, 20, 20, 120, 0],
    "macs": [0, 200, 200, 0, 0, 200, 0, 0, 60, 0],
    "duration_ns": [0, *[1000] * 8, 0],
    "is_inplace": [False, False, False, True, False, False, True, False, False, False],
    "requires_grad": [False, True, True, False, False, True, False, False, True, False],
    "saved": [False, True, *[False] * 8],
    "min_from_input": [0, 1, 2, 3, 2, 3, 4, 3, 4, 5],
    "source_file": [None] * 10,
    "source_line": [None] * 10,
    "index": list(range(10)),
    "label_short": [
        "input_1:1",
        "linear_1:1",
        "linear_2:1",
        "relu_1:1",
        "add_1:1",
        "linear_3:1",
        "relu_2:1",
        "add_2:1",
        "linear_4:1",
        "output_1:1",
    ],
    "modules": [
        (),
        ("stem:1",),
        ("blocks:1", "blocks.0:1", "blocks.0.fc:1"),
        ("blocks:1", "blocks.0:1", "blocks.0.act:1"),
        ("blocks:1", "blocks.0:1"),
        ("blocks:1", "blocks.1:1", "blocks.1.fc:1"),
        ("blocks:1", "blocks.1:1", "blocks.1.act:1"),
        ("blocks:1", "blocks.1:1"),
        ("head:1",),
        (),
    ],
    "address": ["x", *[""] * 9],
    "kernel": [None, "linear", "linear", "relu_", "add", "linear", "relu_", "add", "linear", None],
    "func_call_id": [0, 1, 2, 3, 4, 5, 6, 7, 8, 0],
    "output_index": [0] * 10,
    "grad_fn": [None] * 10,
    "max_from_input": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    "min_to_output": [5, 4, 5, 4, 3, 4, 3, 2, 1, 0],
    "max_to_output": [9, 8, 7, 6, 5, 4, 3, 2, 1, 0],
    "source_function": [None] * 10,
}


def test_all_columns_are_tested():
    assert list(EXPECTED) == list(COLUMNS)
    assert len(USUAL) == 25


@pytest.mark.parametrize("name", list(EXPECTED))
def test_column(residual_trace, name):
    assert op_table(residual_trace, [name]) == {name: EXPECTED[name]}


def test_the_usual_columns_and_all(residual_trace):
    assert list(op_table(residual_trace)) == list(EXPECTED)[:25]
    assert op_table(residual_trace, "all") == EXPECTED
    assert list(op_table(residual_trace, ("dtype", "label"))) == ["dtype", "label"]
    assert op_table(residual_trace, []) == {}


def test_cells_agree_with_the_views(residual_trace):
    table = op_table(residual_trace, "all")
    shared = [
        "label",
        "layer_label",
        "func_name",
        "type",
        "kind",
        "module",
        "pass_number",
        "num_passes",
        "shape",
        "dtype",
        "device",
        "size_bytes",
        "parents",
        "children",
        "params",
        "is_inplace",
        "index",
        "label_short",
        "modules",
        "address",
        "func_call_id",
        "output_index",
    ]
    for op in residual_trace.ops:
        for name in shared:
            assert table[name][op.index] == getattr(op, name), name


def test_passes(run):
    x = run.source("input", "x", (1,))
    for _ in range(3):
        x = run.op("relu", [x], (1,))
    table = op_table(run.finish(groups=((0, 1), (1, 1), (1, 2), (1, 3))))
    assert table["label"] == ["input_1:1", "relu_1_1:1", "relu_1_1:2", "relu_1_1:3"]
    assert table["pass_number"] == [1, 1, 2, 3]
    assert table["num_passes"] == [1, 3, 3, 3]


def test_work_of_several_outputs_is_counted_once(run):
    x = run.source("input", "x", (2, 10))
    run.outputs("linear", [x], [(2, 10), (2, 5)])
    run.op("mystery", [x], (2, 10))
    table = op_table(run.finish(), "all")
    assert table["flops"] == [0, 400, 0, None]
    assert table["macs"] == [0, 200, 0, None]
    assert table["duration_ns"] == [0, 1000, 0, 1000]
    assert table["output_index"] == [0, 0, 1, 0]
    assert table["func_call_id"] == [0, 1, 1, 2]


def test_without_the_backend_work_is_unknown(residual_trace, monkeypatch):
    def missing(name):
        raise BackendUnsupportedError("gone", code="unknown_backend")

    monkeypatch.setattr("tl_core._cost.backend", missing)
    assert op_table(residual_trace, ["flops", "macs"]) == {"flops": [None] * 10, "macs": [None] * 10}


def test_distances_that_were_left_out(run):
    run.source("input", "x", (1,))
    trace = run.finish(options=CaptureOptions(compute_input_output_distances=False))
    assert op_table(trace, ["min_from_input", "max_to_output"]) == {"min_from_input": [None], "max_to_output": [None]}


def test_ops_without_a_path_have_no_distance(run):
    run.source("input", "x", (1,))
    run.op("zeros", [], (1,))
    trace = run.finish(options=CaptureOptions(keep_orphans=True))
    assert op_table(trace, ["min_from_input"])["min_from_input"] == [0, None]


def test_source_lines_live_and_loaded(run):
    def here():
        return None

    code = here.__code__
    x = run.source("input", "x", (1,))
    x = run.op("relu", [x], (1,), frames=((code, 0),))
    run.op("relu", [x], (1,), frames=(("net.py", 12, "forward"),))
    table = op_table(run.finish(), ["source_file", "source_line", "source_function"])
    assert table["source_file"] == [None, "test_table.py", "net.py"]
    assert table["source_line"] == [None, code.co_firstlineno, 12]
    assert table["source_function"] == [None, "here", "forward"]


def test_an_empty_trace(run):
    trace = run.finish()
    assert op_table(trace, "all") == {name: [] for name in EXPECTED}
    assert trace.to_pandas().shape == (0, 25)


def test_the_data_frame(residual_trace):
    frame = residual_trace.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == list(EXPECTED)[:25]
    assert len(frame) == 10
    assert frame["label"].tolist() == LABELS
    assert frame["flops"].sum() == residual_trace.cost.flops
    assert frame.loc[frame["func_name"] == "add", "parents"].tolist() == [
        EXPECTED["parents"][4],
        EXPECTED["parents"][7],
    ]
    assert residual_trace.to_pandas("all").shape == (10, len(EXPECTED))
    assert list(residual_trace.to_pandas(["kind"]).columns) == ["kind"]


@pytest.mark.parametrize(
    ("columns", "error", "problem", "remedy"),
    [
        (["flop"], ConfigurationError, "A table of ops has no column 'flop'.", "closest: flops"),
        (["zzz"], ConfigurationError, "A table of ops has no column 'zzz'.", f"the columns are {', '.join(EXPECTED)}"),
        (
            "flops",
            ArgumentTypeError,
            "columns='flops' is one text; a list of names or 'all' is meant.",
            f"columns=['flops']; the columns are {', '.join(EXPECTED)}",
        ),
    ],
)
def test_unknown_columns_are_refused(residual_trace, columns, error, problem, remedy):
    for ask in (residual_trace.to_pandas, lambda columns: op_table(residual_trace, columns)):
        with pytest.raises(error) as refused:
            ask(columns)
        assert refused.value.code == "table_column_unknown"
        assert refused.value.problem == problem
        assert refused.value.remedy == remedy


def test_without_pandas_the_way_out_is_named(residual_trace, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError) as refused:
        residual_trace.to_pandas()
    assert refused.value.problem == "to_pandas() needs pandas, which is not installed."
    assert refused.value.remedy == (
        'pip install "tl-core[pandas]"; op_table(trace) gives the same columns as plain lists'
    )
    assert isinstance(refused.value, ImportError)


def test_a_broken_pandas_shows_its_own_error(residual_trace, monkeypatch):
    real = builtins.__import__

    def broken(name, *args, **kwargs):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'numpy.core.x'", name="numpy.core.x")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(ModuleNotFoundError, match=r"numpy\.core\.x"):
        residual_trace.to_pandas()


def test_columns_come_from_any_collection_of_names(residual_trace):
    names = ["label", "shape"]
    for columns in (names, tuple(names), iter(names), (name for name in names), dict.fromkeys(names)):
        assert list(op_table(residual_trace, columns)) == names


@pytest.mark.parametrize(
    ("columns", "wrong"), [(3, "3 (int)"), (["label", 3], "3 (int)"), ([["label"]], "['label'] (list)")]
)
def test_what_is_no_name_of_a_column_is_refused(residual_trace, columns, wrong):
    for ask in (residual_trace.to_pandas, lambda columns: residual_trace.summary(columns=columns)):
        with pytest.raises(ArgumentTypeError) as caught:
            ask(columns)
        assert f"and {wrong} is no name." in str(caught.value)
