"""Backward passes inside the forward: what they leave in `.grad` is the result of one op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch
from msgspec import Struct

from tl_core import UnreplayableError
from tl_torch._function_table import FunctionInfo, info_of
from tl_torch._torch_private import (
    WithoutFunctionMode,
    function_mode_depth,
    torch_function_disabled,
    torch_function_enabled,
    version_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tl_torch._capture import Recorder

BACKWARD = FunctionInfo("backward", "torch.autograd.backward", "call", "moved")
BACKWARD.meta = {"transform_kind": "autograd.backward"}
BACKWARD.trusted = False
_GRAD: Any = torch.Tensor.grad


@final
class Accumulated:
    """Stands for a backward pass that added to gradients which were there before."""

    __name__ = "backward"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: the gradients alone are no longer known.

        Raises:
            UnreplayableError: always.
        """
        raise UnreplayableError("accumulated_gradient", "it added to gradients that were there before")


@final
class _Held(Struct, gc=False, eq=False):
    """The gradient that a tensor held."""

    gradient: torch.Tensor | None
    version: int

    @staticmethod
    def of(tensor: torch.Tensor) -> _Held:
        gradient = tensor.grad
        return _Held(gradient, -1 if gradient is None else version_of(gradient))

    def has_become(self, now: _Held) -> bool:
        """Whether a backward pass has left something since."""
        return now.gradient is not None and (now.gradient is not self.gradient or now.version != self.version)


@final
class BackwardPasses:
    """Records the backward passes of one run."""

    __slots__ = ("_recorder", "_under_way")

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._under_way = False

    def run(self, original: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run what the engine of autograd was asked for; record it where it is to leave gradients in tensors."""
        if self._under_way or not kwargs.get("accumulate_grad"):
            return original(*args, **kwargs)
        self._under_way = True
        try:
            with torch_function_disabled():
                self._recorded(original, args, kwargs)
        finally:
            self._under_way = False

    def _recorded(self, original: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        recorder = self._recorder
        roots = args[0]
        tensors = [root for root in roots if isinstance(root, torch.Tensor)]
        targets = self._targets(tensors, args[4] if len(args) > 4 else ())
        before = [_Held.of(target) for target in targets]
        there = [target for target, held in zip(targets, before, strict=True) if held.gradient is not None]

        def run() -> list[torch.Tensor]:
            with torch_function_enabled():
                if function_mode_depth() == recorder.depth:
                    with WithoutFunctionMode():
                        original(*args, **kwargs)
                else:
                    original(*args, **kwargs)
            after = [_Held.of(target) for target in targets]
            return [
                now.gradient
                for held, now in zip(before, after, strict=True)
                if now.gradient is not None and held.has_become(now)
            ]

        weights = tuple([self._weight(weight) for weight in args[1]]) if len(tensors) == len(roots) else None
        named: dict[str, Any] = {"create_graph": bool(args[3]), "allow_unused": True}
        if there:
            named["accumulated"] = [self._gradient_of(target) for target in there]
        func = Accumulated() if there else torch.autograd.grad
        given = (tuple(tensors), tuple(targets), weights)
        recorder.boundary(func, BACKWARD, given, named, lambda: recorder.run_as(func, run))

    def _weight(self, weight: torch.Tensor | None) -> torch.Tensor | None:
        """What a root was weighted with; None for the one that torch makes for a root of one element."""
        return weight if weight is None or weight.numel() > 1 or self._recorder.knows(weight) else None

    def _gradient_of(self, target: torch.Tensor) -> torch.Tensor:
        """The gradient that a tensor holds; recorded as read where the run does not know it."""
        gradient = target.grad
        assert gradient is not None
        if not self._recorder.knows(gradient):
            getter = _GRAD.__get__
            self._recorder.boundary(getter, info_of(getter), (target,), {}, lambda: gradient)
        return gradient

    def _targets(self, roots: Iterable[torch.Tensor], asked: Iterable[Any]) -> list[torch.Tensor]:
        """The tensors that a backward pass leaves gradients in: those asked for, or the leaves and those that retain."""
        wanted = [tensor for tensor in asked if isinstance(tensor, torch.Tensor)]
        if wanted:
            return wanted
        nodes, leaves = _behind(roots)
        retaining = [
            tensor
            for tensor in self._recorder.ledger.tensors()
            if tensor.grad_fn is not None and tensor.grad_fn in nodes and tensor.retains_grad
        ]
        return [*leaves, *retaining]


def _behind(roots: Iterable[torch.Tensor]) -> tuple[set[Any], list[torch.Tensor]]:
    """The autograd nodes behind some tensors, and the leaves at their ends, in the order in which they are met."""
    nodes: set[Any] = set()
    leaves = {id(root): root for root in roots if root.grad_fn is None}
    front = [root.grad_fn for root in roots if root.grad_fn is not None]
    while front:
        node = front.pop()
        if node in nodes:
            continue
        nodes.add(node)
        for leaf in _leaf(node):
            leaves.setdefault(id(leaf), leaf)
        front.extend(above for above, _ in reversed(node.next_functions) if above is not None)
    return nodes, list(leaves.values())


def _leaf(node: Any) -> Iterator[torch.Tensor]:
    if node.name().endswith("AccumulateGrad"):
        yield node.variable
