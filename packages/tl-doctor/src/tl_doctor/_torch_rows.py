"""Rows about torch and its devices."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tl_doctor._environment import family, wanted_range
from tl_doctor._requirement import fits
from tl_doctor._row import Row
from tl_doctor._torch_probe import probe_torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_doctor._torch_probe import TorchFacts


def torch_rows() -> Iterator[Row]:
    """Whether torch is there and works, and with which devices."""
    members = family()
    facts = probe_torch()
    yield _torch(facts, wanted_range("torch", members), wanted="tl-torch" in members)
    yield _cuda(facts)


def _torch(facts: TorchFacts, wanted_versions: str, *, wanted: bool) -> Row:
    install = f"pip install 'torch{wanted_versions}'"
    if not facts.installed:
        return Row(
            key="torch", label="PyTorch", status="scope", severity="error" if wanted else "info", detected=False,
            details=f"not installed{', and tl-torch needs it' if wanted else ''}",
            suggestion=install if wanted else "pip install tl-torch, to trace PyTorch models",
        )  # fmt: skip
    if facts.error:
        return Row(
            key="torch", label="PyTorch", status="known_broken", severity="error", detected=True,
            details=f"installed, and cannot be imported: {facts.error}",
            suggestion=f"reinstall it: pip install --force-reinstall 'torch{wanted_versions}'",
        )  # fmt: skip
    if not fits(facts.version, wanted_versions):
        return Row(
            key="torch", label="PyTorch", status="known_broken", severity="error", detected=True,
            details=f"{facts.version}; tl-torch needs torch{wanted_versions}", suggestion=install,
        )  # fmt: skip
    return Row(
        key="torch", label="PyTorch", status="pass", severity="ok", detected=True,
        details=f"{facts.version}{f'; tl-torch takes torch{wanted_versions}' if wanted_versions else ''}",
    )  # fmt: skip


def _cuda(facts: TorchFacts) -> Row:
    if not facts.version:
        return Row(
            key="cuda", label="CUDA", status="not_tested", severity="ok", detected=False,
            details="torch, which is asked for it, cannot be imported",
        )  # fmt: skip
    if facts.devices:
        return Row(
            key="cuda", label="CUDA", status="pass", severity="ok", detected=True,
            details=f"torch is built for {facts.cuda_build}; {len(facts.devices)} devices: {', '.join(facts.devices)}",
        )  # fmt: skip
    driver = shutil.which("nvidia-smi") is not None
    build = f"torch is built for CUDA {facts.cuda_build}" if facts.cuda_build else "torch is built for the CPU"
    if driver:
        return Row(
            key="cuda", label="CUDA", status="not_tested", severity="warning", detected=False,
            details=f"{build}; a driver is installed, and torch finds no device",
            suggestion="install a build of torch for the CUDA version that nvidia-smi shows",
        )  # fmt: skip
    return Row(
        key="cuda",
        label="CUDA",
        status="pass",
        severity="info",
        detected=False,
        details=f"{build}; no CUDA device here",
    )
