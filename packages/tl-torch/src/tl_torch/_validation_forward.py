"""A plain forward pass that is watched at the boundaries of its modules and nowhere else."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast, final

import torch
from torch import nn

from tl_core import ModuleTruth
from tl_torch._compiled import Eagerly, source_of
from tl_torch._frames import caller
from tl_torch._higher_order import is_own_compilation
from tl_torch._interpreter import recording
from tl_torch._seams_table import ModuleCallHandler, install, remove, suspended
from tl_torch._structure import tensors_in
from tl_torch._torch_private import current_functorch_level, snapshot, storage_key

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from tl_torch._preflight import Target


def _named(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    yield from cast("Iterator[tuple[str, nn.Module]]", model.named_modules())


@final
class BoundaryWatcher:
    """Notes what the caller of each module receives."""

    def __init__(self, model: nn.Module, given: Sequence[torch.Tensor]) -> None:
        self._addresses: dict[int, str] = {
            id(module): name.removesuffix("._orig_mod") for name, module in _named(model)
        }
        held = [*model.parameters(), *model.buffers(), *given]
        self._foreign = {storage_key(tensor) for tensor in held if tensor.layout is torch.strided}
        self.modules: list[ModuleTruth] = []

    def module_call(
        self, original: Callable[..., Any], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a module call and keep a snapshot of what it returns."""
        address = self._addresses.get(id(module))
        if address is None or source_of(module) is not None or current_functorch_level() is not None:
            return original(module, *args, **kwargs)  # a module that was compiled is seen where its source runs
        kept: list[torch.Tensor] = []
        self.modules.append(ModuleTruth(address, kept))  # a module that calls itself begins before what it calls
        result = original(module, *args, **kwargs)
        kept.extend(self.snapshot(tensor) for _, tensor in tensors_in(result))
        return result

    def snapshot(self, tensor: torch.Tensor) -> torch.Tensor:
        """A copy that later writes do not reach; shares memory where the run made it."""
        tensor = tensor.detach()
        if tensor.layout is not torch.strided or storage_key(tensor) in self._foreign:
            return tensor.clone()
        return snapshot(tensor)


@final
class Passing:
    """Lets everything through that a recorder would record; compiled functions run as their source."""

    def __init__(self) -> None:
        self.eagerly = Eagerly()

    def scripted_call(self, original: Callable[..., Any], function: Any, args: Any, kwargs: Any) -> Any:
        """Run a TorchScript function."""
        return original(function, *args, **kwargs)

    def transform_call(self, kind: str, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a transform."""
        return original(*args, **kwargs)

    def compile_call(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run `torch.compile`, and what torch itself compiles in order to run it."""
        frame = caller(2)  # beyond what stands in for `torch.compile`
        compiled = original(*args, **kwargs)
        self.eagerly.begin()
        if not is_own_compilation(frame, kwargs):
            return compiled

        def run(*given: Any, **named: Any) -> Any:
            with self.eagerly.suspended(), suspended():
                return compiled(*given, **named)

        return run

    def python_call(
        self, original: Callable[..., Any], function: Callable[..., Any], relevant: Any, args: Any, kwargs: Any
    ) -> Any:
        """Run a function of torch that is written in Python."""
        return original(function, relevant, *args, **kwargs)

    def backward_call(self, original: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run the engine of autograd."""
        return original(*args, **kwargs)

    def marked_dirty(self, context: Any, tensors: tuple[Any, ...]) -> None:
        """Nothing depends on what a function says of its writes."""


@final
class Unwatched:
    """Runs module calls as they are."""

    def module_call(
        self, original: Callable[..., Any], module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a module call."""
        return original(module, *args, **kwargs)


@contextmanager
def as_source(watcher: ModuleCallHandler) -> Generator[None, None, None]:
    """Where a model runs as a trace records it: compiled functions as their source, attention as its parts."""
    passing = Passing()
    install(watcher, passing)
    try:
        with recording, unfused_attention(), passing.eagerly:
            yield
    finally:
        remove()


def plain_forward(
    target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[torch.Tensor], list[ModuleTruth]]:
    """Run a model as it is.

    Returns:
        The tensors that it returned, and those that its modules returned.
    """
    watcher = BoundaryWatcher(target.model, [tensor for _, tensor in tensors_in([args, kwargs])])
    with as_source(watcher):
        result = target.run(args, kwargs)
    return [watcher.snapshot(tensor) for _, tensor in tensors_in(result)], watcher.modules


@contextmanager
def unfused_attention() -> Generator[None, None, None]:
    """Hold off the fused attention of evaluation mode, which a trace records as its parts."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
