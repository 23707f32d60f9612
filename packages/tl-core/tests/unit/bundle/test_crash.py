"""A save that is killed, or whose disk fills up, leaves what was there before."""

from __future__ import annotations

import errno
import io
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import bundles
import numpy as np
import pytest
from bundles import Value, everything, network, trace_of, value

import tl_core
from tl_core import ArtifactError
from tl_core import _bundle_stage as stage

SUPPORT = Path(bundles.__file__).parent


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def kill_in_the_middle(path: Path) -> None:
    command = [sys.executable, str(SUPPORT / "save_and_stall.py"), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "stalling\n"
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL


def test_kill_while_a_new_bundle_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.tlspec"
    kill_in_the_middle(path)
    assert not path.exists()
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".a.tlspec.")
    assert sum(map(len, files(left).values())) > 7_000_000
    with pytest.raises(ArtifactError, match="There is no bundle"):
        tl_core.load(path)
    with pytest.raises(ArtifactError) as half_written:
        tl_core.load(left)
    assert half_written.value.code == "manifest_missing"
    network().save(path)
    assert list(tmp_path.iterdir()) == [path]  # the remains are gone


def test_kill_while_a_bundle_is_replaced(tmp_path: Path) -> None:
    path = network().save(tmp_path / "a.tlspec")
    before = everything(tl_core.load(path))
    kill_in_the_middle(path)
    assert list(tmp_path.iterdir()) == [path]
    assert 3 < len(list(path.iterdir())) <= 6
    assert everything(tl_core.load(path, lazy=False)) == before
    trace_of(value(3)).save(path, overwrite=True)
    assert len(list(path.iterdir())) == 3
    assert tl_core.load(path).ops[1].out == value(3)


@pytest.mark.parametrize("mode", ["new", "replace"])
def test_death_at_every_step(mode: str, tmp_path: Path) -> None:
    command = [sys.executable, str(SUPPORT / "crash_everywhere.py"), str(tmp_path), mode]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    lines = [line.split() for line in run.stdout.splitlines()]
    assert len(lines) > 12
    assert [line[0] for line in lines] == ["77"] * (len(lines) - 1) + ["0"]
    states = [line[1] for line in lines]
    first = "none" if mode == "new" else "old"
    turn = states.index("new")
    assert states == [first] * turn + ["new"] * (len(states) - turn)
    assert turn >= 6
    assert max(int(line[2]) for line in lines if len(line) > 2) <= 6
    assert lines[-1][2] == "3"


class FullDisk(io.FileIO):
    """A file on a disk that has room for `room` more bytes."""

    room = 0

    def write(self, data: object) -> int:
        size = memoryview(data).nbytes
        if size > FullDisk.room:
            super().write(memoryview(data).cast("B")[: FullDisk.room])
            FullDisk.room = 0
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        FullDisk.room -= size
        return super().write(data)


@pytest.mark.parametrize("room", [0, 1, 100, 1000, 3000, 4000])
@pytest.mark.parametrize("replaces", [False, True], ids=["new", "replace"])
def test_a_full_disk(room: int, replaces: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def create(path: str) -> IO[bytes]:
        return FullDisk(path, "xb")

    path = tmp_path / "a.tlspec"
    if replaces:
        trace_of(value(3)).save(path)
    before = files(tmp_path)
    monkeypatch.setattr(stage, "create", create)
    FullDisk.room = room
    with pytest.raises(ArtifactError) as caught:
        network().save(path, overwrite=True)
    assert caught.value.code == "disk_full"
    assert f"Cannot write {path}{os.sep}" in str(caught.value)
    assert "No space left on device" in str(caught.value)
    assert "free some space" in caught.value.remedy
    assert files(tmp_path) == before
    assert threading.active_count() == 1
    FullDisk.room = 10**6
    network().save(path, overwrite=True)
    assert len(tl_core.load(path).ops) == 7


def test_a_limit_of_the_operating_system(tmp_path: Path) -> None:
    path = trace_of(value(3)).save(tmp_path / "a.tlspec")
    before = files(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(ArtifactError) as caught:
            trace_of(Value(np.ones(10**5))).save(path, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.code == "file_too_large"
    assert files(tmp_path) == before


def test_an_interrupted_save_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: object, value: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("numpy_backend.NumpyBackend.to_host", interrupt)
    with pytest.raises(KeyboardInterrupt):
        trace_of(value(3)).save(tmp_path / "a.tlspec")
    assert list(tmp_path.iterdir()) == []
    assert threading.active_count() == 1


def test_two_saves_into_one_bundle(tmp_path: Path) -> None:
    path = trace_of(value(3)).save(tmp_path / "a.tlspec")
    with stage.Stage(path, overwrite=True), pytest.raises(ArtifactError) as caught:
        network().save(path, overwrite=True)
    assert caught.value.code == "bundle_busy"
    assert tl_core.load(path).ops[1].out == value(3)
    network().save(path, overwrite=True)


def test_a_bundle_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.tlspec"
    with stage.Stage(path, overwrite=True) as late:
        trace_of(value(3)).save(path)
        with pytest.raises(ArtifactError) as caught:
            late.commit(b"{}")
    assert caught.value.code == "bundle_exists"
    assert tl_core.load(path).ops[1].out == value(3)
    assert list(tmp_path.iterdir()) == [path]


def test_a_running_save_is_not_swept_away(tmp_path: Path) -> None:
    path = tmp_path / "a.tlspec"
    with stage.Stage(path, overwrite=False) as running:
        trace_of(value(3)).save(path)
        running.write("tables.json", b"x")
    assert list(tmp_path.iterdir()) == [path]


def test_saving_a_lazily_loaded_trace_over_itself(tmp_path: Path) -> None:
    path = network().save(tmp_path / "a.tlspec")
    loaded = tl_core.load(path)
    before = everything(loaded)
    loaded.save(path, overwrite=True)
    assert everything(tl_core.load(path)) == before
    assert everything(loaded) == before


def test_a_bundle_that_is_replaced_while_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tl_core import _load

    path = trace_of(value(3)).save(tmp_path / "a.tlspec")
    read, calls = _load._read_manifest, []

    def read_and_replace(directory: str) -> bytes:
        text = read(directory)
        if not calls:
            calls.append(1)
            trace_of(value(3, start=9)).save(path, overwrite=True)
        return text

    monkeypatch.setattr(_load, "_read_manifest", read_and_replace)
    assert tl_core.load(path).ops[1].out == value(3, start=9)


def interrupted_save(path: Path) -> None:
    def interrupted(_self: object, _given: object) -> object:
        raise KeyboardInterrupt  # as Ctrl-C does; a signal would be lost where the shell has turned it off

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numpy_backend.NumpyBackend.to_host", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trace_of(value(3)).save(path, overwrite=True)


def test_what_a_killed_save_left_makes_room_for_the_next_one(tmp_path: Path) -> None:
    path = network().save(tmp_path / "a.tlspec")
    before = files(path)
    kill_in_the_middle(path)
    assert len(files(path)) > 3
    interrupted_save(path)
    assert files(path) == before


def test_files_of_a_damaged_bundle_are_kept_until_it_is_replaced(tmp_path: Path) -> None:
    path = network().save(tmp_path / "a.tlspec")
    (path / "manifest.json").write_bytes(b'{"format": "tlsp')
    before = files(path)
    interrupted_save(path)
    assert files(path) == before


def test_a_damaged_bundle_can_be_replaced(tmp_path: Path) -> None:
    path = network().save(tmp_path / "a.tlspec")
    (path / "manifest.json").write_bytes(b"{")
    network().save(path, overwrite=True)
    assert len(list(path.iterdir())) == 3
    assert len(tl_core.load(path).ops) == 7
