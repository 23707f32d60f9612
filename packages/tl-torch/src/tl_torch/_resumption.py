"""Putting back what a recorded call found around it: generators, autocast."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, cast

import torch

from tl_core import GeneratorRead, UnreplayableError
from tl_torch._surroundings import unpacked

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

HALVES = frozenset({torch.float16, torch.bfloat16})
"""What autocast computes in."""
_DEVICES = ("cpu", "cuda")


def restore(state: object) -> None:
    """Put torch's generators into a state, as `packed` gives it.

    Raises:
        UnreplayableError: it names devices that are not here.
    """
    own, others = cast("tuple[bytes, tuple[bytes, ...]]", state if isinstance(state, tuple) else (state, ()))
    torch.set_rng_state(unpacked(own))
    if not others:
        return
    if len(others) > torch.cuda.device_count():
        raise UnreplayableError("device_missing", f"{len(others)} devices drew random numbers, and not all are here")
    torch.cuda.set_rng_state_all([unpacked(other) for other in others])


def generator_of(read: GeneratorRead) -> torch.Generator:
    """A generator that stands where a recorded one stood.

    Raises:
        UnreplayableError: its device is not here.
    """
    try:
        generator = torch.Generator(device=read.device)
    except (RuntimeError, AssertionError):
        raise UnreplayableError("device_missing", f"there is no generator on {read.device} here") from None
    return generator.set_state(unpacked(read.state))


@contextmanager
def autocast_as(noted: Mapping[str, str]) -> Generator[None, None, None]:
    """Autocast as it was noted: on for the devices named, with their dtypes, and off for the others."""
    with ExitStack() as stack:
        for device in _DEVICES:
            name = noted.get(device)
            if name is not None:
                dtype = cast("torch.dtype", getattr(torch, name))  # the name is a dtype's
                stack.enter_context(torch.autocast(device, dtype=cast("Any", dtype), cache_enabled=False))
            elif torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield
