"""The commands, run as a user runs them: what they print, where, and their exit status."""

from __future__ import annotations

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


def test_a_missing_bundle_is_a_message_with_a_remedy_and_status_2(tmp_path: Path) -> None:
    finished = torchlens("summary", str(tmp_path / "nowhere.tlspec"))
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("torchlens: ")
    assert "nowhere.tlspec" in finished.stderr
    assert "What to do:" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_an_unknown_label_names_the_closest(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(bundle), "relu_1_1"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("torchlens: 'relu_1_1' is neither a label nor the address of a module")
    assert "relu_1_2" in message


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
