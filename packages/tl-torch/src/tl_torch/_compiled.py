"""Compiled parts of a model run as the Python that they were compiled from."""

from __future__ import annotations

import functools
import sys
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, final

import torch
from torch import nn

from tl_core import TorchLensWarning, warn_caller
from tl_torch._seams_table import compiler_held_off
from tl_torch._torch_private import own_children

if TYPE_CHECKING:
    from collections.abc import Generator


@final
class Eagerly:
    """A context in which compiled functions of the running thread run as their source."""

    __slots__ = ("_force", "_running")

    def __init__(self) -> None:
        self._force: AbstractContextManager[Any] | None = None
        self._running = False

    def __enter__(self) -> Eagerly:
        self._running = True
        if "torch._dynamo" in sys.modules:
            self.begin()
        return self

    def __exit__(self, *_error: object) -> None:
        self._running = False
        self._end()

    def begin(self) -> None:
        """Hold the compiler off, now that there is one."""
        if self._force is None and self._running:
            set_stance = vars(torch.compiler).get("set_stance")  # since torch 2.6
            self._force = compiler_held_off() if set_stance is None else set_stance("force_eager")
            assert self._force is not None
            self._force.__enter__()

    def _end(self) -> None:
        force, self._force = self._force, None
        if force is not None:
            force.__exit__(None, None, None)

    @contextmanager
    def suspended(self) -> Generator[None, None, None]:
        """Let the compiler work in between."""
        self._end()
        try:
            yield
        finally:
            self.begin()


@functools.cache
def note_unwrapped() -> None:
    """Say once a process that compiled models are traced as their source."""
    warn_caller(
        TorchLensWarning(
            "The model is compiled: the trace shows the Python source that it was compiled from, not the kernels that "
            "the compiler made of it. After a trace the compiled model may compile itself again once or twice.",
            code="compiled_model_unwrapped",
        )
    )


def is_compiled(kind: type) -> bool:
    """Whether modules of a class are what the compiler makes of other modules."""
    return kind.__name__ == "OptimizedModule" and kind.__module__.startswith("torch._dynamo")


def source_of(module: nn.Module) -> nn.Module | None:
    """The module that a compiled one was made from, or None for an ordinary module."""
    if not is_compiled(type(module)):
        return None
    return own_children(module).get("_orig_mod")  # its own attribute access goes to the source
