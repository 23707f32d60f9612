"""What a call depends on beside its arguments: random generators and autocast; noted where a trace is to be repeated.

Only a run that was asked to keep this has one of these around every call; an ordinary run has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, final

import numpy as np
import torch

from tl_core import AUTOCAST_KEY, RANDOM_STATE_KEY, CallRecord, CaptureOptions, GeneratorRead, Opaque
from tl_torch._structure import tensors_in
from tl_torch._torch_private import torch_function_disabled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tl_core import TraceBuilder
    from tl_torch._sources import KnownParam

    Runner = Callable[[Callable[..., Any], Sequence[Any], dict[str, Any] | None], Any]
    Params = Mapping[int, KnownParam]

GENERATOR_TYPE = "torch._C.Generator"


@final
class Surroundings:
    """Looks around before and after each call of one run."""

    def __init__(self, builder: TraceBuilder, options: CaptureOptions, params: Params) -> None:
        self._records = builder.records
        self._calls: list[CallRecord] = builder.records.calls
        self._params = params
        self._keeps_args = options.save_args
        self._keeps_random = options.save_rng
        self._generators = [torch.default_generator]
        self._devices = ["cpu"]
        if torch.cuda.is_initialized():
            self._generators += torch.cuda.default_generators
            self._devices.append("cuda")
        self._drawn: dict[int, list[torch.Tensor]] = {}
        """By number of the call: the states before it, where it drew."""
        self._given: dict[int, list[GeneratorRead]] = {}
        """By number of the call: generators among its arguments."""
        self._autocast: dict[int, dict[str, object]] = {}

    def around(self, runner: Runner) -> Runner:
        """The runner of functions that looks around too."""

        def run(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None) -> Any:
            if self._keeps_args:
                self._keep_params(args, kwargs)
            return self.run(lambda: runner(func, args, kwargs), (*args, *(kwargs or {}).values()))

        return run

    def run(self, work: Callable[[], Any], given: Sequence[Any] = ()) -> Any:
        """Run the work of the call that is recorded next."""
        with torch_function_disabled():  # a boundary runs in sight of the recorder
            autocast = self._autocast_now()
            before = [generator.get_state() for generator in self._generators] if self._keeps_random else []
            generators = [_read(value) for value in given if isinstance(value, torch.Generator)]
        result = work()
        number = len(self._calls)
        _note(self._autocast, number, autocast)
        if self._keeps_random:
            with torch_function_disabled():
                drew = self._moved(before)
            _note(self._given, number, generators)
            _note(self._drawn, number, before if drew else [])
        return result

    def _moved(self, before: Sequence[torch.Tensor]) -> bool:
        return any(
            not np.array_equal(state.numpy(), generator.get_state().numpy())
            for state, generator in zip(before, self._generators, strict=True)
        )

    def _autocast_now(self) -> dict[str, object]:
        return {
            device: str(torch.get_autocast_dtype(device)).rpartition(".")[2]
            for device in self._devices
            if torch.is_autocast_enabled(device)
        }

    def _keep_params(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
        """Take a copy of each parameter that is read for the first time: later it may hold something else."""
        for _, tensor in tensors_in([args, kwargs]):
            known = self._params.get(id(tensor))
            if known is not None and known.record.value is None:
                known.record.value = tensor.detach().clone()

    # ---------------------------------------------------------------- after the run

    def settle(self) -> None:
        """Write down what was seen in the records of the calls."""
        records, calls = self._records, self._calls
        records.autocast_noted = True
        records.random_noted = self._keeps_random
        facts: dict[int, dict[str, object]] = {}
        for number, autocast in self._autocast.items():
            facts.setdefault(number, {})[AUTOCAST_KEY] = autocast
        for number, states in self._drawn.items():
            facts.setdefault(number, {})[RANDOM_STATE_KEY] = packed(states)
        for number, noted in facts.items():
            if number < len(calls):
                calls[number].meta = {**(calls[number].meta or {}), **noted}
        for number, generators in self._given.items():
            if number < len(calls):
                _replace_generators(calls[number], iter(generators))


def packed(states: Sequence[torch.Tensor]) -> object:
    """States of the generators of the host and, where there are any, of the other devices, as plain bytes."""
    host, *others = [state.numpy().tobytes() for state in states]
    return (host, tuple(others)) if others else host


def unpacked(state: bytes) -> torch.Tensor:
    """The state of one generator."""
    return torch.frombuffer(bytearray(state), dtype=torch.uint8)


def _read(generator: torch.Generator) -> GeneratorRead:
    return GeneratorRead(str(generator.device), generator.get_state().numpy().tobytes())


def _note(where: dict[int, Any], number: int, found: object) -> None:
    """Remember what was found about the call with this number; what an unrecorded call left there goes."""
    if found:
        where[number] = found
    else:
        where.pop(number, None)


def _replace_generators(call: CallRecord, generators: Iterator[GeneratorRead]) -> None:
    def replaced(value: object) -> object:
        known = isinstance(value, Opaque) and value.type_name == GENERATOR_TYPE
        return next(generators, value) if known else value

    call.args = tuple([replaced(value) for value in call.args])
    if call.kwargs:
        call.kwargs = {name: replaced(value) for name, value in cast("dict[str, object]", call.kwargs).items()}
