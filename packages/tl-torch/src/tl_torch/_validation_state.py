"""What a forward pass may change, put back afterwards: tensors, attributes, random generators."""

from __future__ import annotations

import copy
import random
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, cast, final

import torch
from torch import nn

from tl_torch._generators import generators_of
from tl_torch._ledger import NO_STORAGE
from tl_torch._structure import readable_tensors, tensors_in
from tl_torch._torch_private import storage_key
from tl_torch._values import same

_CONTAINERS = (list, dict, set, OrderedDict)


@final
class ModelState:
    """A model and its inputs as they are now."""

    def __init__(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._modules = [(module, dict(vars(module))) for module in model.modules()]
        """With their attributes."""
        self._containers = [
            (value, copy.copy(value))
            for _, attributes in self._modules
            for value in attributes.values()
            if type(value) in _CONTAINERS
        ]
        """Lists, dicts and sets among the attributes (parameters, buffers and children stand in such) as they are."""
        named = {id(tensor): tensor for _, tensor in tensors_in([args, kwargs])}
        held = {id(tensor): tensor for tensor in _held_tensors(model)}
        self._tensors = [(one, one.detach(), one.detach().clone()) for one in {**named, **held}.values()]
        """Each with what shows its memory and shape, and with its value."""
        leaves = [one for one in {**named, **held}.values() if one.is_leaf]
        self._gradients = [(one, one.grad, None if one.grad is None else one.grad.detach().clone()) for one in leaves]
        """Each leaf with its gradient, and with the value of that."""
        self._values = {id(tensor): value for tensor, _, value in self._tensors}
        self._generators = [(generator, generator.get_state()) for generator in generators_of(model, args, kwargs)]

    def value_of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """What a tensor held; None for one that was not there."""
        return self._values.get(id(tensor))

    def restore(self) -> None:
        """Put everything back that has changed."""
        for module, attributes in self._modules:
            now = vars(module)
            for name in now.keys() - attributes.keys():
                del now[name]
            now.update(attributes)
        for container, content in self._containers:
            _refill(container, content)
        for generator, state in self._generators:
            generator.set_state(state)
        with torch.no_grad():
            for tensor, place, value in self._tensors:
                if not same(tensor, value):
                    if _was_moved(tensor, place):
                        tensor.data = place
                    place.copy_(value)
            for tensor, gradient, value in self._gradients:
                if tensor.grad is not gradient:
                    tensor.grad = gradient
                if gradient is not None and value is not None and not same(gradient, value):
                    gradient.copy_(value)


def _was_moved(tensor: torch.Tensor, place: torch.Tensor) -> bool:
    """Whether a tensor was given another memory, shape or type, as `resize_` and `Module.double` do."""
    if (tensor.dtype, tensor.shape, tensor.layout) != (place.dtype, place.shape, place.layout):
        return True
    return tensor.layout is torch.strided and (
        tensor.stride() != place.stride() or storage_key(tensor) != storage_key(place)
    )


def sharing_buffers(model: nn.Module) -> frozenset[str]:
    """Addresses of the buffers whose memory another tensor of the model shows too."""
    holders: dict[int, set[int]] = {}
    for tensor in _held_tensors(model):
        holders.setdefault(_memory_key(tensor), set()).add(id(tensor))
    return frozenset(name for name, buffer in model.named_buffers() if len(holders[_memory_key(buffer)]) > 1)


def _memory_key(tensor: torch.Tensor) -> int:
    """Identity of the storage of a tensor, or of the tensor where it has no ordinary one."""
    try:
        return storage_key(tensor)
    except NO_STORAGE:
        return -id(tensor)


def _held_tensors(model: nn.Module) -> Iterator[torch.Tensor]:
    """Every tensor that a model can reach: parameters, buffers and what lies in attributes; some more than once."""
    unreadable: dict[str, str] = {}  # the trace has a row for each
    for module in model.modules():
        for name, value in vars(module).items():
            for _, tensor in readable_tensors(value, name, unreadable):
                yield tensor


def _refill(container: Any, content: Any) -> None:
    if container == content if type(container) is set else _identical(container, content):
        return
    container.clear()
    if isinstance(container, list):
        cast("list[Any]", container).extend(content)
    else:
        cast("Any", container).update(content)


def _identical(container: Any, content: Any) -> bool:
    if len(container) != len(content):
        return False
    if isinstance(container, Mapping):
        pairs = cast("Mapping[Any, Any]", container)
        return list(pairs) == list(content) and all(pairs[key] is content[key] for key in pairs)
    return all(one is other for one, other in zip(container, content, strict=True))


@final
class RandomState:
    """Where the generators of torch, Python and numpy stand."""

    def __init__(self) -> None:
        self._torch = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
        self._python = random.getstate()
        numpy = cast("Any", sys.modules.get("numpy"))
        self._numpy = None if numpy is None else numpy.random.get_state()

    def restore(self) -> None:
        """Put them back there."""
        torch.set_rng_state(self._torch)
        if self._cuda is not None:
            torch.cuda.set_rng_state_all(self._cuda)
        random.setstate(self._python)
        if self._numpy is not None:
            cast("Any", sys.modules["numpy"]).random.set_state(self._numpy)


def fresh(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same tensors in copies of what holds them, so that a run cannot change the caller's lists and caches."""
    memo: dict[int, Any] = {id(tensor): tensor for _, tensor in tensors_in([args, kwargs])}
    try:
        copied = copy.deepcopy((args, kwargs), memo)
    except (TypeError, RuntimeError, AttributeError):  # something that cannot be copied, such as a lock or a generator
        return args, kwargs
    return copied
