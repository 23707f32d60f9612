"""The demo, as a newcomer runs it: what it prints reads well in a pipe of 80 columns, and what it writes can be opened."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
import torch

import torchlens as tl

if TYPE_CHECKING:
    from pathlib import Path

SITES = {
    "resnet18": ("conv2d_1_1:1", (1, 64, 112, 112)),
    "gpt2": ("scaleddotproductattention_1:1", (1, 12, 16, 64)),
    "reader": ("grucell_1:12", (2, 64)),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo runs; a bundle of an earlier run lies there and has to be replaced."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "torchlens-demo").mkdir()
    tl.trace(torch.nn.ReLU(), torch.ones(1)).save(folder / "torchlens-demo" / "gpt2.tlspec")
    return folder


@pytest.fixture(scope="module")
def printed(folder: Path) -> str:
    command = [sys.executable, "-W", "error", "-m", "torchlens", "demo"]
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""
    return finished.stdout


def test_it_says_what_it_did_with_each_network(printed: str) -> None:
    for name, (site, _) in SITES.items():
        assert f"looked up  trace.ops[{site!r}]" in printed
        assert re.search(rf"saved +torchlens-demo/{name}\.tlspec: 3 files, ", printed)
        assert re.search(rf"drew +torchlens-demo/{name}\.svg in ", printed)
    assert printed.count("traced     ") == printed.count("the same, bit by bit") == 3
    assert "NOT THE SAME" not in printed


def test_it_says_where_the_files_are_and_how_long_it_took(printed: str, folder: Path) -> None:
    assert re.search(r"^Done in [\d.]+ m?s\.", printed, re.MULTILINE)
    assert f"\n  {folder / 'torchlens-demo'}\n" in printed


def test_it_fits_into_80_columns_and_has_no_escape_codes(printed: str, folder: Path) -> None:
    lines = [line for line in printed.splitlines() if str(folder) not in line]
    assert [line for line in lines if len(line) > 80] == []
    assert "\x1b" not in printed


@pytest.mark.parametrize("name", sorted(SITES))
def test_what_it_wrote_can_be_opened(name: str, folder: Path, printed: str) -> None:
    site, shape = SITES[name]
    trace = tl.load(folder / "torchlens-demo" / f"{name}.tlspec", lazy=True)
    assert trace.ops[site].shape == shape
    assert trace.ops[site].payload.saved
    picture = ElementTree.parse(folder / "torchlens-demo" / f"{name}.svg")
    assert picture.getroot().tag.endswith("svg")
