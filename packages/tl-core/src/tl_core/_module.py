"""A module of the model and its calls."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Never, final

from tl_core._absent import absent
from tl_core._errors import LookupFailedError
from tl_core._grid import printable
from tl_core._match import CONTAINERS, held_in
from tl_core._record import ModuleRecord
from tl_core._registered import Registered
from tl_core._spelling import call_label
from tl_core._view import View

if TYPE_CHECKING:
    from tl_core._layer import Layer
    from tl_core._op import Op
    from tl_core._record import ModuleCallRecord
    from tl_core._state import State


@final
class Module(Registered[ModuleRecord]):
    """One module object of the model, whether it was called or not.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> trace = tl.trace(torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU()), torch.ones(3, 4))
        >>> trace["0"]
        <Module 0: Linear, 10 parameters, 1 call>
        >>> trace[""].children
        ('0', '1')
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Never:
            raise absent(self, "module", name)

    @property
    def class_name(self) -> str:
        """Class of the module: `Conv2d`."""
        return self._record.class_name

    @property
    def training(self) -> bool:
        """Whether it was in training mode."""
        return self._record.training

    @property
    def parent(self) -> str | None:
        """Address of the module that it is registered on; None for the model itself."""
        address = self._record.address
        return address.rpartition(".")[0] if address else None

    @property
    def children(self) -> tuple[str, ...]:
        """Addresses of the modules registered directly on it, as they are first reached from the model."""
        modules = self._state.records.modules
        return tuple([modules[index].address for index in self._record.children])

    @property
    def params(self) -> tuple[str, ...]:
        """Addresses of the parameters that it owns directly."""
        params = self._state.records.params
        return tuple([params[index].address for index in self._record.params])

    @property
    def buffers(self) -> tuple[str, ...]:
        """Addresses of the buffers that it owns directly."""
        buffers = self._state.records.buffers
        return tuple([buffers[index].address for index in self._record.buffers])

    @property
    def param_count(self) -> int:
        """Number of scalars in the parameters of it and everything below; shared ones are counted once."""
        params = self._state.records.params
        return sum(prod(params[index].shape) for index in self._all_params())

    def _all_params(self) -> set[int]:
        modules = self._state.records.modules
        found: set[int] = set()
        seen: set[int] = set()
        stack = [self._record.index]
        while stack:
            index = stack.pop()
            if index not in seen:
                seen.add(index)
                found.update(modules[index].params)
                stack.extend(modules[index].children)
        return found

    @property
    def calls(self) -> tuple[ModuleCall, ...]:
        """Its calls in order; empty for containers such as `ModuleList` and for modules that were not called."""
        return tuple([self._state.module_call(index) for index in self._state.calls_of(self._record.index)])

    @property
    def num_calls(self) -> int:
        """How often it was called."""
        return len(self._state.calls_of(self._record.index))

    @property
    def ops(self) -> tuple[Op, ...]:
        """All ops recorded inside its calls, in execution order; for a `ModuleList`, inside the modules that it holds."""
        indices = {index for call in self._inner_calls() for index in self._state.ops_inside(call)}
        return tuple([self._state.op(index) for index in sorted(indices)])

    def _inner_calls(self) -> list[int]:
        if self._record.class_name not in CONTAINERS:
            return self._state.calls_of(self._record.index)
        calls = self._state.records.module_calls
        return [call.index for call in calls if any(held_in(address, call) for address in self.addresses)]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers of its ops."""
        layer_of = self._state.grouping.layer_of
        return tuple([self._state.layer(layer) for layer in sorted({layer_of[op.index] for op in self.ops})])

    @property
    def inputs(self) -> tuple[Op, ...]:
        """Ops whose values entered; refuses where it was called several times."""
        return self._only("inputs").inputs

    @property
    def outputs(self) -> tuple[Op, ...]:
        """Ops whose values its caller received; refuses where it was called several times."""
        return self._only("outputs").outputs

    @property
    def out(self) -> object:
        """The saved value of its only output; refuses where it was called several times."""
        return self._only("out").out

    def _only(self, field: str) -> ModuleCall:
        calls = self.calls
        if len(calls) == 1:
            return calls[0]
        address = self._record.address
        if not calls:
            raise LookupFailedError(
                f"Module {address!r} ({self.class_name}) was not called in this run, so it has no {field!r}.",
                code="module_not_called",
                remedy=f"trace.modules[{address!r}].children names the modules below it",
                module=address,
                field=field,
            )
        raise LookupFailedError(
            f"Module {address!r} was called {len(calls)} times, and each call has its own {field!r}.",
            code="multi_pass_field",
            remedy=f"trace.modules[{address!r}].calls[i].{field} for i from 0 to {len(calls) - 1}, "
            f"or trace['{address}:1'].{field}",
            module=address,
            field=field,
            num_calls=len(calls),
        )

    def __repr__(self) -> str:
        count = self.num_calls
        calls = "not called" if count == 0 else "1 call" if count == 1 else f"{count} calls"
        params = self.param_count
        return printable(f"<Module {self.address or '(model)'}: {self.class_name}, {params:,} parameters, {calls}>")


@final
class ModuleCall(View):
    """One call of a module, or of one of its methods."""

    __slots__ = ("__weakref__", "_record", "_state")

    def __init__(self, state: State, record: ModuleCallRecord) -> None:
        self._state = state
        self._record = record

    if not TYPE_CHECKING:  # type checkers know what there is

        def __getattr__(self, name: str) -> Never:
            raise absent(self, "call", name)

    @property
    def label(self) -> str:
        """Address and number of the call: `layer1.0:2`."""
        return call_label(self._record)

    @property
    def index(self) -> int:
        """Position among all module calls of the run, from 0."""
        return self._record.index

    @property
    def address(self) -> str:
        """Address of the module."""
        return self._record.module.address

    @property
    def module(self) -> Module:
        """The module that was called."""
        return self._state.module(self._record.module.index)

    @property
    def call_number(self) -> int:
        """1-based number among the calls of the module."""
        return self._record.number

    @property
    def method(self) -> str:
        """Method that was called, mostly `forward`."""
        return self._record.method

    @property
    def parent(self) -> str | None:
        """Label of the call that it was made in; None for the model itself."""
        parent = self._record.parent
        return None if parent is None else call_label(parent)

    @property
    def children(self) -> tuple[str, ...]:
        """Labels of the module calls made directly in it, in order."""
        calls = self._state.records.module_calls
        return tuple([call_label(call) for call in calls if call.parent is self._record])

    @property
    def ops(self) -> tuple[Op, ...]:
        """The ops recorded inside, deeper calls included, in execution order."""
        return tuple([self._state.op(index) for index in self._state.ops_inside(self._record.index)])

    @property
    def inputs(self) -> tuple[Op, ...]:
        """Ops whose values entered as tensor arguments."""
        return tuple([self._state.op(index) for index in self._record.inputs])

    @property
    def outputs(self) -> tuple[Op, ...]:
        """Ops whose values the caller received."""
        return tuple([self._state.op(index) for index in self._record.outputs])

    @property
    def out(self) -> object:
        """The saved value of the only output.

        Raises:
            LookupFailedError: the call returned no tensor, or several.
        """
        outputs = self._record.outputs
        if len(outputs) == 1:
            return self._state.op(outputs[0]).out
        raise LookupFailedError(
            f"{self.label} returned {len(outputs)} tensors, so it has no single value.",
            code="module_output_count",
            remedy=f"trace[{self.label!r}].outputs[i].out"
            if outputs
            else f"trace[{self.label!r}].ops lists what it ran",
            call=self.label,
            outputs=len(outputs),
        )

    def __repr__(self) -> str:
        record = self._record
        method = "" if record.method == "forward" else f".{record.method}"
        count = len(self._state.ops_inside(record.index))
        ops = "1 op" if count == 1 else f"{count:,} ops"
        return printable(f"<ModuleCall {call_label(record)}: {record.module.class_name}{method}, {ops}>")
