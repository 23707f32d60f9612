"""Health of a model on given inputs: trace it, then ask the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tl_core import fitting
from tl_torch._preflight import arguments, target_of
from tl_torch._trace import trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from tl_core import FindNanResult


@fitting("tl.debug.find_nan")
def find_nan(
    model: torch.nn.Module | Any, inputs: Any = None, input_kwargs: Mapping[str, Any] | None = None
) -> FindNanResult:
    """Run a model and find the op in which the first NaN appears, or else the first that makes an infinity.

    Args:
        model: an `nn.Module`, or a bound method of one.
        inputs: one positional argument, or a list or tuple of them; `()` for none.
        input_kwargs: keyword arguments of the model.

    Returns:
        The op, its module and its line; true where something was found.

    Example:
        >>> import torch
        >>> find_nan(torch.nn.Threshold(0.0, float("nan")), -torch.ones(3)).func_name
        'threshold'
    """
    target_of(model, "tl.debug.find_nan")
    arguments(inputs, input_kwargs, "tl.debug.find_nan")
    return trace(model, inputs, input_kwargs).find_nan()
