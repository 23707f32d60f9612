"""Asks torch about itself: in this process where it is loaded, else in a process of its own, since it may be broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, cast, final

DEADLINE_S = 120
"""How long an import of torch may take on a slow disk."""
_FACTS = """
cuda = torch.cuda.is_available()
facts = {
    "version": str(torch.__version__),
    "cuda_build": torch.version.cuda or torch.version.hip or "",
    "devices": [torch.cuda.get_device_name(at) for at in range(torch.cuda.device_count())] if cuda else [],
}
"""
_SCRIPT = f"import json, torch\n{_FACTS}\nprint()\nprint(json.dumps(facts))"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TorchFacts:
    """What torch says of itself, or why it says nothing."""

    installed: bool
    version: str = ""
    """Empty where it cannot be imported."""
    cuda_build: str = ""
    """Version of CUDA or ROCm that it is built for; empty for a build without."""
    devices: tuple[str, ...] = ()
    """Names of the CUDA devices."""
    error: str = ""
    """Last line of what the import said."""


def probe_torch() -> TorchFacts:
    """Ask torch about itself; it is never imported into this process."""
    loaded = sys.modules.get("torch")
    if loaded is not None:
        return _from_loaded(loaded)
    if not _is_there():
        return TorchFacts(installed=False)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            capture_output=True, text=True, timeout=DEADLINE_S, check=False, env=environment,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return TorchFacts(installed=True, error=f"the import did not end within {DEADLINE_S} s")
    except OSError as error:
        return TorchFacts(installed=True, error=f"no process for it could be started: {error}")
    if done.returncode:
        return TorchFacts(installed=True, error=_last_line(done.stderr) or f"the import ended with {done.returncode}")
    return _facts(json.loads(_last_line(done.stdout)))


def _is_there() -> bool:
    try:
        return find_spec("torch") is not None
    except (ImportError, ValueError):  # something else stands in its place
        return False


def _from_loaded(torch: Any) -> TorchFacts:
    scope: dict[str, Any] = {"torch": torch}
    try:
        exec(_FACTS, scope)  # the very lines that the other process runs
    except (AttributeError, RuntimeError) as error:
        return TorchFacts(installed=True, error=f"{type(error).__name__}: {error}")
    return _facts(scope["facts"])


def _facts(read: dict[str, object]) -> TorchFacts:
    return TorchFacts(
        installed=True,
        version=str(read["version"]),
        cuda_build=str(read["cuda_build"]),
        devices=tuple(cast("list[str]", read["devices"])),
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
