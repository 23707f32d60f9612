"""Every private name of torch that capture cannot do without, typed, with the probes that adapt to the release."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import torch
from torch._ops import OpOverload as OpOverload
from torch._ops import OpOverloadPacket as OpOverloadPacket

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_C: Any = torch._C
_untyped: Any = torch.UntypedStorage

lazy_clone: Any = cast("Any", torch)._lazy_clone
"""Copy-on-write clone: shares memory until either side is written."""

current_functorch_level: Any = _C._functorch.maybe_current_level
"""Level of the innermost `torch.func` transform, or None outside any."""

is_functional_tensor: Any = cast("Any", torch)._is_functional_tensor


def storage_key(tensor: torch.Tensor) -> int:
    """Identity of the memory that `tensor` lies in, without touching the memory."""
    return tensor.untyped_storage()._cdata


def pin_storage_key(tensor: torch.Tensor) -> int:
    """Keep the identity of the memory of `tensor` from being used again; the memory itself is not kept.

    Returns a token for `unpin_storage_key`.
    """
    return cast("Any", tensor.untyped_storage())._weak_ref()


def unpin_storage_key(token: int) -> None:
    """Give back a token of `pin_storage_key`."""
    _untyped._free_weak_ref(token)


def storage_use_count(key: int) -> int:
    """Number of holders of a storage, the asking wrapper included."""
    return _C._storage_Use_Count(key)


def _fresh_use_count() -> int:
    tensor = torch.empty(1)
    storage = tensor.untyped_storage()
    return storage_use_count(storage._cdata)


FRESH_USE_COUNT = _fresh_use_count()
"""What `storage_use_count` says while only one tensor and one storage wrapper hold the memory."""


def version_of(tensor: torch.Tensor) -> int:
    """In-place write counter of `tensor`; -1 where there is none (inference tensors)."""
    try:
        return tensor._version
    except RuntimeError:
        return -1


def dispatch_mode_active() -> bool:
    """Whether a `TorchDispatchMode` of the user is running."""
    return _C._len_torch_dispatch_stack() > 0


def data_address(tensor: torch.Tensor) -> int:
    """Address of the first element, read without ending a copy-on-write share."""
    return _C._data_address(tensor) + tensor.storage_offset() * tensor.element_size()


def host_bytes(tensor: torch.Tensor) -> memoryview:
    """Bytes of a contiguous tensor in host memory, read without ending a copy-on-write share."""
    block: Any = (ctypes.c_char * tensor.nbytes).from_address(data_address(tensor))
    block.owner = tensor  # the view keeps the block alive, and the block the memory
    return memoryview(block).cast("B").toreadonly()


def function_modes_active() -> bool:
    """Whether a `TorchFunctionMode` is running."""
    return _C._len_torch_function_stack() > 0


torch_function_disabled: Any = _C.DisableTorchFunction
"""Context in which neither function modes nor tensor subclasses see what is called."""


@contextmanager
def torch_function_enabled() -> Generator[None]:
    """Undo `torch_function_disabled` inside it."""
    before = _C._get_torch_function_state()
    _C._set_torch_function_state(_C._TorchFunctionState.ENABLED)
    try:
        yield
    finally:
        _C._set_torch_function_state(before)


set_grad_enabled: Any = _C._set_grad_enabled
"""What `torch.no_grad` and its like call; it arrives like a function of tensors."""


def overloads_of(operator: OpOverload[..., Any] | OpOverloadPacket[..., Any]) -> list[Any]:
    """The overloads behind an operator."""
    if isinstance(operator, OpOverload):
        return [operator]
    return [getattr(operator, name) for name in operator.overloads()]


def is_mutable(overload: Any) -> bool:
    """Whether an operator declares that it writes an argument."""
    return overload._schema.is_mutable


_MODULE: Any = torch.nn.Module


def module_call_function() -> Callable[..., Any]:
    """What runs when a module is called."""
    return _MODULE._call_impl


def set_module_call_function(function: Callable[..., Any]) -> None:
    """Put `function` in the place of what runs when a module is called."""
    _MODULE._call_impl = function


def has_pre_hooks(module: torch.nn.Module) -> bool:
    """Whether the user registered hooks that see the arguments of a module first."""
    return bool(cast("Any", module)._forward_pre_hooks)


def own_params(module: torch.nn.Module) -> dict[str, torch.nn.Parameter | None]:
    """Parameters that a module owns directly, tied ones included."""
    return cast("Any", module)._parameters


def own_buffers(module: torch.nn.Module) -> dict[str, torch.Tensor | None]:
    """Buffers that a module owns directly, shared ones included."""
    return cast("Any", module)._buffers


def own_children(module: torch.nn.Module) -> dict[str, torch.nn.Module | None]:
    """Modules registered directly on a module, shared ones included."""
    return cast("Any", module)._modules


UninitializedTensorMixin: Any = cast("Any", torch.nn.parameter).UninitializedTensorMixin
"""Base of lazy parameters that have no shape yet."""
