"""What a call depends on beside its arguments: random generators and autocast; noted where a trace is to be repeated.

Only a run that was asked to keep this has one of these around every call; an ordinary run has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, final

import torch

from tl_core import AUTOCAST_KEY, RANDOM_STATE_KEY, CallRecord, CaptureOptions, GeneratorRead, Opaque
from tl_torch._structure import tensors_in
from tl_torch._torch_private import (
    UninitializedTensorMixin,
    innermost_dispatch_mode,
    torch_function_disabled,
    without_dispatch_modes,
)

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
        self._drawn: dict[int, list[bytes]] = {}
        """By number of the call: the states before it, where it drew."""
        self._given: dict[int, list[GeneratorRead]] = {}
        """By number of the call: generators among its arguments."""
        self._autocast: dict[int, dict[str, object]] = {}

    def around(self, runner: Runner) -> Runner:
        """The runner of functions that looks around too."""

        def run(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any] | None) -> Any:
            if self._keeps_args:
                self._keep_params(args, kwargs)
            seen = self._look((*args, *kwargs.values()) if kwargs else args)
            result = runner(func, args, kwargs)
            self._look_again(*seen)
            return result

        return run

    def run(self, work: Callable[[], Any]) -> Any:
        """Run the work of the call that is recorded next, in sight of the recorder."""
        with torch_function_disabled():
            seen = self._look(())
        result = work()
        with torch_function_disabled():
            self._look_again(*seen)
        return result

    def _look(self, given: Sequence[Any]) -> tuple[list[bytes], list[GeneratorRead], dict[str, object]]:
        """Where the generators stand, those among the arguments too, and what autocast does."""
        if not self._keeps_random:
            return [], [], self._autocast_now()
        generators = [_read(value) for value in given if type(value) is torch.Generator]
        return self._states(), generators, self._autocast_now()

    def _look_again(self, before: list[bytes], generators: list[GeneratorRead], autocast: dict[str, object]) -> None:
        """Note what was found about the call that is recorded next."""
        number = len(self._calls)
        _note(self._autocast, number, autocast)
        if self._keeps_random:
            _note(self._given, number, generators)
            _note(self._drawn, number, before if self._states() != before else [])

    def _states(self) -> list[bytes]:
        return [_state_of(generator) for generator in self._generators]

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
            lazy = isinstance(tensor, UninitializedTensorMixin)  # it has no value yet
            if known is not None and known.record.value is None and not lazy:
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


def packed(states: Sequence[bytes]) -> object:
    """States of the generators of the host and, where there are any, of the other devices."""
    host, *others = states
    return (host, tuple(others)) if others else host


def unpacked(state: bytes) -> torch.Tensor:
    """The state of one generator."""
    return torch.frombuffer(bytearray(state), dtype=torch.uint8)


def _read(generator: torch.Generator) -> GeneratorRead:
    return GeneratorRead(str(generator.device), _state_of(generator))


def _state_of(generator: torch.Generator) -> bytes:
    if innermost_dispatch_mode() is None:
        return generator.get_state().numpy().tobytes()
    with without_dispatch_modes():  # a mode that makes fake tensors refuses this real one
        return generator.get_state().numpy().tobytes()


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
