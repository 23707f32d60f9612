"""Rows about the machine and what is installed; nothing is imported for them."""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
from importlib.metadata import distributions
from typing import TYPE_CHECKING

from tl_doctor._requirement import fits, installed_version, normal_name, requirements
from tl_doctor._row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tl_doctor._requirement import Requirement

PYTHON_MIN = (3, 11)
DISK_WARNING_BYTES = 2 * 1024**3


def family() -> list[str]:
    """Names of the installed distributions of TorchLens, `torchlens` first."""
    names = {normal_name(found.name) for found in distributions()}
    members = {name for name in names if name.startswith("tl-") and (name == "tl-core" or _needs_core(name))}
    return sorted(members | (names & {"torchlens"}), key=lambda name: (name != "torchlens", name))


def _needs_core(name: str) -> bool:
    return any(need.name == "tl-core" for need in requirements(name))


def environment_rows() -> Iterator[Row]:
    """Python, the distributions of TorchLens, the libraries that they use, and the disk."""
    members = family()
    yield _python()
    yield _distributions(members)
    yield _numpy(members)
    yield _safetensors()
    yield _graphviz()
    yield _extras(members)
    yield _disk()


def _python() -> Row:
    enough = sys.version_info >= PYTHON_MIN
    return Row(
        key="python", label="Python", status="pass" if enough else "known_broken",
        severity="ok" if enough else "error", detected=True,
        details=f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}",
        suggestion="" if enough else "TorchLens needs Python 3.11 or newer",
    )  # fmt: skip


def _distributions(members: list[str]) -> Row:
    problems: list[str] = []
    for name in members:
        for need in requirements(name):
            if need.extra or need.conditional or not (need.name == "torchlens" or need.name.startswith("tl-")):
                continue
            have = installed_version(need.name)
            if have is None:
                problems.append(f"{name} needs {need.name}{need.range}, which is not installed")
            elif not fits(have, need.range):
                problems.append(f"{name} needs {need.name}{need.range}, and {have} is installed")
    versions = ", ".join(f"{name} {installed_version(name)}" for name in members)
    return Row(
        key="distributions", label="TorchLens", status="known_broken" if problems else "pass",
        severity="error" if problems else "ok", detected=bool(members),
        details="; ".join([versions or "no distribution is registered", *problems]),
        suggestion=f"pip install --upgrade {' '.join(members)}" if problems else "",
    )  # fmt: skip


def wanted_range(library: str, members: list[str]) -> str:
    """The versions of a library that the installed distributions of TorchLens ask for, all of them together."""
    ranges = {
        need.range
        for name in members
        for need in requirements(name)
        if need.name == library and not need.extra and need.range
    }
    return ",".join(sorted(ranges))


def _numpy(members: list[str]) -> Row:
    have, wanted = installed_version("numpy"), wanted_range("numpy", members)
    if have is None:
        status, details = "known_broken", f"not installed; TorchLens needs numpy{wanted}"
    elif not fits(have, wanted):
        status, details = "known_broken", f"{have}; TorchLens needs numpy{wanted}"
    else:
        status, details = "pass", have
    return Row(
        key="numpy", label="NumPy", status=status, severity="ok" if status == "pass" else "error",
        detected=have is not None, details=details,
        suggestion="" if status == "pass" else f"pip install 'numpy{wanted}'",
    )  # fmt: skip


def _safetensors() -> Row:
    have = installed_version("safetensors")
    return Row(
        key="safetensors", label="safetensors", status="pass", severity="ok", detected=have is not None,
        details=f"{have or 'not installed'}; not needed, since TorchLens reads and writes the format by itself",
    )  # fmt: skip


def _graphviz() -> Row:
    there = shutil.which("dot") is not None
    return Row(
        key="graphviz", label="Graphviz dot", status="pass", severity="ok", detected=there,
        details=f'{"installed" if there else "not installed"}; only draw(layout="dot") uses it, no picture needs it',
    )  # fmt: skip


def _extras(members: list[str]) -> Row:
    missing: dict[str, list[str]] = {}
    complete: list[str] = []
    for name in members:
        extras = sorted({need.extra for need in requirements(name) if need.extra})
        absent = {extra: sorted(set(_absent(name, extra, set()))) for extra in extras}
        missing |= {f"{name}[{extra}]": lacks for extra, lacks in absent.items() if lacks}
        if whole := [extra for extra in extras if not absent[extra]]:
            complete.append(f"{name}[{','.join(whole)}]")
    parts = [f"complete: {', '.join(complete)}"] if complete else []
    parts += [f"{name} lacks {', '.join(absent)}" for name, absent in missing.items()]
    return Row(
        key="extras", label="Extras", status="pass", severity="ok", detected=bool(complete),
        details="; ".join(parts) or "the installed distributions have none",
        suggestion=f"for more: pip install '{next(iter(missing))}'" if missing else "",
    )  # fmt: skip


def _absent(name: str, extra: str, seen: set[tuple[str, str]]) -> Iterator[str]:
    """What an extra needs and does not have; extras of extras included."""
    if (name, extra) in seen:
        return
    seen.add((name, extra))
    for need in requirements(name):
        if need.extra == extra and not need.conditional:
            yield from _unmet(need, seen)


def _unmet(need: Requirement, seen: set[tuple[str, str]]) -> Iterator[str]:
    have = installed_version(need.name)
    if have is None or not fits(have, need.range):
        yield f"{need.name}{need.range}"
        return
    for extra in need.extras:
        yield from _absent(need.name, extra, seen)


def _disk() -> Row:
    free = shutil.disk_usage(tempfile.gettempdir()).free
    enough = free >= DISK_WARNING_BYTES
    return Row(
        key="disk", label="Disk", status="pass", severity="ok" if enough else "warning", detected=True,
        details=f"{free / 1024**3:.1f} GiB free for temporary files",
        suggestion="" if enough else "set TMPDIR to a larger disk before you save values of large runs",
    )  # fmt: skip
