"""What torch supplies to the records: costs, host copies, replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, final

import torch

from tl_core import CallRecord, Examiner, FrameworkValue, HostArray, MemoryKey, OpCost, OpRecord
from tl_torch._cost import cost
from tl_torch._identity import function_of, identity_of, revived
from tl_torch._replay import TorchExaminer
from tl_torch._replay_layout import laid_in
from tl_torch._snapshot import lend
from tl_torch._structure import tensors_in
from tl_torch._torch_private import copied_node_name, data_address, host_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@final
class TorchBackend:
    """The backend called `torch`."""

    @property
    def name(self) -> str:
        """Registered name."""
        return "torch"

    def cost(self, call: CallRecord, outputs: Sequence[OpRecord]) -> OpCost | None:
        """Work of a recorded call, from shapes alone; None for an unknown operator."""
        return cost(call, outputs)

    def to_host(self, value: object) -> HostArray:
        """Copy a payload into host memory."""
        plain = cast("torch.Tensor", value).detach().to("cpu").resolve_conj().resolve_neg()
        if plain.layout is not torch.strided:
            plain = plain.to_dense()
        data = host_bytes(plain.contiguous()) if plain.numel() else memoryview(b"")
        return HostArray(dtype=str(plain.dtype).rpartition(".")[2], shape=tuple(plain.shape), data=data)

    def from_host(self, array: HostArray, device: str = "cpu") -> torch.Tensor:
        """Rebuild a tensor from host memory."""
        dtype = getattr(torch, array.dtype)
        if 0 in array.shape:
            return torch.empty(array.shape, dtype=dtype, device=device)
        flat = torch.frombuffer(bytearray(array.data), dtype=torch.uint8)
        value = flat.view(dtype).reshape(array.shape).to(device)
        return value if array.strides is None else laid_in(value, array.strides)

    def storage_key(self, value: object) -> MemoryKey:
        """Where the elements of a payload lie, without touching them.

        Raises:
            TypeError: they lie nowhere, not in one block, or mean nothing alone; the message says what such a value is.
        """
        tensor = cast("torch.Tensor", value)
        if (kind := _unusual_kind(tensor)) is not None:
            raise TypeError(kind)
        if tensor.layout is not torch.strided:  # `to_host` spreads its elements out
            return MemoryKey(
                space=("spread", id(tensor)),
                address=0,
                dtype=str(tensor.dtype).rpartition(".")[2],
                shape=tuple(tensor.shape),
                strides=torch.empty(tensor.shape, device="meta").stride(),
            )
        return MemoryKey(
            space=(str(tensor.device), tensor.is_conj(), tensor.is_neg()),
            address=data_address(tensor),
            dtype=str(tensor.dtype).rpartition(".")[2],
            shape=tuple(tensor.shape),
            strides=tuple(tensor.stride()),
        )

    def replay(self, call: CallRecord, args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
        """Run a recorded call again on tensors."""
        function = call.func
        assert function is not None
        return function(*args, **kwargs)

    def lend(self, value: object) -> torch.Tensor:
        """A tensor equal to a payload; writing to it leaves the payload as it was."""
        return lend(cast("torch.Tensor", value))

    def node_name(self, value: object) -> str | None:
        """Class name of the autograd node that made the tensor of which a payload is a copy; None where none did."""
        return copied_node_name(cast("torch.Tensor", value))

    def identify(self, function: Callable[..., Any]) -> str | None:
        """The name under which `resolve` finds a function again; None for one that has no such name."""
        return identity_of(function)

    def resolve(self, identity: str) -> Callable[..., Any] | None:
        """The function that a name stands for; None where it is none that only computes."""
        return function_of(identity)

    def revive(self, value: FrameworkValue) -> object:
        """A dtype, device, memory format or layout from its name."""
        return revived(value)

    def tensors_in(self, value: object) -> list[torch.Tensor]:
        """The tensors inside what a model returned, in the order of the recorded outputs."""
        return [tensor for _, tensor in tensors_in(value)]

    def examiner(self) -> Examiner:
        """Replay, comparison and perturbation on tensors where they lie."""
        return TorchExaminer()


def _unusual_kind(tensor: torch.Tensor) -> str | None:
    """What a tensor is whose elements cannot be read as one block, or need a scale; None for an ordinary one."""
    if tensor.is_quantized:
        return "a quantized tensor"
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.is_meta:
        return "a meta tensor"
    if tensor.layout is torch.strided and tensor.numel() and not data_address(tensor):
        return f"a {type(tensor).__name__} without memory of its own"
    return None
