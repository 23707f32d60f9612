"""What torch's dispatcher computes, seen from below: the oracle for recorded values.

It imports nothing of TorchLens and works at another level: it clones what each dispatched operator returns, and
after a write also every living tensor that lies in the same memory.
"""

from __future__ import annotations

import hashlib
import weakref
from bisect import bisect_left
from collections import defaultdict

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Key = tuple[str, tuple[int, ...], bytes]


def fingerprint(tensor: torch.Tensor) -> Key:
    """Return dtype, shape and a digest of every byte of a tensor."""
    plain = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    content = plain.reshape(-1).view(torch.uint8).numpy()
    return str(plain.dtype), tuple(plain.shape), hashlib.blake2b(content, digest_size=16).digest()


class Oracle(TorchDispatchMode):
    """Fingerprints of everything that was computed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: dict[Key, list[int]] = defaultdict(list)
        """The numbers of the dispatched calls at which a value was seen, ascending."""
        self.clock = 0
        self._living: dict[int, list[weakref.ref[torch.Tensor]]] = defaultdict(list)

    def __torch_dispatch__(self, func: object, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        result = func(*args, **(kwargs or {}))
        self.clock += 1
        arguments = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        for tensor in arguments + outputs:
            self._remember(tensor)
        for tensor in outputs:
            self.see(tensor)
        if func._schema.is_mutable:
            self._see_memory_of(arguments)
        return result

    def see(self, tensor: torch.Tensor) -> None:
        """Note that a value existed now."""
        moments = self.moments[fingerprint(tensor)]
        if not moments or moments[-1] != self.clock:
            moments.append(self.clock)

    def _remember(self, tensor: torch.Tensor) -> None:
        self._living[tensor.untyped_storage()._cdata].append(weakref.ref(tensor))

    def _see_memory_of(self, written: list[torch.Tensor]) -> None:
        for key in {tensor.untyped_storage()._cdata for tensor in written}:
            for reference in self._living[key]:
                tensor = reference()
                if tensor is not None and tensor.untyped_storage()._cdata == key:
                    self.see(tensor)

    def first_from(self, value: Key, moment: int) -> int | None:
        """Return when `value` was first seen at `moment` or later; None if never."""
        moments = self.moments.get(value, [])
        at = bisect_left(moments, moment)
        return moments[at] if at < len(moments) else None
