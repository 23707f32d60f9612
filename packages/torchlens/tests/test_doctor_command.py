"""`torchlens doctor` and `tl.report.doctor`, as a user calls them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import tl_doctor
from torchlens import report
from torchlens._command_line import run

if TYPE_CHECKING:
    from pathlib import Path

NOTHING_LOADED = """
import sys
from torchlens._command_line import run
status = run(["doctor", "--markdown"])
assert "torch" not in sys.modules
assert "tl_torch" not in sys.modules
sys.exit(status)
"""


@pytest.fixture(autouse=True)
def width_of_80(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_the_namespace_has_the_doctor() -> None:
    assert [name for name in report.__all__ if getattr(report, name) is not getattr(tl_doctor, name)] == []


def test_no_framework_is_loaded_and_torch_is_judged_all_the_same() -> None:
    finished = subprocess.run([sys.executable, "-c", NOTHING_LOADED], capture_output=True, text=True, check=True)
    lines = finished.stdout.splitlines()
    assert lines[0] == "## TorchLens doctor"
    rows = {line.split("|")[2].strip(" `"): line.split("|") for line in lines if line.startswith("| ")}
    assert rows["torch"][4].strip() == "`pass`"
    assert rows["backend_scorecard:torch"][3].strip() == "Backend torch"
    assert rows["cuda_graphs"][4].strip() == rows["gptq_awq_quantized"][4].strip() == "`not_tested`"
    assert rows["serving_engine"][4].strip() == "`scope`"
    assert rows["contributor:torch"][5].strip() == "no"


def test_the_table_fits_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--every"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("TorchLens doctor: ")
    assert max(len(line) for line in lines) == 80
    assert any(line.startswith("ok     PyTorch") for line in lines)


def test_a_model_is_named_by_its_module(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--model", "torch.nn:Identity"], ["torch.nn:Identity"]):
        assert run(["doctor", *arguments]) == 0
        assert "tl.trace(model)" in capsys.readouterr().out


def test_a_model_that_is_refused_has_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_meta_model.py").write_text("import torch\nmodel = torch.nn.Linear(2, 2, device='meta')\n")
    assert run(["doctor", "--model", "my_meta_model:model"]) == 1
    first, _, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "TorchLens doctor: 1 error"
    assert second.split()[:4] == ["ERROR", "tl.trace(model)", "scope", "refuses:"]


@pytest.mark.parametrize("name", ["torch.nn:Lineer", "no_such_module:model", "torch.nn", ":x", "torch.nn:Linear"])
def test_a_name_of_no_model_is_a_message_with_a_remedy(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--model", name]) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"torchlens: --model {name} names no model: ")
    assert "What to do: --model package.module:name" in message
