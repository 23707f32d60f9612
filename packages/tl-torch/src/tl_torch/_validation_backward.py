"""Gradients of the recorded graph, held against plain autograd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tl_core import Trace, ValidationStatus
    from tl_torch._preflight import Target


def backward_status(
    target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], run: Trace, status: ValidationStatus
) -> ValidationStatus:
    """Not there yet."""
    raise NotImplementedError
