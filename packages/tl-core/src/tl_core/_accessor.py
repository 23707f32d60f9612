"""The collections of a trace: `trace.ops`, `.layers`, `.modules`, `.params` and `.buffers`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Never, TypeVar, final, overload

from tl_core._absent import absent
from tl_core._errors import ArgumentTypeError, LookupFailedError
from tl_core._find import find, find_indices, found_views
from tl_core._found import listing
from tl_core._lookup import missing_pass, position, suggestions
from tl_core._view import View

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import SupportsIndex

    from tl_core._buffer import Buffer
    from tl_core._layer import Layer
    from tl_core._meaning import Kind
    from tl_core._module import Module
    from tl_core._op import Op
    from tl_core._param import Param
    from tl_core._selector import Selector
    from tl_core._state import State
    from tl_core._trace import Trace

V = TypeVar("V")

OTHERWISE = {
    "head": "{0}[:5]",
    "tail": "{0}[-5:]",
    "values": "for one in {0}: ..., or list({0})",
    "get": "{0}[name] if name in {0} else None",
    "find": "trace.find(tl.label_contains(text)) for ops; {0}.keys() gives all names",
    "filter": "[one for one in {0} if ...]",
    "to_pandas": "trace.to_pandas(), one row for each op",
    "index": "{0}[name].index",
}
"""What people do with lists, tables and dictionaries, and how it is done here."""


class Accessor(View, ABC, Generic[V]):
    """An ordered collection of views, indexed by position, slice or exact name.

    Iterating gives the views; `keys()` the names; `items()` both.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> trace = tl.trace(torch.nn.Linear(4, 2), torch.ones(3, 4))
        >>> trace.params
        2 params
          0  <Param weight: float32[2, 4]>
          1  <Param bias: float32[2]>
        >>> trace.ops[-1].label, trace.params["bias"].size, trace.layers.keys()
        ('output_1:1', 2, ['input_1', 'linear_1_1', 'output_1'])
    """

    __slots__ = ("_state", "_trace")

    def __init__(self, state: State, trace: Trace) -> None:
        self._state = state
        self._trace = trace

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Never:
            here = f"trace.{self._kind}s"
            raise absent(self, "list", name, OTHERWISE.get(name, "").format(here))

    @property
    @abstractmethod
    def _noun(self) -> tuple[str, str]:
        """Singular and plural."""

    @property
    @abstractmethod
    def _kind(self) -> Kind:
        """What its members are; the accessor of the trace has its plural as name."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of views."""

    @abstractmethod
    def _at(self, index: int) -> V:
        """View at a position."""

    @abstractmethod
    def keys(self) -> list[str]:
        """Names in order."""

    @abstractmethod
    def _named(self, name: str) -> int | None:
        """Position of a name."""

    @overload
    def __getitem__(self, key: slice) -> tuple[V, ...]: ...
    @overload
    def __getitem__(self, key: str | SupportsIndex) -> V: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> V | tuple[V, ...]:
        """One view by name or position, or a tuple of views by slice.

        Raises:
            LookupFailedError: nothing has that name or position.
            ArgumentTypeError: the key is a bool, a float or something else that names nothing.
        """
        if isinstance(key, slice):
            return tuple([self._at(index) for index in self._range(key)])
        noun, plural = self._noun
        if not isinstance(key, str):
            return self._at(position(key, len(self), noun))
        index = self._named(key)
        if index is not None:
            return self._at(index)
        problem = missing_pass(self._state, key) if self._kind == "op" else None
        if problem is not None:
            raise problem
        hints, close = suggestions(self._state, key, (self._kind,), (self._kind,))
        raise LookupFailedError(
            f"{key!r} is not the name of one of the {len(self)} {plural} of this trace.",
            code="op_lookup_not_found",
            remedy="; ".join(hints) or f"trace.{self._kind}s.keys() gives all names",
            asked=key,
            closest=close,
        )

    def _range(self, key: slice) -> range:
        try:
            return range(*key.indices(len(self)))
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(
                f"trace.{self._kind}s[{key.start!r}:{key.stop!r}:{key.step!r}]: {error}.",
                code="lookup_key_invalid",
                remedy=f"whole numbers: trace.{self._kind}s[1:3], trace.{self._kind}s[::-1]",
                asked=repr(key),
            ) from None

    def __iter__(self) -> Iterator[V]:
        return map(self._at, range(len(self)))

    def __contains__(self, item: object) -> bool:
        """Whether something has this name, or whether this view belongs here."""
        if isinstance(item, str):
            return self._named(item) is not None
        return any(item is view for view in self)

    def items(self) -> Iterator[tuple[str, V]]:
        """Name and view of each, in order."""
        return zip(self.keys(), self, strict=True)

    def __repr__(self) -> str:
        return listing(len(self), self._noun, lambda index: repr(self._at(index)), self._about())

    def _about(self) -> str:
        """A remark on the heading of the repr."""
        return ""


@final
class OpAccessor(Accessor["Op"]):
    """The ops of a trace in execution order; names are labels with a pass, in full or short."""

    __slots__ = ()

    @property
    def _noun(self) -> tuple[str, str]:
        return "op", "ops"

    @property
    def _kind(self) -> Kind:
        return "op"

    def __len__(self) -> int:
        return len(self._state.records.ops)

    def _at(self, index: int) -> Op:
        return self._state.op(index)

    def _about(self) -> str:
        ops = self._state.records.ops
        computed = sum(op.kind == "op" for op in ops)
        return "" if computed == len(ops) else f", {computed:,} of them computed"

    def keys(self) -> list[str]:
        """Labels in execution order."""
        return self._state.labels.ops()

    def _named(self, name: str) -> int | None:
        return self._state.labels.find_op(name)

    def find(self, selector: Selector) -> tuple[Op, ...]:
        """The ops that a selector means, in execution order.

        Args:
            selector: such as `func("relu") & in_module("layer1")`.
        """
        return find(self._trace, selector)


@final
class LayerAccessor(Accessor["Layer"]):
    """The layers of a trace in the order of their first pass; names are labels, in full or short."""

    __slots__ = ()

    @property
    def _noun(self) -> tuple[str, str]:
        return "layer", "layers"

    @property
    def _kind(self) -> Kind:
        return "layer"

    def __len__(self) -> int:
        return self._state.grouping.count

    def _at(self, index: int) -> Layer:
        return self._state.layer(index)

    def keys(self) -> list[str]:
        """Labels in the order of the first pass."""
        return self._state.labels.layers()

    def _named(self, name: str) -> int | None:
        return self._state.labels.find_layer(name)

    def find(self, selector: Selector) -> tuple[Layer, ...]:
        """The layers of which a selector means at least one pass.

        Args:
            selector: such as `func("relu") & in_module("layer1")`.
        """
        layer_of = self._state.grouping.layer_of
        layers = {layer_of[index] for index in find_indices(self._trace, selector)}
        return found_views(self._trace, selector, map(self._at, sorted(layers)), self._noun)


@final
class ModuleAccessor(Accessor["Module"]):
    """The modules of the model as they are registered; names are addresses, and the model itself is the empty string."""

    __slots__ = ()

    @property
    def _noun(self) -> tuple[str, str]:
        return "module", "modules"

    @property
    def _kind(self) -> Kind:
        return "module"

    def __len__(self) -> int:
        return len(self._state.records.modules)

    def _at(self, index: int) -> Module:
        return self._state.module(index)

    def keys(self) -> list[str]:
        """Addresses in the order of registration."""
        return [module.address for module in self._state.records.modules]

    def _named(self, name: str) -> int | None:
        return self._state.module_names().get(name)


@final
class ParamAccessor(Accessor["Param"]):
    """The parameters of the model; names are addresses."""

    __slots__ = ()

    @property
    def _noun(self) -> tuple[str, str]:
        return "parameter", "params"

    @property
    def _kind(self) -> Kind:
        return "param"

    def __len__(self) -> int:
        return len(self._state.records.params)

    def _at(self, index: int) -> Param:
        return self._state.param(index)

    def keys(self) -> list[str]:
        """Addresses in the order of registration."""
        return [param.address for param in self._state.records.params]

    def _named(self, name: str) -> int | None:
        for param in self._state.records.params:
            if name == param.address or name in param.aliases:
                return param.index
        return None


@final
class BufferAccessor(Accessor["Buffer"]):
    """The buffers of the model; names are addresses."""

    __slots__ = ()

    @property
    def _noun(self) -> tuple[str, str]:
        return "buffer", "buffers"

    @property
    def _kind(self) -> Kind:
        return "buffer"

    def __len__(self) -> int:
        return len(self._state.records.buffers)

    def _at(self, index: int) -> Buffer:
        return self._state.buffer(index)

    def keys(self) -> list[str]:
        """Addresses in the order of registration."""
        return [buffer.address for buffer in self._state.records.buffers]

    def _named(self, name: str) -> int | None:
        for buffer in self._state.records.buffers:
            if name == buffer.address or name in buffer.aliases:
                return buffer.index
        return None
