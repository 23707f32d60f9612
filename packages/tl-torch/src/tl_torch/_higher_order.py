"""Operators that are given functions (`torch.cond`, `while_loop`, `flex_attention`): one op each.

Torch compiles such a call, which makes every tensor that its functions read an argument of a graph, those in closures
and the parameters of modules included. That graph is what is recorded and what runs again.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast, final

import torch
from torch import nn

from tl_core import UnreplayableError
from tl_torch._structure import tensors_in
from tl_torch._torch_private import HigherOrderOperator

if TYPE_CHECKING:
    from types import FrameType

_TORCH = os.path.dirname(torch.__file__) + os.sep
_PLACES = (os.path.join(_TORCH, "_higher_order_ops") + os.sep, os.path.join(_TORCH, "nn", "attention") + os.sep)
"""Where torch compiles a higher-order operator in order to run it."""
_NAMELESS = "higher_order"
_listening = threading.local()

GraphModule = Callable[..., Any]


def is_own_compilation(frame: FrameType, options: Mapping[str, object]) -> bool:
    """Whether it is torch that compiles something, to run a higher-order operator: as one graph, or not at all."""
    return bool(options.get("fullgraph")) and frame.f_code.co_filename.startswith(_PLACES)


@final
class Lifted:
    """A call of a higher-order operator as a function of every tensor that it reads."""

    __slots__ = ("_graph", "_positions", "kind")

    def __init__(self, kind: str, graph: GraphModule | None, positions: Sequence[int]) -> None:
        self.kind = kind
        self._graph = graph
        self._positions = positions
        """Which of the outputs of the graph were returned, in order."""

    @property
    def __name__(self) -> str:
        return self.kind

    def __call__(self, *inputs: Any) -> tuple[torch.Tensor, ...]:
        """Run it on other tensors."""
        if self._graph is None:
            raise UnreplayableError("graph_missing", f"{self.kind} did not show the graph that it ran")
        made = [tensor for _, tensor in tensors_in(self._graph(*inputs))]
        return tuple([made[position] for position in self._positions])


@final
class Heard:
    """What a compiled graph said when it ran."""

    __slots__ = ("graph", "inputs", "outputs")

    def __init__(self) -> None:
        self.graph: GraphModule | None = None
        self.inputs: Sequence[Any] = ()
        self.outputs: list[torch.Tensor] = []

    def __enter__(self) -> Heard:
        _listening.to = self
        return self

    def __exit__(self, *_error: object) -> None:
        _listening.to = None

    def name(self) -> str:
        """Name of the operator that the graph is about."""
        nodes: Any = () if self.graph is None else self.graph.graph.nodes  # pyright: ignore[reportFunctionMemberAccess]
        found = [node.target for node in nodes if isinstance(node.target, HigherOrderOperator)]
        return found[0].name() if found else _NAMELESS

    def lifted(self, result: object) -> Lifted:
        """The call as a function of the inputs of the graph, which returns the tensors in `result`."""
        places = {id(tensor): position for position, tensor in enumerate(self.outputs)}
        positions = [places.get(id(tensor), -1) for _, tensor in tensors_in(result)]
        return Lifted(self.name(), None if -1 in positions else self.graph, positions)


@functools.lru_cache(maxsize=8)  # torch compiles anew for a backend that it has not met
def speaking(backend: Any) -> Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]:
    """A backend of the compiler that tells the running `Heard` which graph runs on what."""

    def compiled(graph: GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        inner = backend(graph, examples)

        def run(*inputs: Any) -> Any:
            outputs = inner(*inputs)
            heard: Heard | None = getattr(_listening, "to", None)  # set on the threads that listen
            if heard is not None:
                heard.graph, heard.inputs = graph, inputs
                heard.outputs = [tensor for _, tensor in tensors_in(outputs)]
            return outputs

        return run

    return compiled


@final
class Applied:
    """A higher-order operator that is called directly, as a function of the tensors among its arguments."""

    __slots__ = ("_args", "_kwargs", "_operator", "kind")

    def __init__(self, operator: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self.kind = str(operator.name())
        self._operator = operator
        places = {id(tensor): number for number, (_, tensor) in enumerate(tensors_in([args, kwargs]))}
        self._args = _with_places(list(args), places)
        self._kwargs = {name: _with_places(value, places) for name, value in kwargs.items()}

    @property
    def __name__(self) -> str:
        return self.kind

    def __call__(self, *inputs: Any) -> Any:
        """Run it on other tensors."""
        kwargs = {name: _filled(value, inputs) for name, value in self._kwargs.items()}
        return self._operator(*_filled(self._args, inputs), **kwargs)


@final
class _Place:
    """Where a tensor goes."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def _with_places(value: Any, places: dict[int, int]) -> Any:
    if isinstance(value, torch.Tensor):
        return _Place(places[id(value)])
    return _mapped(value, lambda item: _with_places(item, places))


def _filled(value: Any, inputs: Sequence[Any]) -> Any:
    if isinstance(value, _Place):
        return inputs[value.number]
    return _mapped(value, lambda item: _filled(item, inputs))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) in (list, tuple):
        return type(value)([change(item) for item in value])
    if type(value) is dict:
        return {key: change(item) for key, item in cast("dict[Any, Any]", value).items()}
    return value


def held_params(args: Sequence[Any]) -> list[nn.Parameter]:
    """Parameters of the modules that are given as functions."""
    return [param for value in args if isinstance(value, nn.Module) for param in value.parameters()]
