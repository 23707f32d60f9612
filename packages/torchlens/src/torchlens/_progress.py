"""A progress bar on a terminal, and none in a pipe."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console


@contextmanager
def progress_bar(console: Console, steps: int) -> Generator[Callable[[str], None]]:
    """Show a bar of `steps` steps while the body runs, if `console` is a terminal.

    Args:
        console: where the body prints; what it prints stands above the bar.
        steps: how many steps there are.

    Yields:
        A function that names the step which begins now.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=steps)
        begun = 0

        def begin(description: str) -> None:
            nonlocal begun
            progress.update(task, description=description, completed=begun)
            begun += 1

        yield begin
