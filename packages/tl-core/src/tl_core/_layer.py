"""One site of the model, with everything that happened there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, TypeVar, final

from tl_core._absent import absent
from tl_core._errors import LookupFailedError
from tl_core._facet import CostFacet
from tl_core._grid import printable
from tl_core._view import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from tl_core._facet import AutogradFacet, CallFacet, DistanceFacet, PayloadFacet
    from tl_core._op import Op
    from tl_core._record import OpKind
    from tl_core._source import Source
    from tl_core._state import State


V = TypeVar("V")

MOST_VALUES = 4
"""Different values of the passes that a message names."""


@final
class Layer(View):
    """The ops that are passes of one site: a place of the model that ran once or many times.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> class Net(torch.nn.Module):
        ...     def forward(self, x):
        ...         for _ in range(3):
        ...             x = torch.tanh(x)
        ...         return x
        >>> layer = tl.trace(Net(), torch.ones(2))["tanh_1_1"]
        >>> [op.label for op in layer.ops]
        ['tanh_1_1:1', 'tanh_1_1:2', 'tanh_1_1:3']
    """

    __slots__ = ("__weakref__", "_index", "_state")

    def __init__(self, state: State, index: int) -> None:
        self._state = state
        self._index = index

    @property
    def _members(self) -> list[int]:
        return self._state.grouping.members(self._index)

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Never:
            raise absent(self, "layer", name)

    @property
    def label(self) -> str:
        """Such as `conv2d_3_7`: the third conv2d, the seventh compute layer."""
        return self._state.labels.layer(self._index)

    @property
    def label_short(self) -> str:
        """Such as `conv2d_3`."""
        return self._state.labels.short(self._index)

    @property
    def index(self) -> int:
        """Position among the layers, ordered by their first pass, from 0."""
        return self._index

    @property
    def ops(self) -> tuple[Op, ...]:
        """The passes, first one first."""
        return tuple([self._state.op(index) for index in self._members])

    @property
    def num_passes(self) -> int:
        """How often the site ran."""
        return self._state.grouping.size(self._index)

    @property
    def func_name(self) -> str:
        """The function as people know it; the kind for sources and outputs."""
        return self._first.func_name

    @property
    def type(self) -> str:
        """The function in the spelling of labels."""
        return self._state.labels.type(self._index)

    @property
    def kind(self) -> OpKind:
        """`input`, `buffer`, `constant`, `op` or `output`."""
        return self._first.kind

    @property
    def module(self) -> str:
        """Address of the innermost module; empty in the model itself. It is the same in all passes of a computed layer."""
        return self._first.module

    @property
    def params(self) -> tuple[str, ...]:
        """Addresses of the parameters that it reads."""
        return self._first.params

    @property
    def address(self) -> str:
        """Where a source or output lives; empty for computed layers."""
        return self._first.address

    @property
    def parents(self) -> tuple[str, ...]:
        """Labels of the layers that any pass was computed from; its own where it feeds itself."""
        edges = self._state.edges
        return self._names([parent for op in self._members for parent in edges.parents(op)])

    @property
    def children(self) -> tuple[str, ...]:
        """Labels of the layers that were computed from any pass; its own where it feeds itself."""
        edges = self._state.edges
        return self._names([child for op in self._members for child in edges.children(op)])

    def _names(self, ops: list[int]) -> tuple[str, ...]:
        layer_of = self._state.grouping.layer_of
        return tuple([self._state.labels.layer(layer) for layer in dict.fromkeys([layer_of[op] for op in ops])])

    @property
    def cost(self) -> CostFacet:
        """Work and time of all passes together."""
        ops = self._state.records.ops
        calls = {call.index: call for op in self._members if (call := ops[op].call) is not None}
        return CostFacet(self._state, tuple(calls.values()))

    # facts of the passes, where they agree

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the tensor; refuses where the passes differ."""
        return self._agreed("shape", lambda op: op.shape)

    @property
    def dtype(self) -> str:
        """Plain dtype; refuses where the passes differ."""
        return self._agreed("dtype", lambda op: op.dtype)

    @property
    def device(self) -> str:
        """Device; refuses where the passes differ."""
        return self._agreed("device", lambda op: op.device)

    @property
    def requires_grad(self) -> bool:
        """Whether autograd follows the tensor; refuses where the passes differ."""
        return self._agreed("requires_grad", lambda op: op.requires_grad)

    @property
    def source(self) -> Source | None:
        """Where the call stands in the user's code; refuses where the passes differ."""
        return self._agreed("source", lambda op: op.source)

    # facts of one pass

    @property
    def out(self) -> object:
        """The saved value; refuses where there are several passes."""
        return self._only("out").out

    @property
    def payload(self) -> PayloadFacet:
        """The saved value; refuses where there are several passes."""
        return self._only("payload").payload

    @property
    def autograd(self) -> AutogradFacet:
        """What autograd knows; refuses where there are several passes."""
        return self._only("autograd").autograd

    @property
    def distance(self) -> DistanceFacet:
        """Hops to inputs and outputs; refuses where there are several passes."""
        return self._only("distance").distance

    @property
    def call(self) -> CallFacet | None:
        """The function call; refuses where there are several passes."""
        return self._only("call").call

    @property
    def _first(self) -> Op:
        return self._state.op(self._members[0])

    def _agreed(self, field: str, read: Callable[[Op], V]) -> V:
        """What all passes say of a fact.

        Raises:
            LookupFailedError: they say different things.
        """
        said: dict[V, list[int]] = {}
        for number, op in enumerate(self._members, 1):
            said.setdefault(read(self._state.op(op)), []).append(number)
        if len(said) == 1:
            return next(iter(said))
        shown = [f"{value} in {_passes(numbers)}" for value, numbers in list(said.items())[:MOST_VALUES]]
        more = f" and {len(said) - MOST_VALUES} more" if len(said) > MOST_VALUES else ""
        raise self._several(field, f"whose {field!r} differs: {', '.join(shown)}{more}")

    def _only(self, field: str) -> Op:
        if len(self._members) > 1:
            raise self._several(field, f"and each has its own {field!r}")
        return self._first

    def _several(self, field: str, why: str) -> LookupFailedError:
        count, label = len(self._members), self.label
        return LookupFailedError(
            f"{label} has {count} passes{'' if why.startswith('whose') else ','} {why}.",
            code="multi_pass_field",
            remedy=f"trace.layers[{label!r}].ops[i].{field} for i from 0 to {count - 1}, "
            f"or trace.ops['{label}:1'].{field} to trace.ops['{label}:{count}'].{field}",
            layer=label,
            field=field,
            num_passes=count,
        )

    def __repr__(self) -> str:
        first = self._first
        where = (
            f" in {self.module}" if self.module and self.kind == "op" else f" at {self.address}" if self.address else ""
        )
        ops = [self._state.records.ops[op] for op in self._members]
        passes = f", {len(ops)} passes" if len(ops) > 1 else ""
        if any((op.shape, op.dtype) != (ops[0].shape, ops[0].dtype) for op in ops):
            passes += " that differ"
        saved = sum(op.payload is not None for op in ops)
        kept = "" if saved == len(ops) else f", {saved} of {len(ops)} saved" if saved else ", not saved"
        return printable(f"<Layer {self.label}: {first.dtype}{list(first.shape)}{where}{passes}{kept}>")


def _passes(numbers: list[int]) -> str:
    """Numbers of passes as words: `pass 3`, `passes 1 to 4`, `passes 1, 3, 5 and 7 more`."""
    if len(numbers) == 1:
        return f"pass {numbers[0]}"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"passes {numbers[0]} to {numbers[-1]}"
    more = f" and {len(numbers) - MOST_VALUES} more" if len(numbers) > MOST_VALUES else ""
    return f"passes {', '.join(map(str, numbers[:MOST_VALUES]))}{more}"
