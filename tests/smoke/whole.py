"""Run with `torchlens` installed from wheels: the namespace, the command line and every package behind it."""

import subprocess
import sys
import tempfile
from pathlib import Path

import torchlens as tl


def main() -> None:
    assert "torch" not in sys.modules, "importing torchlens imported torch"
    for name in tl.__all__:
        getattr(tl, name)

    import torch

    trace = tl.trace(torch.nn.Linear(3, 2), torch.ones(1, 3))
    assert tuple(trace["linear_1_1"].shape) == (1, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "linear.tlspec"
        trace.save(path)
        for arguments in (["--version"], ["summary", str(path)], ["show", str(path), "linear_1_1"]):
            command = [sys.executable, "-m", "torchlens", *arguments]
            subprocess.run(command, check=True)
    print("whole: ok")


if __name__ == "__main__":
    main()
