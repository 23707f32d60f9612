"""A bundle that cannot be written or read: which refusal, and what it says."""

from __future__ import annotations

import errno
import json
import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from bundles import Value, everything, network, trace_of, value

import tl_core
from tl_core import (
    ArgumentTypeError,
    ArtifactError,
    BackendCapabilityConformanceError,
    BackendUnsupportedError,
    ConfigurationError,
    MissingDependencyError,
)
from tl_core._manifest import decode_manifest, encode_manifest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return network().save(tmp_path / "a.tlspec")


def refused(path: object, **options: object) -> ArtifactError:
    with pytest.raises(ArtifactError) as caught:
        tl_core.load(path, **options)
    assert caught.value.remedy
    assert isinstance(caught.value, OSError)
    return caught.value


def refused_save(path: Path, **options: object) -> ArtifactError:
    before = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    with pytest.raises(ArtifactError) as caught:
        network().save(path, **options)
    assert caught.value.remedy
    assert (sorted(path.parent.iterdir()) if path.parent.is_dir() else []) == before
    return caught.value


# loading


def test_no_such_bundle(tmp_path: Path) -> None:
    error = refused(tmp_path / "b.tlspec")
    assert error.code == "manifest_missing"
    assert f"There is no bundle {tmp_path / 'b.tlspec'}." in str(error)


def test_a_file_in_place_of_the_bundle(tmp_path: Path) -> None:
    (tmp_path / "b.tlspec").write_bytes(b"zip")
    assert refused(tmp_path / "b.tlspec").code == "bundle_foreign"


def test_an_empty_directory(tmp_path: Path) -> None:
    error = refused(tmp_path)
    assert error.code == "manifest_missing"
    assert "manifest.json" in str(error)


@pytest.mark.parametrize("name", ["tables.json", "payloads.safetensors"])
def test_a_missing_file(name: str, bundle: Path) -> None:
    (bundle / name).unlink()
    error = refused(bundle)
    assert error.code == "file_missing"
    assert str(bundle / name) in str(error)
    assert "copy the bundle again" in error.remedy


@pytest.mark.parametrize("name", ["tables.json", "payloads.safetensors"])
def test_a_truncated_file(name: str, bundle: Path) -> None:
    content = (bundle / name).read_bytes()
    (bundle / name).write_bytes(content[:-1])
    error = refused(bundle)
    assert error.code == "file_truncated"
    assert f"{bundle / name} has {len(content) - 1} bytes, and {len(content)} were saved." in str(error)
    assert error.fields["expected"] == len(content)


@pytest.mark.parametrize("name", ["tables.json", "payloads.safetensors"])
def test_a_file_that_grew(name: str, bundle: Path) -> None:
    (bundle / name).write_bytes((bundle / name).read_bytes() + b" ")
    assert refused(bundle).code == "file_altered"


def test_altered_tables(bundle: Path) -> None:
    text = (bundle / "tables.json").read_bytes()
    (bundle / "tables.json").write_bytes(text.replace(b'"linear"', b'"lineaR"'))
    error = refused(bundle)
    assert error.code == "file_altered"
    assert str(bundle / "tables.json") in str(error)


def test_an_altered_header_of_the_payloads(bundle: Path) -> None:
    content = (bundle / "payloads.safetensors").read_bytes()
    assert content.count(b'"F32"') > 1
    (bundle / "payloads.safetensors").write_bytes(content.replace(b'"F32"', b'"I32"', 1))
    assert refused(bundle).code == "file_altered"


def test_an_altered_value_is_found_when_it_is_read(tmp_path: Path) -> None:
    bundle = trace_of(value(2), value(2, start=7)).save(tmp_path / "a.tlspec")
    content = bytearray((bundle / "payloads.safetensors").read_bytes())
    content[-1] ^= 1
    (bundle / "payloads.safetensors").write_bytes(content)
    loaded = tl_core.load(bundle)
    assert loaded.ops[1].out == value(2)
    with pytest.raises(ArtifactError) as caught:
        _ = loaded.ops[2].out
    assert caught.value.code == "file_altered"
    assert "'relu_2_2:1'" in str(caught.value)
    assert str(bundle / "payloads.safetensors") in str(caught.value)
    assert refused(bundle, lazy=False).code == "file_altered"


def test_a_value_altered_after_it_was_read(tmp_path: Path) -> None:
    bundle = trace_of(value(2)).save(tmp_path / "a.tlspec")
    loaded = tl_core.load(bundle)
    assert loaded.ops[1].out == value(2)
    file = bundle / "payloads.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    with file.open("r+b") as opened:
        opened.write(content)
    os.utime(file, ns=(0, 1))
    with pytest.raises(ArtifactError, match="not the ones that were saved"):
        _ = loaded.ops[1].out


def test_a_file_cut_after_loading_does_not_kill_the_process(tmp_path: Path) -> None:
    bundle = trace_of(Value(np.zeros(10**6))).save(tmp_path / "a.tlspec")
    loaded = tl_core.load(bundle)
    assert loaded.ops[1].out.array.size == 10**6
    os.truncate(bundle / "payloads.safetensors", 5000)
    with pytest.raises(ArtifactError) as caught:
        _ = loaded.ops[1].out
    assert caught.value.code == "file_truncated"


def test_a_bundle_removed_after_loading_still_gives_its_values(bundle: Path) -> None:
    loaded = tl_core.load(bundle)
    for file in bundle.iterdir():
        file.unlink()
    assert loaded.ops[2].out == value(2, 3)


@pytest.mark.parametrize("cut", [0, 1, 100, 900])
def test_a_truncated_manifest(cut: int, bundle: Path) -> None:
    content = (bundle / "manifest.json").read_bytes()
    (bundle / "manifest.json").write_bytes(content[:cut])
    assert refused(bundle).code == "manifest_unreadable"


def test_an_altered_manifest(bundle: Path) -> None:
    text = (bundle / "manifest.json").read_text()
    (bundle / "manifest.json").write_text(text.replace('"ops": 7', '"ops": 8'))
    error = refused(bundle)
    assert error.code == "manifest_unreadable"
    assert "its checksum does not match" in str(error)


def test_a_manifest_without_its_checksum(bundle: Path) -> None:
    facts = json.loads((bundle / "manifest.json").read_text())
    del facts["manifest_sha256"]
    (bundle / "manifest.json").write_text(json.dumps(facts))
    assert "does not end with its checksum" in str(refused(bundle))


def test_a_newer_bundle(bundle: Path) -> None:
    newer = {"format": "tlspec", "format_version": 2, "packages": {"tl-core": "7.1"}, "unknown": [1]}
    (bundle / "manifest.json").write_text(json.dumps(newer))
    error = refused(bundle)
    assert error.code == "bundle_newer"
    assert (error.fields["expected"], error.fields["found"]) == (1, 2)
    assert "tl-core 7.1" in str(error)
    assert error.remedy == "pip install -U tl-core"


def test_a_manifest_of_another_program(bundle: Path) -> None:
    (bundle / "manifest.json").write_text('{"name": "a web page", "icons": []}')
    assert refused(bundle).code == "bundle_foreign"
    (bundle / "manifest.json").write_text("[1, 2]")
    assert refused(bundle).code == "manifest_unreadable"


def test_a_bundle_of_the_older_format(bundle: Path) -> None:
    (bundle / "manifest.json").write_text('{"tlspec_version": 9, "torchlens_version": "2.36.1"}')
    error = refused(bundle)
    assert error.code == "bundle_foreign"
    assert "older format 9, which holds pickled objects" in str(error)
    assert "trace the model again" in error.remedy


def signed(bundle: Path, **changes: object) -> None:
    """Change the manifest as somebody would who can compute its checksum."""
    manifest = decode_manifest((bundle / "manifest.json").read_bytes())
    for entry in manifest.files:
        for name, change in changes.items():
            setattr(entry, name, change)
    (bundle / "manifest.json").write_bytes(encode_manifest(manifest))


@pytest.mark.parametrize(
    "name",
    [
        "../a.json",
        "/etc/passwd",
        "..",
        ".",
        "",
        "sub/tables.json",
        "C:\\x",
        "tables.json\x00",
        "tables.json\n",
        ".part",
    ],
)
def test_names_cannot_leave_the_directory(name: str, bundle: Path) -> None:
    (bundle.parent / "a.json").write_bytes((bundle / "tables.json").read_bytes())
    signed(bundle, name=name)
    assert refused(bundle).code == "manifest_unreadable"


def test_links_are_not_followed(bundle: Path) -> None:
    (bundle / "tables.json").rename(bundle.parent / "elsewhere.json")
    (bundle / "tables.json").symlink_to(bundle.parent / "elsewhere.json")
    error = refused(bundle)
    assert error.code == "file_foreign"
    assert str(bundle / "tables.json") in str(error)


def test_a_pipe_does_not_make_the_reader_wait(bundle: Path) -> None:
    (bundle / "manifest.json").unlink()
    os.mkfifo(bundle / "manifest.json")
    assert refused(bundle).code == "file_foreign"


def test_a_directory_in_place_of_a_file(bundle: Path) -> None:
    (bundle / "tables.json").unlink()
    (bundle / "tables.json").mkdir()
    assert refused(bundle).code == "file_foreign"


def test_a_size_is_not_believed(bundle: Path) -> None:
    signed(bundle, size=10**15)
    assert refused(bundle).code == "file_truncated"


def test_a_bundle_may_itself_be_reached_by_a_link(bundle: Path) -> None:
    link = bundle.parent / "link.tlspec"
    link.symlink_to(bundle)
    assert everything(tl_core.load(link)) == everything(tl_core.load(bundle))


def test_a_device_that_is_not_here(tmp_path: Path) -> None:
    bundle = trace_of(Value(np.zeros(2), device="gpu:1")).save(tmp_path / "a.tlspec")
    error = refused(bundle)
    assert error.code == "device_unavailable"
    assert "'gpu:1'" in str(error)
    assert "there is no gpu here" in str(error)
    assert error.remedy == "tl.load(path, map_location='cpu')"
    moved = tl_core.load(bundle, map_location="cpu")
    assert moved.ops[1].out == Value(np.zeros(2))
    assert moved.ops[1].device == "gpu:1"


def test_a_framework_that_is_not_installed(tmp_path: Path) -> None:
    loaded = tl_core.load(trace_of(value(2)).save(tmp_path / "a.tlspec"))
    payload = loaded._state.records.ops[1].payload
    payload._backend_name = "absent"
    with pytest.raises(MissingDependencyError, match="a_framework_that_is_absent"):
        payload.materialize()


def test_a_trace_is_loaded_and_saved_without_its_framework(tmp_path: Path) -> None:
    loaded = tl_core.load(trace_of(value(2)).save(tmp_path / "a.tlspec"))
    object.__setattr__(loaded._state.info, "backend", "absent")
    loaded._state.records.ops[1].payload._backend_name = "absent"
    again = tl_core.load(loaded.save(tmp_path / "b.tlspec"))
    assert again.ops[1].label == "relu_1_1:1"
    again._state.records.ops[1].payload._backend_name = "numpy"
    assert again.ops[1].out == value(2)


# saving


@pytest.mark.parametrize("level", ["runnable", "Portable", "", None, 3])
def test_unknown_levels(level: object, tmp_path: Path) -> None:
    error = refused_save(tmp_path / "a.tlspec", level=level)
    assert error.code == "artifact_save_level_unsupported"
    assert "'audit', 'portable', 'executable_with_callables'" in str(error)
    assert ("of a later release" in str(error)) == (level == "runnable")


def test_a_backend_whose_functions_have_no_names(tmp_path: Path) -> None:
    with pytest.raises(BackendUnsupportedError, match="cannot find functions again") as caught:
        network().save(tmp_path / "a.tlspec", level="executable_with_callables")
    assert caught.value.code == "backend_validation_replay_unsupported"
    assert list(tmp_path.iterdir()) == []


def test_an_existing_bundle_is_kept(bundle: Path) -> None:
    before = {file.name: file.read_bytes() for file in bundle.iterdir()}
    error = refused_save(bundle)
    assert error.code == "bundle_exists"
    assert "overwrite=True" in error.remedy
    assert {file.name: file.read_bytes() for file in bundle.iterdir()} == before


def test_an_existing_path_is_refused_before_any_work(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = network()
    monkeypatch.setattr("tl_core._state.State.grouping", property(lambda self: pytest.fail("work was done")))
    for options in ({}, {"level": "runnable"}):
        with pytest.raises(ArtifactError):
            trace.save(bundle, **options)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_is_never_replaced(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "a.tlspec").write_text("mine")
    error = refused_save(tmp_path / "a.tlspec", overwrite=overwrite)
    assert error.code == ("bundle_foreign" if overwrite else "bundle_exists")
    assert (tmp_path / "a.tlspec").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("manifest.json", '{"name": "a web page", "icons": []}'),
        ("manifest.json", "a packing list"),
        ("tables.json", "[]"),
        ("payloads.safetensors", "weights"),
    ],
)
def test_a_directory_whose_files_are_only_called_like_ours_is_never_replaced(
    name: str, text: str, tmp_path: Path
) -> None:
    other = tmp_path / "site"
    other.mkdir()
    (other / name).write_text(text)
    error = refused_save(other, overwrite=True)
    assert error.code == "bundle_foreign"
    assert error.fields["foreign"] == [name]
    assert (other / name).read_text() == text


@pytest.mark.parametrize("overwrite", ["no", 0, 1, None])
def test_overwrite_is_true_or_false(overwrite: object, bundle: Path) -> None:
    before = (bundle / "manifest.json").read_bytes()
    with pytest.raises(ArgumentTypeError) as caught:
        network().save(bundle, overwrite=overwrite)
    assert caught.value.code == "overwrite_invalid"
    assert f"trace.save(overwrite={overwrite!r}): True or False is meant." in str(caught.value)
    assert (bundle / "manifest.json").read_bytes() == before


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    error = refused_save(tmp_path / ("x" * 300))
    assert (error.code, error.remedy) == ("path_invalid", "choose a shorter name")


@pytest.mark.parametrize(
    ("location", "what"),
    [
        ({"cuda:0": "cpu"}, "the name of one device is meant."),
        (3, "the name of one device is meant."),
        (True, "the name of one device is meant."),
        (len, "the name of one device is meant, and not a function."),
        ("", "it names no device."),
        ("meta", "values on this device are lost."),
    ],
)
def test_values_are_put_on_one_device_that_keeps_them(location: object, what: str, bundle: Path) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        tl_core.load(bundle, map_location=location)
    assert caught.value.code == "map_location_invalid"
    assert f"tl.load(map_location={location!r}): {what}" in str(caught.value)


def test_a_directory_with_other_files_is_never_replaced(bundle: Path) -> None:
    (bundle / "notes.txt").write_text("mine")
    error = refused_save(bundle, overwrite=True)
    assert error.code == "bundle_foreign"
    assert error.fields["foreign"] == ["notes.txt"]
    assert (bundle / "notes.txt").read_text() == "mine"
    assert len(tl_core.load(bundle).ops) == 7


def test_a_parent_that_does_not_exist(tmp_path: Path) -> None:
    error = refused_save(tmp_path / "no" / "a.tlspec")
    assert error.code == "directory_missing"
    assert f"mkdir -p {tmp_path / 'no'}" in error.remedy
    assert not (tmp_path / "no").exists()


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    error = refused_save(tmp_path / "file" / "a.tlspec")
    assert error.code == "directory_missing"
    assert str(error) == (
        f"{tmp_path / 'file'} is a file, so a.tlspec cannot be saved in it.\n  What to do: choose a directory"
    )


@pytest.mark.parametrize(
    ("path", "kind", "given"),
    [
        (None, ArgumentTypeError, "None (NoneType)"),
        (3, ArgumentTypeError, "3 (int)"),
        (b"run.tlspec", ArgumentTypeError, "b'run.tlspec' (bytes)"),
        ("", ConfigurationError, "an empty path"),
        ("a\0b", ConfigurationError, "a path with a null character"),
    ],
)
def test_what_is_no_path(path: object, kind: type, given: str) -> None:
    for name, call in (("trace.save", trace_of(value(2)).save), ("tl.load", tl_core.load)):
        with pytest.raises(kind) as caught:
            call(path)
        assert caught.value.code == "path_invalid"
        assert str(caught.value) == (
            f'{name} takes the path of a bundle, and was given {given}.\n  What to do: {name}("run.tlspec")'
        )


def test_a_truth_value_that_is_none(bundle: Path) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        tl_core.load(bundle, lazy="no")
    assert caught.value.code == "lazy_invalid"
    assert str(caught.value) == (
        "tl.load(lazy='no'): True or False is meant.\n  What to do: tl.load(path, lazy=False) reads all values now"
    )


def test_a_directory_that_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "a.tlspec").mkdir()
    error = refused_save(tmp_path / "a.tlspec")
    assert error.code == "bundle_exists"
    assert str(error) == (
        f"{tmp_path / 'a.tlspec'} exists already, and is no bundle.\n  What to do: save under another name"
    )


def test_a_directory_that_takes_no_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path)  # what /proc says

    monkeypatch.setattr("os.mkdir", refuse)
    error = refused_save(tmp_path / "a.tlspec")
    assert error.code == "directory_missing"
    assert error.remedy == "create its directory first, or choose one that takes new files"


def test_a_parent_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)  # a superuser may write everywhere
    assert refused_save(tmp_path / "a.tlspec").code == "permission_denied"


def test_a_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr("os.mkdir", refuse)
    error = refused_save(tmp_path / "a.tlspec")
    assert error.code == "permission_denied"
    assert error.fields["errno"] == errno.EROFS


def test_a_dtype_that_no_bundle_holds(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError) as caught:
        trace_of(Value(np.zeros(2, "M8[s]"))).save(tmp_path / "a.tlspec")
    assert caught.value.code == "payload_dtype_unsupported"
    assert "'relu_1_1:1' has dtype datetime64[s]" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_backend_that_delivers_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from numpy_backend import NumpyBackend

    honest = NumpyBackend.to_host
    monkeypatch.setattr(NumpyBackend, "to_host", lambda self, given: honest(self, Value(given.array[:1])))
    with pytest.raises(BackendCapabilityConformanceError, match=r"announced 'relu_1_1:1' as float32\[2\]"):
        trace_of(value(2)).save(tmp_path / "a.tlspec")
    assert list(tmp_path.iterdir()) == []


def test_more_values_than_a_header_can_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tl_core._safetensors.MAX_HEADER_BYTES", 200)
    with pytest.raises(ArtifactError) as caught:
        trace_of(*[value(2) for _ in range(9)]).save(tmp_path / "a.tlspec")
    assert caught.value.code == "too_many_payloads"
    assert list(tmp_path.iterdir()) == []


def test_too_many_open_files_are_told_as_such(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("tl_core._bundle_file.os.open", full)
    error = refused(bundle)
    assert error.code == "too_many_files"
    assert "ulimit -n" in error.remedy
