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

from cyclopts import App, CycloptsError, Parameter, validators
from rich.console import Console

import tl_core
import tl_doctor
from torchlens._description import describe
from torchlens._named import things_named
from torchlens._output import READER_GONE, drop_output, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

MAKE_ONE = "BUNDLE is the folder that trace.save(path) writes in Python; torchlens demo makes three"
REMEDIES = {"manifest_missing": f"check the path; {MAKE_ONE}", "bundle_foreign": MAKE_ONE}
"""What to do about a bundle that is none, in words of the command line."""

MOST_SHOWN = 8
"""How many things `show` prints where a word names many."""

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
    depth: Annotated[int | None, Parameter(validator=validators.Number(gte=0))] = None,
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
    print_text(repr(opened(bundle).summary(level=level, depth=depth)))


@app.command
def show(
    bundle: Annotated[Path, Parameter(name="BUNDLE")],
    label: Annotated[str, Parameter(name="LABEL")],
    /,
) -> None:
    """Print what is known about one layer, op, module or parameter of a saved trace.

    Parameters
    ----------
    bundle
        A folder written by `trace.save(path)`.
    label
        A label (`conv2d_1_1`, or `conv2d_1_1:2` for its second pass), the address of a module, parameter, buffer or
        input, a function (`relu`), or a position that counts from 0. `self` is the model.
    """
    trace = opened(bundle)
    things = things_named(trace, label, bundle)
    shown = [describe(trace, found) for found in things[:MOST_SHOWN]]
    if len(things) > MOST_SHOWN:
        shown.append(f"and {len(things) - MOST_SHOWN} more; torchlens summary {bundle} --level op lists them")
    print_text("\n\n".join(shown))


@app.command
def doctor(model: str | None = None, *, markdown: bool = False, every: bool = False) -> int:
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


def opened(bundle: Path) -> tl_core.Trace:
    """The trace in a bundle, with its values left on disk and given to the processor when they are read.

    Raises:
        ArtifactError: it is no bundle, or damaged; the remedy speaks of the command line.
    """
    try:
        return tl_core.load(bundle, lazy=True, map_location="cpu")
    except tl_core.ArtifactError as error:
        remedy = REMEDIES.get(error.code, error.remedy)
        raise tl_core.ArtifactError(error.problem, code=error.code, remedy=remedy, **error.fields) from None


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status.

    Args:
        arguments: the words after `torchlens`.

    Returns:
        0 after success, 1 where `doctor` found an error, 2 after a refusal, whose message is on standard error, 141
        where the reader of a pipe went away.
    """
    try:
        return app(arguments, exit_on_error=False, print_error=True)
    except BrokenPipeError:
        drop_output()
        return READER_GONE
    except CycloptsError:
        return USAGE_ERROR  # its text has been printed
    except tl_core.TorchLensError as error:
        sys.stderr.write(f"torchlens: {error}\n")
        return USAGE_ERROR
