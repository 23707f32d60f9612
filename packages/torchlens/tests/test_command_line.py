"""The commands, run as a user runs them: what they print, where, and their exit status."""

from __future__ import annotations

import errno
import os
import pathlib
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

import tl_core
import tl_torch
from torchlens._command_line import run, versions
from torchlens._demo import make_folder
from torchlens._output import encodable

if TYPE_CHECKING:
    from pathlib import Path

NOTHING_BUT_VERSIONS = """
import sys
from torchlens._command_line import run
status = run(["--version"])
assert "torch" not in sys.modules
sys.exit(status)
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    return tl_torch.trace(model, torch.ones(2, 4)).save(tmp_path / "small.tlspec")


def torchlens(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "torchlens", *arguments], capture_output=True, text=True, check=False)


def test_version_names_every_installed_distribution_one_a_line() -> None:
    names = ["torchlens", "tl-core", "tl-doctor", "tl-torch", "tl-viz"]
    assert versions().splitlines() == [f"{name} {version(name)}" for name in names]


def test_version_is_printed_line_by_line_without_loading_torch() -> None:
    finished = subprocess.run([sys.executable, "-c", NOTHING_BUT_VERSIONS], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines() == versions().splitlines()


def test_summary_prints_the_table_of_the_trace(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["summary", str(bundle)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{tl_core.load(bundle).summary()}\n"
    assert printed.err == ""


def test_summary_by_op_has_a_row_for_every_op(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["summary", str(bundle), "--level", "op"]) == 0
    table = capsys.readouterr().out
    for label in ("input_1", "linear_1_1", "relu_1_2", "output_1"):
        assert label in table


def test_show_prints_what_is_known_of_a_label(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(bundle), "relu_1_2"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading == "relu_1_2"
    assert "  from        linear_1_1:1" in lines
    assert "  output      float32[2, 3], 24 bytes, on disk" in lines


def test_the_process_prints_no_escape_codes_in_a_pipe(bundle: Path) -> None:
    finished = torchlens("summary", str(bundle))
    assert finished.returncode == 0
    assert "\x1b" not in finished.stdout + finished.stderr


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    model = nn.Sequential()
    model.add_module("\u5c42", nn.Linear(4, 3))
    model.add_module("\x1b[31mred", nn.ReLU())
    return tl_torch.trace(model, torch.ones(2, 4)).save(tmp_path / "foreign.tlspec")


def test_a_table_is_spelled_in_the_encoding_of_standard_output(foreign: Path) -> None:
    for encoding, first in (
        ("ascii", "|- \\u5c42 (Linear)"),
        ("latin-1", "|- \\u5c42 (Linear)"),
        ("utf-8", "├─ 层 (Linear)"),
    ):
        finished = subprocess.run(
            [sys.executable, "-m", "torchlens", "summary", str(foreign)],
            capture_output=True,
            check=False,
            env=os.environ | {"PYTHONIOENCODING": encoding},
        )
        assert (finished.returncode, finished.stderr) == (0, b"")
        assert [line for line in finished.stdout.decode(encoding).splitlines() if line.startswith(first)]


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", "|- \\u5c42 2x4"), ("latin-1", "|- \\u5c42 2x4"), ("utf-8", "├─ 层 2×4")],
)
def test_text_that_an_encoding_lacks_is_spelled_out(encoding: str, shown: str) -> None:
    assert encodable("├─ 层 2×4", encoding) == shown
    assert encodable("2×4", "latin-1") == "2×4"


def test_show_prints_no_control_characters_of_names(foreign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(foreign), "\x1b[31mred"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "\N{REPLACEMENT CHARACTER}[31mred"
    assert "\x1b" not in printed


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break differently there")
def test_a_reader_that_goes_away_is_no_error(bundle: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        finished = subprocess.run(
            [sys.executable, "-m", "torchlens", "summary", str(bundle)],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (finished.returncode, finished.stderr) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_a_message_and_status_2(bundle: Path) -> None:
    with open("/dev/full", "wb") as full:
        finished = subprocess.run(
            [sys.executable, "-m", "torchlens", "summary", str(bundle)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert finished.returncode == 2
    assert finished.stderr.decode() == (
        "torchlens: Cannot write to standard output: No space left on device.\n"
        "  What to do: print to a terminal, or to a file that can be written\n"
    )


def test_closed_standard_output_is_a_message_and_status_2(
    bundle: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert run(["show", str(bundle), "relu_1_2"]) == 2
    assert capsys.readouterr().err.startswith("torchlens: Cannot write to standard output: it is closed.\n")


def test_a_missing_bundle_is_a_message_with_a_remedy_and_status_2(tmp_path: Path) -> None:
    finished = torchlens("summary", str(tmp_path / "nowhere.tlspec"))
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("torchlens: ")
    assert "nowhere.tlspec" in finished.stderr
    assert "What to do:" in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (
            "relu_1_1",
            "{0} has no label, module, parameter, buffer or function 'relu_1_1'.\n"
            "  What to do: closest: relu_1_2, relu_1; torchlens summary {0} --level op lists every label",
        ),
        (
            "0.weigth",
            "{0} has no label, module, parameter, buffer or function '0.weigth'.\n"
            "  What to do: closest: 0.weight; torchlens summary {0} --level op lists every label",
        ),
        (
            "zzz",
            "{0} has no label, module, parameter, buffer or function 'zzz'.\n"
            "  What to do: torchlens summary {0} --level op lists every label",
        ),
        ("relu_1:2", "'relu_1:2' is not there: 'relu_1' has 1 pass.\n  What to do: use relu_1:1"),
        ("1:2", "'1:2' is not there: '1' has 1 call.\n  What to do: use 1:1"),
    ],
)
def test_a_word_that_names_nothing(bundle: Path, capsys: pytest.CaptureFixture[str], word: str, text: str) -> None:
    assert run(["show", str(bundle), word]) == 2
    assert capsys.readouterr().err == f"torchlens: {text.format(bundle)}\n"


@pytest.mark.parametrize(
    ("word", "headings"),
    [
        ("relu", ["relu_1_2"]),
        ("linear", ["linear_1_1"]),
        ("0.weight", ["0.weight"]),
        ("input", ["input_1:1"]),
        ("2", ["relu_1_2:1"]),  # no module has that address
        ("-1", ["output_1:1"]),
        ("1", ["1"]),  # a module has
        ("self", ["the model"]),
        ("self:1", ["self:1"]),
    ],
)
def test_every_word_that_names_something(
    bundle: Path, capsys: pytest.CaptureFixture[str], word: str, headings: list[str]
) -> None:
    assert run(["show", str(bundle), word]) == 0
    assert [part.splitlines()[0] for part in capsys.readouterr().out.split("\n\n")] == headings


def test_a_word_with_two_meanings_shows_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Module()
    model.relu_1 = nn.ReLU()
    model.forward = lambda x: model.relu_1(x)  # type: ignore[method-assign]
    path = tl_torch.trace(model, torch.ones(2)).save(tmp_path / "two.tlspec")
    for word, headings in (("relu_1", ["relu_1_1", "relu_1"]), ("relu_1:1", ["relu_1_1:1", "relu_1:1"])):
        assert run(["show", str(path), word]) == 0
        assert [part.splitlines()[0] for part in capsys.readouterr().out.split("\n\n")] == headings


def test_a_function_that_ran_often_shows_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = nn.Sequential(*[nn.Linear(2, 2) for _ in range(10)])
    path = tl_torch.trace(model, torch.ones(2)).save(tmp_path / "ten.tlspec")
    assert run(["show", str(path), "linear"]) == 0
    parts = capsys.readouterr().out.rstrip().split("\n\n")
    assert len(parts) == 9
    assert parts[-1] == f"and 2 more; torchlens summary {path} --level op lists them"


def test_what_is_no_bundle_is_told_in_words_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    made = "BUNDLE is the folder that trace.save(path) writes in Python; torchlens demo makes three"
    for name, text in (
        ("nope", f"There is no bundle {tmp_path / 'nope'}.\n  What to do: check the path; {made}"),
        ("file", f"{tmp_path / 'file'} is no directory, so it cannot be loaded.\n  What to do: {made}"),
        (
            ".",
            f"{tmp_path} has no manifest.json: it is no bundle, or a part of one.\n  What to do: check the path; {made}",
        ),
    ):
        assert run(["summary", str(tmp_path / name)]) == 2
        assert capsys.readouterr().err == f"torchlens: {text}\n"


def test_a_depth_below_zero_is_refused_by_the_option(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["summary", str(bundle), "--depth", "-1"]) == 2
    assert 'Invalid value "-1" for --depth. Must be >= 0.' in capsys.readouterr().err


def test_the_demo_in_a_folder_that_cannot_be_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "demo"
    assert run(["demo", "--folder", str(folder)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        f"torchlens: The demo cannot write to {folder}: {tmp_path / 'file'} is a file.\n"
        "  What to do: torchlens demo --folder PATH, where PATH is a folder that can be written\n"
    )

    def refuse(self: Path, **options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with pytest.raises(tl_core.ArtifactError, match="cannot write to there: Permission denied") as caught:
        make_folder(pathlib.Path("there"))
    assert caught.value.code == "folder_unusable"


def test_ctrl_c_ends_without_a_traceback(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tl_core.load", interrupt)
    with pytest.raises(SystemExit) as caught:
        run(["summary", str(bundle)])
    assert caught.value.code == 130


@pytest.mark.parametrize("arguments", [["nonsense"], ["summary"], ["summary", "x", "--level", "tensor"]])
def test_a_command_line_that_makes_no_sense_has_status_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert "Error" in capsys.readouterr().err


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    printed = capsys.readouterr().out
    for command in ("demo", "show", "summary"):
        assert command in printed


def test_the_demo_without_its_libraries_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    assert run(["demo", "--folder", str(tmp_path / "demo")]) == 2
    message = capsys.readouterr().err
    assert "torchvision and transformers" in message
    assert "What to do: pip install 'torchlens[demo]'" in message
    assert not (tmp_path / "demo").exists()
