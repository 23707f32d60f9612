"""The demo: what a person would do with three networks in the first five minutes."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeVar

from tl_core import ArtifactError, Bytes, Duration, MissingDependencyError
from torchlens._progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console

    from torchlens._demo_networks import DemoNetwork

Result = TypeVar("Result")

STEPS = 1 + 3 * 5
"""The imports; then build, trace, save, load and draw, for each network."""


def run_demo(folder: Path, console: Console) -> None:
    """Trace three networks, print what they computed, and leave bundles and pictures in a folder.

    Args:
        folder: where to write; it is made when it is not there, and files of an earlier demo are replaced.
        console: where to print.

    Raises:
        MissingDependencyError: torchvision or transformers is not installed.
        ArtifactError: the folder cannot be made.
    """
    started = perf_counter_ns()
    check_folder(folder)
    console.print("TorchLens traces three networks with random weights. Nothing is downloaded.")
    with progress_bar(console, STEPS) as begin:
        begin("importing torch, torchvision and transformers")
        networks = load_networks()
        make_folder(folder)
        for network in networks:
            show_network(network, folder, console, begin)
    duration = Duration.from_ns(perf_counter_ns() - started)
    console.print(farewell(folder, networks[0], duration), soft_wrap=True, markup=False)


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be one, before anything long begins.

    Raises:
        ArtifactError: it is a file, or lies in one (code `folder_unusable`).
    """
    standing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not standing.is_dir():
        raise unusable(folder, f"{standing} is a file")


def make_folder(folder: Path) -> None:
    """Make the folder where it is not there.

    Raises:
        ArtifactError: that is refused (code `folder_unusable`).
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(folder, error.strerror or str(error)) from None


def unusable(folder: Path, reason: str) -> ArtifactError:
    """The refusal of a folder."""
    return ArtifactError(
        f"The demo cannot write to {folder}: {reason}.",
        code="folder_unusable",
        remedy="torchlens demo --folder PATH, where PATH is a folder that can be written",
        folder=str(folder),
    )


def load_networks() -> tuple[DemoNetwork, ...]:
    """Import the libraries that the demo's networks come from."""
    try:
        for library in ("torchvision", "transformers"):
            import_module(library)
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"The demo builds its networks with torchvision and transformers, and {error.name} is not installed.",
            code="missing_dependency",
            remedy="pip install 'torchlens[demo]'",
            module=error.name,
        ) from None
    from torchlens._demo_networks import NETWORKS  # noqa: PLC0415

    return NETWORKS


def show_network(network: DemoNetwork, folder: Path, console: Console, begin: Callable[[str], None]) -> None:
    """Do with one network all that the demo does, and print it."""
    # They load torch and the drawing code, which the other commands do without.
    import tl_torch  # noqa: PLC0415
    import tl_viz  # noqa: PLC0415

    console.print(f"\n[bold]{network.name}[/bold]: {network.story}\n")
    begin(f"building {network.name}")
    model, inputs = network.build()

    begin(f"tracing {network.name}")
    trace, duration = timed(lambda: tl_torch.trace(model, inputs))
    console.print(trace.summary())
    op = trace.ops[network.site]
    say = partial(console.print, soft_wrap=True, markup=False)
    count = sum(op.kind == "op" for op in trace.ops)
    say(f"\ntraced     {count} operations in {duration}")
    say(f"looked up  trace.ops[{network.site!r}]: {op.dtype} {' x '.join(map(str, op.shape))}")

    begin(f"saving {network.name}")
    bundle, duration = timed(lambda: trace.save(folder / f"{network.name}.tlspec", overwrite=True))
    say(f"saved      {bundle}: {size_on_disk(bundle)} in {duration}")

    begin(f"loading {network.name}")
    loaded, duration = timed(lambda: tl_torch.load(bundle, lazy=True))
    verdict = "the same" if same(loaded.ops[network.site].out, op.out) else "NOT THE SAME"
    say(f"loaded     in {duration}; the activation read back is {verdict}, bit by bit")

    begin(f"drawing {network.name}")
    picture, duration = timed(lambda: tl_viz.draw(trace).save(folder / f"{network.name}.svg"))
    say(f"drew       {picture} in {duration}")


def same(one: object, other: object) -> bool:
    """Say whether two tensors hold the same values."""
    import torch  # noqa: PLC0415  # the demo's values are torch tensors

    return isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor) and torch.equal(one, other)


def timed(work: Callable[[], Result]) -> tuple[Result, Duration]:
    """Do the work and say how long it took."""
    started = perf_counter_ns()
    return work(), Duration.from_ns(perf_counter_ns() - started)


def size_on_disk(path: Path) -> str:
    """Return how many files a bundle has and how large they are."""
    files = [file for file in path.rglob("*") if file.is_file()]
    return f"{len(files)} files, {Bytes(sum(file.stat().st_size for file in files))}"


def farewell(folder: Path, network: DemoNetwork, duration: Duration) -> str:
    """Say where the files are, how long it took and what to try next."""
    bundle = folder / f"{network.name}.tlspec"
    command = "uv run torchlens" if "UV" in os.environ else "torchlens"  # `uv run` sets it
    return (
        f"\nDone in {duration}. The bundles and pictures are in\n  {folder.resolve()}\n\n"
        f"Try next:\n  {command} summary {bundle}\n  {command} show {bundle} {network.site}"
    )
