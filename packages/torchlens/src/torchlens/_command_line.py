"""The commands of `torchlens`: each is a function whose signature and docstring are its help."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

import tl_core
from torchlens._description import describe

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE_ERROR = 2
"""Exit status of a refusal: the command was understood and cannot be done, or was not understood."""


def versions() -> str:
    """Return one line for each installed TorchLens distribution, `torchlens` first."""
    members = {found.group() for need in requires("torchlens") or () if (found := re.match(r"tl-[a-z-]+", need))}
    lines: list[str] = []
    for name in ("torchlens", *sorted(members)):
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue  # an extra that was not asked for
    return "\n".join(lines)


app = App(
    name="torchlens",
    help="Everything that a model computes, operation by operation, by name.",
    version=versions,
    version_format="plaintext",
    version_flags=["--version"],
    help_flags=["--help", "-h"],
    result_action="return_int_as_exit_code_else_zero",
)


@app.command
def demo(*, folder: Path = Path("torchlens-demo")) -> None:
    """Trace three real networks with random weights, look into them, save, load and draw.

    Parameters
    ----------
    folder
        Where the bundles and pictures are written.
    """
    # It imports torch, torchvision and transformers.
    from torchlens._demo import run_demo  # noqa: PLC0415

    run_demo(folder, Console(highlight=False))


@app.command
def summary(
    bundle: Annotated[Path, Parameter(name="BUNDLE")],
    /,
    *,
    level: Literal["auto", "module", "op"] = "auto",
) -> None:
    """Print the table of a saved trace.

    Parameters
    ----------
    bundle
        A folder written by `trace.save(path)`.
    level
        One row a module, one row an op, or whichever suits the size.
    """
    # Its repr has colours on a terminal and none in a pipe.
    print_text(repr(tl_core.load(bundle, lazy=True).summary(level=level)))


@app.command
def show(
    bundle: Annotated[Path, Parameter(name="BUNDLE")],
    label: Annotated[str, Parameter(name="LABEL")],
    /,
) -> None:
    """Print what is known about one layer, op or module of a saved trace.

    Parameters
    ----------
    bundle
        A folder written by `trace.save(path)`.
    label
        A label such as `conv2d_1_1` or `conv2d_1_1:2`, or the address of a module.
    """
    trace = tl_core.load(bundle, lazy=True)
    print_text(describe(trace, trace[label]))


def print_text(text: str) -> None:
    """Write text to standard output as it is."""
    sys.stdout.write(f"{text}\n")


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status.

    Args:
        arguments: the words after `torchlens`.

    Returns:
        0 after success, 2 after a refusal, whose message is on standard error.
    """
    try:
        return app(arguments, exit_on_error=False, print_error=True)
    except CycloptsError:
        return USAGE_ERROR  # its text has been printed
    except tl_core.TorchLensError as error:
        sys.stderr.write(f"torchlens: {error}\n")
        return USAGE_ERROR
