"""Damaged bundles: every one is refused or gives the right values, and none crashes the reader."""

from __future__ import annotations

import hashlib
import shutil
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pytest
from bundles import Value, everything, network, trace_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tl_core
from tl_core import ArtifactError, PayloadUnavailableError
from tl_core._manifest import decode_manifest, encode_manifest
from tl_core._safetensors import DTYPES, HeaderError, decode_header, encode_header, header_length

NAMES = ("manifest.json", "tables.json", "payloads.safetensors")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    trace = network()
    path = trace.save(tmp_path_factory.mktemp("fuzz") / "a.tlspec")
    return path, everything(tl_core.load(path))


def refused_or_right(path: Path, expected: dict[str, object]) -> bool:
    """Load a bundle both ways and read all values; True where it was refused."""
    errors: list[ArtifactError] = []
    for lazy in (True, False):
        try:
            found = everything(tl_core.load(path, lazy=lazy))
        except ArtifactError as error:
            errors.append(error)
        else:
            assert found == expected
    for error in errors:
        assert str(path) in str(error)
        assert error.remedy
    assert len(errors) in {0, 2}
    return len(errors) == 2


@given(name=st.sampled_from(NAMES), where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
@settings(max_examples=300)
def test_flipped_bytes(whole: tuple[Path, dict[str, object]], name: str, where: float, flip: int) -> None:
    path, expected = whole
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(path, Path(folder) / "b.tlspec"))
        content = bytearray((copy / name).read_bytes())
        content[int(where * len(content))] ^= flip
        (copy / name).write_bytes(content)
        assert refused_or_right(copy, expected)


@given(name=st.sampled_from(NAMES), where=st.floats(0, 1, exclude_max=True), tail=st.binary(max_size=20))
@settings(max_examples=150)
def test_cut_files_with_other_ends(whole: tuple[Path, dict[str, object]], name: str, where: float, tail: bytes) -> None:
    path, expected = whole
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(path, Path(folder) / "b.tlspec"))
        content = (copy / name).read_bytes()
        changed = content[: int(where * len(content))] + tail
        (copy / name).write_bytes(changed)
        assert refused_or_right(copy, expected) == (changed != content)


def test_an_untouched_copy_is_right(whole: tuple[Path, dict[str, object]]) -> None:
    path, expected = whole
    assert refused_or_right(path, expected) is False


# what somebody can write who knows how to compute checksums


def sign(path: Path, **contents: bytes) -> None:
    """Replace files and write a manifest that vouches for them."""
    manifest = decode_manifest((path / "manifest.json").read_bytes())
    for entry in manifest.files:
        content = contents.get(entry.role)
        if content is not None:
            (path / entry.name).write_bytes(content)
            entry.size, entry.sha256 = len(content), hashlib.sha256(content).hexdigest()
            if entry.role == "payloads":
                length = 8 + int.from_bytes(content[:8], "little")
                entry.header_sha256 = hashlib.sha256(content[:length]).hexdigest()
    (path / "manifest.json").write_bytes(encode_manifest(manifest))


def touch_everything(path: Path) -> None:
    """Load a bundle and look at all of it; only refusals may come."""
    try:
        everything(tl_core.load(path))
    except (ArtifactError, PayloadUnavailableError):
        return


JSON_PIECES = [
    b"-1",
    b"0",
    b"7",
    b"99999999",
    b"null",
    b"[]",
    b"{}",
    b'"x"',
    b"[[0]]",
    b"1e9",
    b"true",
    b"18446744073709551616",
]


@given(where=st.integers(0, 10**6), piece=st.sampled_from(JSON_PIECES))
@settings(max_examples=400)
def test_forged_numbers(whole: tuple[Path, dict[str, object]], where: int, piece: bytes) -> None:
    path, _ = whole
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(path, Path(folder) / "b.tlspec"))
        text = (copy / "tables.json").read_bytes()
        starts = [
            index
            for index in range(1, len(text))
            if text[index : index + 1].isdigit() and not text[index - 1 : index].isalnum()
        ]
        start = starts[where % len(starts)]
        stop = start + 1
        while text[stop : stop + 1].isdigit():
            stop += 1
        sign(copy, tables=text[:start] + piece + text[stop:])
        touch_everything(copy)


@given(tables=st.binary(max_size=50))
@example(tables=b'{"strings":' + b"[" * 100_000)
@example(tables=b"{}")
@settings(max_examples=30)
def test_forged_tables(whole: tuple[Path, dict[str, object]], tables: bytes) -> None:
    path, _ = whole
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(path, Path(folder) / "b.tlspec"))
        sign(copy, tables=tables)
        with pytest.raises(ArtifactError) as caught:
            tl_core.load(copy)
        assert caught.value.code == "tables_unreadable"
        assert str(copy / "tables.json") in str(caught.value)


LIES = {
    "an op of a later op": ("ops", "parents", 2, [5]),
    "an op of itself": ("ops", "parents", 2, [2]),
    "an op of nothing": ("ops", "parents", 2, [99]),
    "an op without its call": ("ops", "call", 2, -1),
    "an input with a call": ("ops", "call", 0, 0),
    "a call that is not there": ("ops", "call", 2, 99),
    "a kind that is not there": ("ops", "kind", 2, 5),
    "a shape that is not there": ("ops", "shape", 2, -1),
    "a value that is not there": ("ops", "payload", 2, 99),
    "a module call in a later one": ("module_calls", "parent", 0, 1),
    "a module that is not there": ("module_calls", "module", 0, 9),
    "a child that is not there": ("modules", "children", 0, [2]),
    "an argument that is not there": ("calls", "args", 0, [{"is": "op", "index": 99}]),
    "an argument before the first op": ("calls", "args", 0, [{"is": "op", "index": -1}]),
    "an argument of no kind": ("calls", "args", 0, [{"is": "code", "text": "1"}]),
    "bytes that are none": ("calls", "args", 0, [{"is": "text", "kind": "bytes", "text": "!"}]),
    "a layer too early": (None, "layer", 1, 5),
    "a pass too early": (None, "layer_pass", 1, 2),
    "a test of no kind": ("info", "outcome", None, "perhaps"),
    "returned parameters for one op alone": ("ops", "own_params", None, [[]]),
}


@pytest.mark.parametrize("lie", LIES)
def test_tables_that_contradict_themselves(whole: tuple[Path, dict[str, object]], lie: str, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(whole[0], tmp_path / "b.tlspec"))
    tables = msgspec.json.decode((copy / "tables.json").read_bytes())
    table, column, row, value = LIES[lie]
    target = tables if table is None else tables[table]
    if row is None:
        target[column] = value
    else:
        assert target[column][row] != value
        target[column][row] = value
    sign(copy, tables=msgspec.json.encode(tables))
    with pytest.raises(ArtifactError) as caught:
        tl_core.load(copy)
    assert caught.value.code == "tables_unreadable"


def test_a_returned_parameter_that_is_not_there(whole: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(whole[0], tmp_path / "b.tlspec"))
    tables = msgspec.json.decode((copy / "tables.json").read_bytes())
    tables["ops"]["own_params"] = [[] for _ in tables["ops"]["kind"]]
    tables["ops"]["own_params"][-1] = [99]
    sign(copy, tables=msgspec.json.encode(tables))
    with pytest.raises(ArtifactError, match=r"ops.own_params points to 99"):
        tl_core.load(copy)


def test_a_bundle_from_before_outputs_had_parameters(whole: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(whole[0], tmp_path / "b.tlspec"))
    tables = msgspec.json.decode((copy / "tables.json").read_bytes())
    assert tables["ops"].pop("own_params") == []
    sign(copy, tables=msgspec.json.encode(tables))
    loaded = tl_core.load(copy)
    assert [op.params for op in loaded.outputs] == [()] * len(loaded.outputs)
    assert len(loaded) == len(tables["ops"]["kind"])


@pytest.mark.parametrize("column", ["kind", "parents", "module"])
def test_columns_of_different_lengths(whole: tuple[Path, dict[str, object]], column: str, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(whole[0], tmp_path / "b.tlspec"))
    tables = msgspec.json.decode((copy / "tables.json").read_bytes())
    for change in (list.pop, lambda rows: rows.extend([*rows, rows[-1], rows[-1]])):
        change(tables["ops"][column])
        sign(copy, tables=msgspec.json.encode(tables))
        with pytest.raises(ArtifactError, match="columns of OpColumns have"):
            tl_core.load(copy)


def test_a_value_with_a_forged_checksum(tmp_path: Path) -> None:
    """The digest of the whole file holds even where somebody changed the checksum of one value."""
    path = trace_of(Value(np.zeros(4))).save(tmp_path / "a.tlspec")
    content = bytearray((path / "payloads.safetensors").read_bytes())
    content[-1] = 1
    (path / "payloads.safetensors").write_bytes(content)
    tables = msgspec.json.decode((path / "tables.json").read_bytes())
    tables["payloads"]["checksum"] = [zlib.crc32(content[-32:])]
    sign(path, tables=msgspec.json.encode(tables))
    with pytest.raises(ArtifactError) as caught:
        tl_core.load(path, lazy=False)
    assert caught.value.code == "file_altered"


@pytest.mark.parametrize("strides", [(1, 1000), (4, 3), (1,), (2**62, 2**62), ()])
def test_forged_strides(tmp_path: Path, strides: tuple[int, ...]) -> None:
    base = np.arange(12, dtype=np.float32).reshape(4, 3)
    path = trace_of(Value(base), Value(base.T)).save(tmp_path / "a.tlspec")
    text = (path / "tables.json").read_bytes()
    assert text.count(b'"strides":[null,[1,3]]') == 1
    sign(path, tables=text.replace(b"[null,[1,3]]", msgspec.json.encode([None, strides])))
    with pytest.raises(ArtifactError, match="does not fit into its region"):
        tl_core.load(path)


def forged_header(entries: object) -> bytes:
    text = msgspec.json.encode(entries)
    return len(text).to_bytes(8, "little") + text


BAD_HEADERS = {
    "a hole": {"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}},
    "an overlap": {
        "a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
        "b": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]},
    },
    "too short": {"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 2]}},
    "beyond the end": {"a": {"dtype": "U8", "shape": [1000], "data_offsets": [0, 1000]}},
    "backwards": {"a": {"dtype": "U8", "shape": [-2], "data_offsets": [2, 0]}},
    "two negatives": {"a": {"dtype": "U8", "shape": [-2, -1], "data_offsets": [0, 2]}},
    "huge": {"a": {"dtype": "U8", "shape": [2**40, 2**40], "data_offsets": [0, 2**80]}},
    "an unknown type": {"a": {"dtype": "P8", "shape": [2], "data_offsets": [0, 2]}},
    "unused bytes": {},
    "no object": [1],
    "one offset": {"a": {"dtype": "U8", "shape": [2], "data_offsets": [2]}},
}


@pytest.mark.parametrize("name", BAD_HEADERS)
def test_bad_headers(name: str) -> None:
    try:
        header = forged_header(BAD_HEADERS[name])
    except OverflowError:
        header = b"\x00" * 8 + b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,%d]}}' % 2**80
    with pytest.raises(HeaderError):
        decode_header(header, len(header) + 2)


def test_a_good_header_for_comparison() -> None:
    header = forged_header({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})
    assert decode_header(header, len(header) + 2) == [("a", 0, 2)]


@pytest.mark.parametrize("prefix", [b"", b"\x01\x02", (2**63).to_bytes(8, "little"), (1000).to_bytes(8, "little")])
def test_a_header_length_is_not_believed(prefix: bytes) -> None:
    with pytest.raises(HeaderError):
        header_length(prefix, 500)


@given(text=st.binary(max_size=200), size=st.integers(0, 300))
@settings(max_examples=200)
def test_any_bytes_as_header(text: bytes, size: int) -> None:
    try:
        regions = decode_header(len(text).to_bytes(8, "little") + text, size)
    except HeaderError:
        return
    assert sum(region.stop - region.start for region in regions) == size - len(text) - 8


shapes = st.lists(st.integers(0, 5), max_size=3).map(tuple)


@given(values=st.lists(st.tuples(st.sampled_from(sorted(DTYPES)), shapes), max_size=6))
def test_headers_come_back(values: list[tuple[str, tuple[int, ...]]]) -> None:
    header = encode_header([(f"v{index}", *value) for index, value in enumerate(values)], {"note": "x"})
    sizes = [int(np.prod(shape, dtype=int)) * DTYPES[dtype].itemsize for dtype, shape in values]
    regions = decode_header(header, len(header) + sum(sizes))
    assert len(header) % 8 == 0
    assert {region.name: region.stop - region.start for region in regions} == {
        f"v{index}": size for index, size in enumerate(sizes)
    }


def views(draw: st.DrawFn) -> list[Value]:
    """Views of a few arrays, in every manner of slicing, transposing and reinterpreting."""
    bases = [np.arange(start, start + 48, dtype=np.int16).reshape(4, 3, 4) for start in (0, 100)]
    found = []
    for _ in range(draw(st.integers(1, 6))):
        array = draw(st.sampled_from(bases))
        array = array.transpose(draw(st.permutations(range(3))))
        slices = st.slices(4)
        array = array[tuple(draw(slices) for _ in range(draw(st.integers(0, 3))))]
        if array.flags.c_contiguous and array.size and draw(st.booleans()):
            array = array.reshape(-1).view(np.uint8)
        found.append(Value(array))
    return found


@given(values=st.composite(views)())
@settings(max_examples=150)
def test_any_views_come_back(values: list[Value]) -> None:
    with TemporaryDirectory() as folder:
        path = trace_of(*values).save(Path(folder) / "a.tlspec")
        for lazy in (True, False):
            assert [op.out for op in tl_core.load(path, lazy=lazy).ops][1:-1] == values
