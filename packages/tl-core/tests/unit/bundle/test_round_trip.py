"""What is saved is what is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import pytest
from bundles import Value, everything, facts_of, info, network, trace_of, value
from safetensors import safe_open
from safetensors.numpy import load_file

import tl_core
from tl_core import AliasRead, CaptureOptions, DeferredPayload, Trace, TraceBuilder
from tl_core import _bundle_columns as columns
from tl_core import _record as records
from tl_core._aten import AtenOp
from tl_core._bundle_aten import AtenColumns

if TYPE_CHECKING:
    from pathlib import Path


def saved(trace: Trace, folder: Path, **options: object) -> Trace:
    return tl_core.load(trace.save(folder / "a.tlspec", **options))


def without(facts: dict[str, object], *names: str) -> dict[str, object]:
    """Facts of a trace without fields that saving changes on purpose."""
    return {
        table: [{name: fact for name, fact in row.items() if name not in names} for row in rows]
        if isinstance(rows, list) and rows and isinstance(rows[0], dict)
        else rows
        for table, rows in facts.items()
    }


def test_a_trace_comes_back_whole(tmp_path: Path) -> None:
    trace = network()
    loaded = saved(trace, tmp_path)
    changed = ("frames", "func", "meta", "reference")
    assert without(everything(loaded), *changed) == without(everything(trace), *changed)
    assert loaded._state.info.loaded
    assert loaded.options == CaptureOptions(recurrence_detection=False, detach_saved_activations=True)
    assert (loaded.backend, loaded.model_class_name, loaded._state.info.duration_ns) == ("numpy", "Net", 1234)
    assert loaded._state.info.grad_enabled is False


def test_a_loaded_trace_saved_again_is_the_same(tmp_path: Path) -> None:
    once = saved(network(), tmp_path)
    twice = tl_core.load(once.save(tmp_path / "b.tlspec"))
    assert everything(twice) == everything(once)


def test_functions_and_frames_become_names(tmp_path: Path) -> None:
    calls = saved(network(), tmp_path)._state.records.calls
    assert [call.func for call in calls] == [None] * 4
    assert calls[0].meta == {"transform_kind": "vmap", "level": 2, "function": "numpy.dot"}
    assert calls[1].meta is None
    ((file, line, function),) = calls[0].frames
    source = (__import__("bundles").__file__, file, function)
    assert source[1:] == ("bundles.py", "network")
    with open(source[0], encoding="utf-8") as text:
        assert "here()" in text.read().splitlines()[line - 1]


def test_no_path_leaves_the_machine(tmp_path: Path) -> None:
    path = network().save(tmp_path / "a.tlspec")
    text = b"".join(file.read_bytes() for file in path.iterdir())
    assert b"bundles.py" in text
    assert b"support" not in text
    assert str(tmp_path).encode() not in text


def test_an_audit_holds_no_value(tmp_path: Path) -> None:
    trace = network()
    path = trace.save(tmp_path / "a.tlspec", level="audit")
    assert sorted(file.name for file in path.iterdir()) == ["manifest.json", "tables.json"]
    loaded = tl_core.load(path)
    assert [op.label for op in loaded.ops] == [op.label for op in trace.ops]
    assert [op.payload for op in loaded._state.records.ops] == [None] * 7
    assert [op.shape for op in loaded._state.records.ops] == [op.shape for op in trace._state.records.ops]
    assert loaded._state.records.calls[3].args[0][0].value is None


def test_an_audit_needs_no_backend(tmp_path: Path) -> None:
    trace = trace_of(value(2), backend="unknown")
    assert len(saved(trace, tmp_path, level="audit").ops) == 3


def test_values_stay_on_disk_until_they_are_asked_for(tmp_path: Path) -> None:
    loaded = saved(trace_of(value(2, 3)), tmp_path)
    payload = loaded._state.records.ops[1].payload
    assert isinstance(payload, DeferredPayload)
    assert loaded.ops[1].payload.location == "disk"
    assert loaded.ops[1].payload.size_bytes == 24
    assert loaded.ops[1].out == value(2, 3)
    assert loaded.ops[1].out is not loaded.ops[1].out
    assert loaded.ops[0].payload.location == "none"


def test_eager_loading_reads_all_values(tmp_path: Path) -> None:
    trace = network()
    path = trace.save(tmp_path / "a.tlspec")
    loaded = tl_core.load(path, lazy=False)
    for file in path.iterdir():
        file.unlink()
    assert loaded.ops[2].payload.location == "memory"
    assert loaded.ops[2].out == value(2, 3)
    assert loaded.ops[6].out is loaded.ops[2].out
    assert facts_of(loaded._state.records.calls[3]) == facts_of(
        tl_core.load(trace.save(path, overwrite=True))._state.records.calls[3]
    )


NUMPY_DTYPES = [
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
BIT_DTYPES = {
    "bfloat16": "u2",
    "complex32": "u4",
    "float8_e4m3fn": "u1",
    "float8_e5m2": "u1",
    "float8_e4m3fnuz": "u1",
    "float8_e5m2fnuz": "u1",
    "float8_e8m0fnu": "u1",
}


def arrays(dtype: str) -> list[Value]:
    """Bits of every kind in shapes of every kind."""
    carrier = np.dtype(BIT_DTYPES.get(dtype, dtype))
    bits = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 256, 7 * 5 * carrier.itemsize, np.uint8)
    whole = bits.view(carrier).reshape(7, 5)
    return [
        Value(whole, dtype),
        Value(whole[0, 0].reshape(()).copy(), dtype),
        Value(np.zeros((0, 4), carrier), dtype),
        Value(whole.T[1:, ::2], dtype),
        Value(whole[:, :1].copy(), dtype),
    ]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + sorted(BIT_DTYPES))
def test_every_dtype_and_shape(dtype: str, tmp_path: Path) -> None:
    values = arrays(dtype)
    assert sum(len(set(value.array.tobytes())) for value in values) > 2
    loaded = saved(trace_of(*values), tmp_path)
    assert [op.out for op in loaded.ops][1:-1] == values
    eager = tl_core.load(tmp_path / "a.tlspec", lazy=False)
    assert [op.out for op in eager.ops][1:-1] == values


def test_the_official_library_reads_our_file(tmp_path: Path) -> None:
    values = [
        value(3, 2),
        Value(np.array(True)),
        Value(np.zeros((0, 2), np.int16)),
        Value(np.array([1 + 2j], np.complex64)),
    ]
    odd = Value(np.array([1, 2, 3], np.int8))
    path = trace_of(odd, *values).save(tmp_path / "a.tlspec")
    tensors = load_file(path / "payloads.safetensors")
    assert sorted(tensors) == ["relu_1_1:1", "relu_2_2:1", "relu_3_3:1", "relu_4_4:1", "relu_5_5:1"]
    np.testing.assert_array_equal(tensors["relu_1_1:1"], [1, 2, 3], strict=False)
    np.testing.assert_array_equal(tensors["relu_2_2:1"], np.arange(6, dtype=np.float32).reshape(3, 2), strict=True)
    np.testing.assert_array_equal(tensors["relu_3_3:1"], np.array(True), strict=True)
    assert (tensors["relu_4_4:1"].shape, tensors["relu_4_4:1"].dtype) == ((0, 2), np.int16)
    np.testing.assert_array_equal(tensors["relu_5_5:1"], np.array([[1, 2]], np.float32), strict=True)
    with safe_open(path / "payloads.safetensors", "np") as file:
        assert file.metadata() == {"format": "tlspec", "trace": "net_1"}


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + sorted(BIT_DTYPES))
def test_the_official_library_takes_every_dtype(dtype: str, tmp_path: Path) -> None:
    path = trace_of(*arrays(dtype)).save(tmp_path / "a.tlspec")
    with safe_open(path / "payloads.safetensors", "np") as file:
        assert file.get_slice("relu_1_1:1").get_shape()[:2] == [7, 5]


def test_every_value_is_aligned(tmp_path: Path) -> None:
    values = [Value(np.ones(3, kind)) for kind in ("int8", "float64", "bool", "int16", "float32", "complex128")]
    file = (trace_of(*values).save(tmp_path / "a.tlspec") / "payloads.safetensors").read_bytes()
    header_size = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + header_size])
    widths = {"I8": 1, "BOOL": 1, "I16": 2, "F32": 4, "F64": 8}
    entries = [entry for name, entry in header.items() if name != "__metadata__"]
    assert len(entries) == 6
    assert [(8 + header_size + entry["data_offsets"][0]) % widths[entry["dtype"]] for entry in entries] == [0] * 6


def regions(path: Path) -> dict[str, int]:
    file = next(path.glob("*.safetensors")).read_bytes()
    header = json.loads(file[8 : 8 + int.from_bytes(file[:8], "little")])
    return {
        name: entry["data_offsets"][1] - entry["data_offsets"][0] for name, entry in header.items() if name[0] != "_"
    }


def test_equal_memory_is_stored_once(tmp_path: Path) -> None:
    one = value(4, 4)
    path = trace_of(one, one, Value(one.array)).save(tmp_path / "a.tlspec")
    assert regions(path) == {"relu_1_1:1": 64}
    assert [op.out for op in tl_core.load(path).ops][1:-1] == [one] * 3


def test_views_share_the_bytes_of_what_they_view(tmp_path: Path) -> None:
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    apart = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    values = [
        Value(base[1]), Value(base.transpose(2, 0, 1)), Value(base), Value(base[:, ::2, 3]), Value(base.reshape(-1)[5:6]),
        Value(np.broadcast_to(base[0, 0], (5, 4))), Value(base.view(np.int32)), Value(base.view(np.uint8)[..., 1:7]),
        Value(apart),
    ]  # fmt: skip
    path = trace_of(*values).save(tmp_path / "a.tlspec")
    assert sorted(regions(path).values()) == [96, 96]
    assert [op.out for op in tl_core.load(path).ops][1:-1] == values


def test_a_step_that_is_never_taken_does_not_matter(tmp_path: Path) -> None:
    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    row = base[::3][:1]
    assert row.strides == (120, 4)
    path = trace_of(Value(row), Value(base[0, 2:5])).save(tmp_path / "a.tlspec")
    assert sorted(regions(path).values()) == [40]
    assert [op.out for op in tl_core.load(path).ops][1:-1] == [Value(row), Value(base[0, 2:5])]


def test_views_without_their_base_are_stored_dense(tmp_path: Path) -> None:
    base = np.arange(1000, dtype=np.float32).reshape(10, 100)
    values = [Value(base[:, 3]), Value(base[2:4]), Value(base[3:6])]
    path = trace_of(*values).save(tmp_path / "a.tlspec")
    assert sorted(regions(path).values()) == [40, 800, 1200]
    assert [op.out for op in tl_core.load(path).ops][1:-1] == values


def test_memory_of_different_devices_is_not_shared(tmp_path: Path) -> None:
    array = np.arange(4.0)
    values = [Value(array), Value(array, device="other")]
    path = trace_of(*values).save(tmp_path / "a.tlspec")
    assert sorted(regions(path).values()) == [32, 32]
    assert [op.out for op in tl_core.load(path).ops][1:-1] == values
    assert [op.out.device for op in list(tl_core.load(path, map_location="cpu").ops)[1:-1]] == ["cpu", "cpu"]


def test_a_backend_that_knows_no_addresses(tmp_path: Path) -> None:
    one = value(4, 4)
    path = trace_of(one, Value(one.array), Value(one.array[1:]), backend="nowhere").save(tmp_path / "a.tlspec")
    assert sorted(regions(path).values()) == [48, 64]
    assert [op.out for op in tl_core.load(path).ops][1:-1] == [one, one, Value(one.array[1:])]


def test_an_unsaved_trace_has_an_empty_payload_file(tmp_path: Path) -> None:
    path = trace_of(None, None).save(tmp_path / "a.tlspec")
    assert regions(path) == {}
    assert [op.out for op in tl_core.load(path).ops] == [None] * 4
    assert [op.out for op in tl_core.load(path, lazy=False).ops] == [None] * 4


class Colour(Enum):
    RED = 1


def arguments(*values: object) -> Trace:
    builder = TraceBuilder()
    builder.call("f", "f", None, values, {"named": values[-1]}, (), (), 0, False)
    return builder.finish(info())


PLAIN = [
    None, True, False, 0, -1, 2**63, -(2**63), 2**70, 1.0, -0.0, 1e-320, 0.1, float("inf"), float("-inf"), "", "ä\n\x00",
    "\ud800", b"", b"\x00\xff", 1 - 2j, complex("nanj"), ..., slice(None), slice(1, None, -2), (), [], {}, set(), (1,),
    [1, (2, [3, {"a": (None,)}])], {1: 2, (3, "b"): [4]}, {7}, frozenset({2.5}), {"is": "op", "index": 5},
]  # fmt: skip


@pytest.mark.parametrize("plain", PLAIN, ids=repr)
def test_plain_arguments(plain: object, tmp_path: Path) -> None:
    call = saved(arguments(plain), tmp_path)._state.records.calls[0]
    assert repr(call.args[0]) == repr(plain)
    assert type(call.args[0]) is type(plain)
    assert repr(call.kwargs["named"]) == repr(plain)


def test_not_a_number(tmp_path: Path) -> None:
    (found,) = saved(arguments(float("nan")), tmp_path)._state.records.calls[0].args
    assert isinstance(found, float)
    assert found != found


def test_arguments_that_are_kept_by_name(tmp_path: Path) -> None:
    Pair = namedtuple("Pair", "left right")

    @dataclass
    class Config:
        size: int
        inner: object

    given = (
        Colour.RED,
        Pair(1, [2]),
        Config(3, Pair(None, "x")),
        np.float32(0.5),
        np.dtype("int16"),
        object(),
        len,
        int,
        bytes,
    )
    args = saved(arguments(*given), tmp_path)._state.records.calls[0].args
    assert list(map(repr, args)) == [
        "Colour.RED",
        "Pair(left=1, right=[2])",
        "Config(size=3, inner=Pair(left=None, right='x'))",
        "0.5",
        "int16",
        "<object>",
        "<builtin_function_or_method>",
        "int",
        "<type>",
    ]


def test_a_container_that_holds_itself(tmp_path: Path) -> None:
    ring: list[object] = [1]
    ring += [ring, [ring]]
    assert repr(saved(arguments(ring), tmp_path)._state.records.calls[0].args[0]) == "[1, <list>, [<list>]]"


def test_deep_nesting_ends_somewhere(tmp_path: Path) -> None:
    deep: object = 1
    for _ in range(5000):
        deep = [deep]
    text = repr(saved(arguments(deep), tmp_path)._state.records.calls[0].args[0])
    assert text == "[" * 50 + "<list>" + "]" * 50


def test_nothing_is_pickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("pickle")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(f"pickle.{name}", refuse)
    trace = network()
    assert everything(saved(trace, tmp_path))["labels"] == everything(trace)["labels"]


def test_arguments_that_were_orphans(tmp_path: Path) -> None:
    builder = TraceBuilder()
    x = builder.source("input", "x", (2,), "float32", "cpu", False)
    zeros = builder.call("zeros", "zeros", None, ((2,),), None, (), (), 1, False)
    alone = builder.output(zeros, 0, (), (2,), "float32", "cpu", False, None, value(2))
    add = builder.call("add", "add", None, (alone, [AliasRead(alone, (), None)]), None, (), (), 1, False)
    builder.output(add, 0, (alone.index,), (2,), "float32", "cpu", False, None, None)
    builder.source("output", "", (2,), "float32", "cpu", False, None, (x.index,))
    loaded = saved(builder.finish(info()), tmp_path)
    assert [op.label for op in loaded.ops] == ["input_1:1", "output_1:1"]
    assert repr(loaded._state.records.calls[1].args) == "(<orphan>, [<orphan>])"


def test_annotations_come_back(tmp_path: Path) -> None:
    trace = network()
    trace.annotations["advice"] = [{"kind": "x", "count": 2}]
    assert saved(trace, tmp_path).annotations == {"advice": [{"kind": "x", "count": 2}]}


def test_labels_are_stored_and_not_derived_again(tmp_path: Path) -> None:
    trace = trace_of(None, None, None)
    grouped = Trace(trace._state.records, replace(trace._state.info, groups=((0, 1), (1, 1), (2, 1), (1, 2), (3, 1))))
    assert [op.label for op in grouped.ops] == ["input_1:1", "relu_1_1:1", "relu_2_2:1", "relu_1_1:2", "output_1:1"]
    assert [op.label for op in saved(grouped, tmp_path).ops] == [op.label for op in grouped.ops]


CODED = {"func", "reference", "index", "site"}
"""Fields that stand in no column: they are gone on a loaded trace, are the row itself, or only serve to find layers,
which a bundle holds."""
TABLES = [
    (records.OpRecord, columns.OpColumns, set()),
    (records.CallRecord, columns.CallColumns, {"frames"}),
    (records.ModuleCallRecord, columns.ModuleCallColumns, set()),
    (records.ModuleRecord, columns.ModuleColumns, set()),
    (records.ParamRecord, columns.ParamColumns, set()),
    (records.BufferRecord, columns.BufferColumns, set()),
    (records.ReadRecord, columns.ReadColumns, {"frames"}),
    (records.GapRecord, columns.GapColumns, {"frames"}),
    (AtenOp, AtenColumns, set()),
]


@pytest.mark.parametrize(("record", "table", "renamed"), TABLES, ids=lambda kind: getattr(kind, "__name__", ""))
def test_every_field_of_every_record_has_a_column(record: type, table: type, renamed: set[str]) -> None:
    missing = set(record.__struct_fields__) - set(table.__struct_fields__) - CODED - renamed
    assert not missing, "a bundle would lose these: give each a column, or list it as lost on purpose"
    if renamed:
        assert "stack" in table.__struct_fields__


def test_every_list_of_records_has_a_table() -> None:
    rest = set(records.Records.__slots__) - set(columns.Tables.__struct_fields__)
    assert [name for name in rest if not isinstance(getattr(records.Records(), name), int)] == []


def test_a_profile_of_operators_comes_back(tmp_path: Path) -> None:
    trace = network()
    loaded = saved(trace, tmp_path)
    assert [row.label for row in loaded.aten_ops] == ["aten::addmm.default#3", "aten::add_.Tensor#4"]
    assert loaded.aten_ops[0].out == value(2)
    assert loaded.aten_ops[1].out is None
    assert [row.operator for row in loaded.aten_gaps] == ["add_"]
    assert not saved_audit(trace, tmp_path).aten_ops[0].out


def saved_audit(trace: Trace, folder: Path) -> Trace:
    return tl_core.load(trace.save(folder / "audit.tlspec", level="audit"))


def test_flags_and_counts_come_back(tmp_path: Path) -> None:
    trace = trace_of(None)
    assert saved(trace, tmp_path)._state.records.witnessed is False
    trace._state.records.witnessed = True
    assert tl_core.load(trace.save(tmp_path / "b.tlspec"))._state.records.witnessed is True


def test_loading_imports_no_framework(tmp_path: Path) -> None:
    path = trace_of(value(2), backend="torch_that_is_not_here").save(tmp_path / "a.tlspec", level="audit")
    code = f"import sys, tl_core; tl_core.load({str(path)!r}); print('torch' in sys.modules, 'jax' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "False"]
