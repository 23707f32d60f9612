"""Run with `tl-torch` and its dependencies alone: everything on one machine but drawing has to work."""

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

import tl_torch as tl

ABSENT = ("torchlens", "tl_viz", "tl_doctor", "pandas", "jax", "tensorflow", "paddle", "tinygrad")


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.conv(x)).mean()


def refusal(call: Callable[[], object]) -> str:
    """Return the message of the ImportError that `call` ends in."""
    try:
        call()
    except ImportError as error:
        return str(error)
    raise AssertionError("drawing worked without tl-viz")


def main() -> None:
    present = [name for name in ABSENT if importlib.util.find_spec(name)]
    assert not present, f"the slim environment holds {present}"

    x = torch.ones(1, 3, 8, 8)
    trace = tl.trace(Net(), x)
    convolution = trace["conv2d_1_1"]
    assert tuple(convolution.shape) == (1, 4, 6, 6)
    assert len(list(trace.find(tl.func("relu")))) == 1
    print(trace.summary())

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.tlspec"
        trace.save(path)
        loaded = tl.load(path, lazy=True)
        assert torch.equal(loaded.ops["conv2d_1_1:1"].out, trace.ops["conv2d_1_1:1"].out)

    assert "pip install tl-viz" in refusal(trace.draw)
    print("slim: ok")


if __name__ == "__main__":
    main()
