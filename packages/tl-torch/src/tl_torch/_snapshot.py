"""Keeping a value: copy-on-write where that is safe, a real copy elsewhere."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Literal, final

import torch

from tl_core import DeferredPayload, MutatedReferenceError
from tl_torch._torch_private import lazy_clone, snapshot, torch_function_disabled, version_of

if TYPE_CHECKING:
    from tl_torch._ledger import Memory

SaveMode = Literal["copy", "reference", "view"]
_WRITTEN = -2


@final
class ReferencePayload(DeferredPayload):
    """A payload that is the model's own tensor; reading it after a later write refuses."""

    __slots__ = ("_value", "_version")

    def __init__(self, value: torch.Tensor) -> None:
        self._value = value
        self._version = version_of(value)

    @property
    def value(self) -> torch.Tensor:
        """The tensor, whatever it holds by now."""
        return self._value

    def mark_written(self) -> None:
        """Note a write during the run that the version counter of the tensor does not tell."""
        self._version = _WRITTEN

    @property
    def dtype(self) -> torch.dtype:
        """Element type of the value."""
        return self._value.dtype

    def materialize(self) -> torch.Tensor:
        """The tensor itself.

        Raises:
            MutatedReferenceError: it was written to since it was recorded.
        """
        if self._version == _WRITTEN or version_of(self._value) != self._version:
            raise MutatedReferenceError(
                'This value was kept with save_mode="reference" and was written in place after it was recorded.',
                code="mutated_reference",
                remedy='trace again with save_mode="copy"',
                recorded_version=self._version,
                version=version_of(self._value),
            )
        return self._value


@final
class AliasPayload(DeferredPayload):
    """A payload that shares the memory of the model's own tensor, and shows what is written there later."""

    __slots__ = ("_value",)

    def __init__(self, value: torch.Tensor) -> None:
        self._value = value

    def materialize(self) -> torch.Tensor:
        """The tensor, with what its memory holds by now."""
        return self._value


@final
class CopiedPayload(DeferredPayload):
    """A value that was copied when it was made."""

    __slots__ = ("_value",)

    def __init__(self, value: torch.Tensor) -> None:
        self._value = value

    def materialize(self) -> torch.Tensor:
        """An equal tensor that may be written to."""
        return lend(self._value)


def lend(kept: torch.Tensor) -> torch.Tensor:
    """A tensor equal to `kept` and attached to the same graph; writing to it leaves `kept` as it was."""
    with torch_function_disabled(), torch.set_grad_enabled(kept.requires_grad):
        return snapshot(kept)


@functools.cache
def settle_allocator() -> None:
    """Have the C library keep freed memory for the next allocation, once a process.

    glibc gives large blocks back to the kernel as soon as they are free, so that each new activation pays for fresh
    pages: on a convolutional network that costs more than everything else here. It stops doing so below 32 MiB, and
    keeps up to 64 MiB at the end of the heap, once it has seen a block of nearly that size freed (`M_MMAP_THRESHOLD`
    in mallopt(3)). Most programs free one sooner or later; the block is never touched, so it costs no memory.
    """
    torch.empty(_JUST_BELOW_32_MIB, dtype=torch.uint8)


_JUST_BELOW_32_MIB = (1 << 25) - (1 << 16)


@final
class Keeper:
    """Turns outputs into payloads as the options of the run say."""

    __slots__ = ("_compact", "_detach", "_mode", "attached", "references")

    def __init__(self, mode: SaveMode, *, detach: bool, compact: bool) -> None:
        self._mode: SaveMode = mode
        self.references = mode == "reference"
        """Whether payloads are the model's own tensors."""
        self._detach = detach
        self.attached = not detach and mode != "view"
        """Whether payloads keep the autograd graph that made them."""
        self._compact = compact
        """Whether a small view must not keep the large memory that it lies in."""

    def keep(self, tensor: torch.Tensor, memory: Memory) -> object:
        """A payload that holds what `tensor` holds now; None where torch cannot copy it."""
        if self._mode != "copy":
            return ReferencePayload(tensor) if self._mode == "reference" else AliasPayload(tensor.detach())
        if self._detach:
            tensor = tensor.detach()
        if memory.shared or (self._compact and 2 * tensor.nbytes < tensor.untyped_storage().nbytes()):
            return _copied(tensor)
        try:
            return lazy_clone(tensor)
        except RuntimeError:  # memory that torch did not allocate
            memory.shared = True
            return _copied(tensor)


def _copied(tensor: torch.Tensor) -> torch.Tensor | None:
    """A copy; None of a tensor that torch cannot copy."""
    if tensor.is_quantized and tensor.qscheme() is torch.per_channel_affine_float_qparams:
        return None
    return tensor.clone()
