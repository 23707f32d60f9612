"""The whole recorded graph run again on live tensors, under autograd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, final

import torch

from tl_core import (
    AUTOCAST_KEY,
    RANDOM_STATE_KEY,
    AliasRead,
    DeferredPayload,
    GeneratorRead,
    Opaque,
    OpRecord,
    ParamRecord,
    UnreplayableError,
)
from tl_torch._resumption import HALVES, autocast_as, generator_of, restore
from tl_torch._structure import tensors_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from tl_core import CallRecord, Records


@final
class Rerun:
    """Runs the calls of a trace one after the other, each on what the ones before it really made.

    Writes go where they went, views share memory, and autograd sees one graph from the inputs and parameters on.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._outputs: dict[int, list[OpRecord]] = {}
        for op in records.ops:
            if op.call is not None:
                self._outputs.setdefault(op.call.index, []).append(op)
        self._next = 0
        self._live: dict[int, torch.Tensor] = {}
        self._made: dict[int, list[torch.Tensor]] = {}
        """What calls without ops of their own gave is not kept."""
        self._buffers: dict[str, torch.Tensor] = {}
        self._params: dict[int, torch.Tensor] = {}
        """Parameters that live on as saved values only."""
        self._grown = _gradient_inputs(records)
        self.inputs: dict[str, torch.Tensor] = {}
        """Inputs that autograd follows, by address."""

    def upto(self, call: CallRecord) -> list[torch.Tensor]:
        """Run everything up to `call`, and return what that one gave."""
        while self._next <= call.index:
            self._step(self._records.calls[self._next])
            self._next += 1
        return self._made.get(call.index, [])

    def finish(self) -> list[torch.Tensor]:
        """Run the rest, and return the outputs of the model."""
        if self._records.calls:
            self.upto(self._records.calls[-1])
        return [self._output(op) for op in self._records.ops if op.kind == "output"]

    def _step(self, call: CallRecord) -> None:
        function = call.func
        if function is None:
            raise UnreplayableError("function_missing", "the function was not kept")
        outputs = self._outputs.get(call.index, [])
        args, kwargs = [self._filled(value) for value in call.args], {
            name: self._filled(value) for name, value in (call.kwargs or {}).items()
        }  # fmt: skip
        gradient = function is torch.autograd.grad
        if gradient:
            kwargs["retain_graph"] = True
        follow = gradient or not outputs or any(op.requires_grad for op in outputs)
        if call.inplace or call.name.endswith("_"):  # a leaf is written where autograd does not look
            follow = follow and not any(one.is_leaf and one.requires_grad for _, one in tensors_in(args[:1]))
        noted = call.meta or {}
        if RANDOM_STATE_KEY in noted:
            restore(noted[RANDOM_STATE_KEY])
        with torch.set_grad_enabled(follow), self._autocast(noted, outputs, [args, kwargs]):
            result = function(*args, **kwargs)
        found = [tensor for _, tensor in tensors_in(result)] or [tensor for _, tensor in tensors_in(args[:1])]
        if gradient:
            self._made[call.index] = found
        for op in outputs:
            if op.position >= len(found):
                raise UnreplayableError("output_missing", "running it again gave fewer tensors")
            tensor = found[op.position]
            if op.index in self._grown and not tensor.requires_grad:
                tensor.requires_grad_()
            self._live[op.index] = tensor

    def _autocast(
        self, noted: Mapping[str, object], outputs: Sequence[OpRecord], given: object
    ) -> AbstractContextManager[Any]:
        if self._records.autocast_noted:
            return autocast_as(cast("Mapping[str, str]", noted.get(AUTOCAST_KEY, {})))
        return _guessed_autocast(outputs, given)

    def _filled(self, value: object) -> Any:
        if isinstance(value, OpRecord):
            return self._tensor(value)
        if isinstance(value, ParamRecord):
            return self._parameter(value)
        if isinstance(value, AliasRead):
            return self._filled(value.base)
        if isinstance(value, GeneratorRead):
            return generator_of(value)
        if isinstance(value, Opaque):
            raise UnreplayableError("opaque_argument", f"an argument of type {value.type_name} is not kept")
        if type(value) in (list, tuple):
            items = [self._filled(item) for item in cast("Sequence[object]", value)]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, Mapping):
            return {name: self._filled(item) for name, item in cast("Mapping[Any, object]", value).items()}
        return value

    def _parameter(self, record: ParamRecord) -> torch.Tensor:
        tensor = None if record.reference is None else record.reference()
        if tensor is None and record.value is not None:
            tensor = self._params.get(record.index)
            if tensor is None:
                value = cast("torch.Tensor", _value(record.value)).detach()
                tensor = self._params[record.index] = value.requires_grad_(record.requires_grad)
        if not isinstance(tensor, torch.Tensor):
            raise UnreplayableError("value_missing", f"the parameter {record.address!r} is gone")
        return tensor

    def _tensor(self, op: OpRecord) -> torch.Tensor:
        known = self._live.get(op.index)
        if known is None:
            known = self._live[op.index] = self._source(op)
        return known

    def _source(self, op: OpRecord) -> torch.Tensor:
        if op.kind == "buffer" and op.address in self._buffers:
            return self._buffers[op.address]
        value = _value(op.payload)
        if not isinstance(value, torch.Tensor):
            raise UnreplayableError("value_missing", "the value of an argument was not saved")
        tensor = value.detach().clone()
        follow = op.requires_grad or op.index in self._grown
        if follow and (tensor.is_floating_point() or tensor.is_complex()):
            tensor.requires_grad_()
        if op.kind == "buffer":
            self._buffers[op.address] = tensor
        elif op.kind == "input" and follow:
            self.inputs[op.address] = tensor
        return tensor

    def _output(self, op: OpRecord) -> torch.Tensor:
        for parent in op.parents:
            if self._records.ops[parent].shape == op.shape:
                return self._tensor(self._records.ops[parent])
        if not op.parents:
            return self._tensor(op)  # a parameter, or something that was never read
        raise UnreplayableError("output_composed", "an output lies in memory that several ops wrote")


def _value(payload: object) -> object:
    return payload.materialize() if isinstance(payload, DeferredPayload) else payload


def _gradient_inputs(records: Records) -> frozenset[int]:
    """Ops with respect to which the run itself took gradients; they require one even where that was set later."""
    found: set[int] = set()
    for call in records.calls:
        if call.func is torch.autograd.grad:
            wanted = call.args[1] if len(call.args) > 1 else (call.kwargs or {}).get("inputs")
            items = cast("Sequence[object]", wanted) if isinstance(wanted, (list, tuple)) else [wanted]
            found.update(item.index for item in items if isinstance(item, OpRecord))
    return frozenset(found)


def _guessed_autocast(outputs: Sequence[OpRecord], given: object) -> torch.autocast:
    """Autocast where half and single precision meet in a call, else as here."""
    device = torch.device(str(outputs[0].device)).type if outputs else "cpu"
    dtypes = {cast("torch.dtype", op.dtype) for op in outputs} | {tensor.dtype for _, tensor in tensors_in(given)}
    halves = dtypes & HALVES
    if len(halves) == 1 and torch.float32 in dtypes:
        return torch.autocast(device, dtype=halves.pop(), cache_enabled=False)
    return torch.autocast(device, enabled=torch.is_autocast_enabled(device))
