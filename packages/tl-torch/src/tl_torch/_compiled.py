"""Compiled parts of a model run as the Python that they were compiled from."""

from __future__ import annotations

import functools
import sys
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from tl_core import TorchLensWarning, warn_caller
from tl_torch._torch_private import own_children


def eagerly() -> AbstractContextManager[object]:
    """A context in which compiled functions run uncompiled; on torch before 2.6 only compiled modules do."""
    set_stance = vars(torch.compiler).get("set_stance")
    if "torch._dynamo" not in sys.modules or set_stance is None:
        return nullcontext()
    return set_stance("force_eager")


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


def source_of(module: nn.Module) -> nn.Module | None:
    """The module that a compiled one was made from, or None for an ordinary module."""
    if type(module).__name__ != "OptimizedModule" or not type(module).__module__.startswith("torch._dynamo"):
        return None
    return own_children(module).get("_orig_mod")  # its own attribute access goes to the source
