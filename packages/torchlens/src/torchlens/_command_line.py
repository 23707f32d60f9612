"""The commands of `torchlens`: each is a function whose signature and docstring are its help."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from operator import attrgetter
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

import tl_core
import tl_doctor
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
    depth: int | None = None,
) -> None:
    """Print the table of a saved trace.

    Parameters
    ----------
    bundle
        A folder written by `trace.save(path)`.
    level
        One row a module, one row an op, or whichever suits the size.
    depth
        How many levels of modules to show; by default as many as fit on a screen.
    """
    # Its repr has colours on a terminal and none in a pipe.
    print_text(repr(tl_core.load(bundle, lazy=True).summary(level=level, depth=depth)))


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


@app.command
def doctor(*, model: str | None = None, markdown: bool = False, every: bool = False) -> int:
    """Say what is installed, whether it works, and what of a model is handled.

    Parameters
    ----------
    model
        A model to look at, such as `torchvision.models:resnet18`: a module, and in it a model or what makes one.
    markdown
        Print every row as Markdown, for a bug report.
    every
        Print the subjects, too, that were not found and that need nothing.

    Returns
    -------
        1 where a row is an error, else 0.
    """
    report = tl_doctor.doctor(named_model(model) if model else None)
    if markdown:
        print_text(report.to_markdown().removesuffix("\n"))
    else:
        report.show(every=every)
    return 1 if report.severity == "error" else 0


def named_model(name: str) -> object:
    """The model that a text such as `torchvision.models:resnet18` names; a function or class is called.

    Raises:
        ConfigurationError: nothing has that name, or it takes arguments (`unknown_model`).
    """
    module, _, path = name.partition(":")
    if (here := str(Path.cwd())) not in sys.path:  # the script that pip installs does not look there
        sys.path.insert(0, here)
    try:
        found = attrgetter(path)(import_module(module))
        return found() if isinstance(found, (type, FunctionType)) else found
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise tl_core.ConfigurationError(
            f"--model {name} names no model: {error}.",
            code="unknown_model",
            remedy="--model package.module:name, where name is a model, or a function or class that makes one",
            model=name,
        ) from error


def print_text(text: str) -> None:
    """Write text to standard output as it is."""
    sys.stdout.write(f"{text}\n")


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status.

    Args:
        arguments: the words after `torchlens`.

    Returns:
        0 after success, 1 where `doctor` found an error, 2 after a refusal, whose message is on standard error.
    """
    try:
        return app(arguments, exit_on_error=False, print_error=True)
    except CycloptsError:
        return USAGE_ERROR  # its text has been printed
    except tl_core.TorchLensError as error:
        sys.stderr.write(f"torchlens: {error}\n")
        return USAGE_ERROR
