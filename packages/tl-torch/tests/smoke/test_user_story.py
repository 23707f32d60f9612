"""The ten lines that a newcomer types, and the names that the package promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

import tl_torch as tl

if TYPE_CHECKING:
    from pathlib import Path

PROMISED = [
    "AmbiguousOpLookupError", "ArgumentTypeError", "ArtifactError", "CaptureError", "CaptureOptions",
    "ConfigurationError", "DivergenceError", "LookupFailedError", "MissingDependencyError", "MutatedReferenceError",
    "PayloadUnavailableError", "ReentrantTraceError", "ScalarEscapeWarning", "TorchBackend", "TorchLensError",
    "TorchLensWarning", "Trace", "UnsupportedTensorVariantError", "func", "in_module", "label", "label_contains",
    "load", "module", "trace", "where",
]  # fmt: skip


@pytest.mark.parametrize("name", PROMISED)
def test_promised_name(name: str) -> None:
    assert name in tl.__all__
    assert getattr(tl, name).__name__


def test_ten_lines(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten())
    trace = tl.trace(model, torch.randn(1, 3, 8, 8))
    assert trace["relu_1"].shape == (1, 4, 6, 6)
    assert trace["conv2d_1_1:1"].out.shape == (1, 4, 6, 6)
    assert [op.func_name for op in trace.find(tl.in_module("1"))] == ["relu"]
    assert "conv2d" in str(trace.summary(level="op"))
    trace.save(tmp_path / "small.tlspec")
    loaded = tl.load(tmp_path / "small.tlspec")
    assert torch.equal(loaded["relu_1_2:1"].out, trace["relu_1_2:1"].out)
    assert [op.label for op in loaded.ops] == [op.label for op in trace.ops]


def test_drawing_says_what_to_install() -> None:
    import importlib.util

    trace = tl.trace(torch.nn.ReLU(), torch.ones(1))
    if importlib.util.find_spec("tl_viz") is None:
        with pytest.raises(ImportError, match="pip install tl-viz"):
            trace.draw()


def test_import_leaves_torch_alone() -> None:
    import subprocess
    import sys

    code = (
        "import torch, torch.nn.functional as F\n"
        "before = [dict(vars(o)) for o in (torch, torch.Tensor, F, torch.nn.Module)]\n"
        "import tl_torch\n"
        "after = [vars(o) for o in (torch, torch.Tensor, F, torch.nn.Module)]\n"
        "print(all(a.get(k) is v for b, a in zip(before, after) for k, v in b.items()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
