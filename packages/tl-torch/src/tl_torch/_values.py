"""Comparing tensors: equality, differences beyond rounding, finiteness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tl_core import Difference, Finiteness, array_difference
from tl_torch._torch_private import host_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

MANY = 4096
"""Elements from which a comparison of bytes is quicker than torch's own."""
MAX_SEARCHED = 1 << 22
"""Most elements among which values are looked up one by one."""
ROUNDING = 4.0
"""Allowed difference in units of the dtype's rounding, relative to the largest element, for a single addition."""


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors have the same shape, dtype and elements; NaN equals NaN."""
    if left is right:
        return True
    if left.is_nested or right.is_nested:
        both = left.is_nested and right.is_nested
        return both and _same_rows(left.detach().unbind(), right.detach().unbind())
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    left, right = comparable(left), comparable(right)
    if left.device != right.device:
        left, right = left.cpu(), right.cpu()
    if left.numel() >= MANY and _same_bytes(left, right):
        return True
    if torch.equal(left, right):
        return True
    if not (left.is_floating_point() or left.is_complex()) or not _may_hold_nan(left):
        return False
    return bool(((left == right) | ((left != left) & (right != right))).all())


def _same_rows(left: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> bool:
    return len(left) == len(right) and all(same(one, other) for one, other in zip(left, right, strict=True))


def comparable(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of any tensor, of small floats as their bits, of small complex numbers as pairs, outside autograd."""
    tensor = tensor.detach()
    if tensor.is_quantized:
        return tensor.int_repr()
    if tensor.layout is not torch.strided:
        return tensor.to_dense()
    if tensor.dtype is torch.complex32:
        return torch.view_as_real(tensor.resolve_conj())
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1:
        return tensor.contiguous().view(torch.uint8)
    return tensor


def _same_bytes(left: torch.Tensor, right: torch.Tensor) -> bool:
    plain = left.device.type == "cpu" and left.is_contiguous() and right.is_contiguous()
    if not plain or left.is_conj() or right.is_conj() or left.is_neg() or right.is_neg():
        return False
    return np.array_equal(np.frombuffer(host_bytes(left), np.uint8), np.frombuffer(host_bytes(right), np.uint8))


def _may_hold_nan(tensor: torch.Tensor) -> bool:
    total = wider(tensor).sum()
    return bool(total != total)


def wider(tensor: torch.Tensor) -> torch.Tensor:
    """The values in a dtype that torch can sum; the tensor itself where its own is one."""
    if tensor.dtype is torch.complex32:
        return tensor.to(torch.complex64)
    return tensor.float() if tensor.is_floating_point() and tensor.dtype.itemsize == 1 else tensor


def finiteness(tensor: torch.Tensor) -> Finiteness:
    """How many elements are finite."""
    tensor = tensor.detach()
    if tensor.is_nested:
        tensor = torch.cat([row.reshape(-1) for row in tensor.unbind()])
    if not (tensor.is_floating_point() or tensor.is_complex()) or not tensor.numel() or tensor.is_quantized:
        return "all"
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    tensor = wider(tensor)
    if bool(torch.isfinite(tensor.sum())):
        return "all"
    finite = torch.isfinite(tensor)
    return "all" if bool(finite.all()) else "some" if bool(finite.any()) else "none"


def difference(saved: torch.Tensor, again: torch.Tensor, depth: int) -> Difference | None:
    """How two tensors differ beyond rounding, or None.

    Args:
        saved: what the trace holds.
        again: what was computed again.
        depth: multiply-adds behind one element.
    """
    if saved.shape != again.shape or saved.dtype != again.dtype:
        one, other = f"{saved.dtype} {list(saved.shape)}", f"{again.dtype} {list(again.shape)}"
        return Difference(f"{other.replace('torch.', '')} instead of {one.replace('torch.', '')}")
    if same(saved, again):
        return None
    tolerance = 0.0
    if saved.dtype.is_floating_point or saved.dtype.is_complex:
        tolerance = ROUNDING * torch.finfo(saved.dtype).eps * max(1.0, depth**0.5)
    return array_difference(_array(saved), _array(again), min(tolerance, 0.25))


def _array(tensor: torch.Tensor) -> np.ndarray[Any, np.dtype[Any]]:
    plain = tensor.detach().cpu()
    if plain.is_quantized:
        plain = plain.int_repr()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.is_floating_point():
        plain = plain.double()
    elif plain.is_complex():
        plain = plain.to(torch.complex128)
    return plain.resolve_conj().resolve_neg().numpy()


def contains(value: torch.Tensor, sources: Sequence[torch.Tensor]) -> bool:
    """Whether each element of `value` occurs in one of `sources`; True where there are too many to look up."""
    if sum(source.numel() for source in sources) > MAX_SEARCHED or value.numel() > MAX_SEARCHED:
        return True
    if any(source.dtype != value.dtype for source in sources) or value.is_complex() or value.is_quantized:
        return True
    elements = _array(value)
    known = np.concatenate([_array(source).reshape(-1) for source in sources] or [np.empty(0)])
    found = np.isin(elements, known)
    return bool(np.all(found | (elements != elements)))
