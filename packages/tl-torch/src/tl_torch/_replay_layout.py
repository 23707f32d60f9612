"""Memory that lies as it did: for functions that look at the memory of a tensor rather than at the tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from tl_core import UnreplayableError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def laid_out(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    layout: tuple[int, tuple[int, ...]],
) -> list[Any]:
    """Arguments whose first tensor lies where it lay when the call was recorded.

    Args:
        function: what is called.
        args: its arguments; the first is a tensor.
        kwargs: its named arguments.
        layout: storage offset and strides of that tensor then, in elements.

    Raises:
        UnreplayableError: the function reads memory beyond the tensor, which nobody kept.
    """
    tensor, (offset, strides) = args[0].detach(), layout
    if (tensor.storage_offset(), tuple(tensor.stride())) == layout and _reaches(function, args, kwargs):
        return list(args)
    if not tensor.numel():
        return [tensor, *args[1:]]
    extent = offset + sum((length - 1) * step for length, step in zip(tensor.shape, strides, strict=True)) + 1
    try:
        seen = _placed(torch.ones_like(tensor, dtype=torch.bool), extent, layout)
        inside = bool(function(seen, *args[1:], **kwargs).all())
    except RuntimeError:
        inside = False
    if not inside:
        raise UnreplayableError("memory_layout", "it reads memory beyond its argument, which was not kept")
    return [_placed(tensor, extent, layout), *args[1:]]


def _reaches(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the memory of the tensor is large enough as it is."""
    try:
        function(*args, **kwargs)
    except RuntimeError:
        return False
    return True


def _placed(tensor: torch.Tensor, extent: int, layout: tuple[int, tuple[int, ...]]) -> torch.Tensor:
    """The elements of a tensor in new memory, at an offset and with strides; zeros between them."""
    offset, strides = layout
    return _filled(tensor.new_zeros(extent).as_strided(tensor.shape, strides, offset), tensor)


def laid_in(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """The elements of a tensor in memory of its own, with these strides where they do not overlap."""
    try:
        return _filled(torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device), tensor)
    except RuntimeError:  # several elements in one place
        return tensor


def _filled(view: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """A view into which the elements of a tensor are copied; along steps of 0 they are the same anyway."""
    target, source = view, tensor
    for axis, step in enumerate(view.stride()):
        if step == 0:
            target, source = target.narrow(axis, 0, 1), source.narrow(axis, 0, 1)
    target.copy_(source)
    return view
