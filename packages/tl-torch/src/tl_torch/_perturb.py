"""Other values for a tensor, of the same shape and dtype, from mild to wild."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import torch

from tl_torch._replay_table import COMPARISONS, FINITENESS_TESTS
from tl_torch._values import wider

_SEED = 0x7E57

_EXTREME = {"isneginf": float("-inf")}
"""What a test of finiteness answers to, where infinity is not it."""

Way = Callable[[torch.Tensor], torch.Tensor]
"""Makes another value of one."""


def _not_a_number(value: torch.Tensor) -> torch.Tensor:
    return torch.full_like(value, float("nan"))


def _far_below(value: torch.Tensor) -> torch.Tensor:
    return value.clamp(max=0) - (1 << 20)


def _far_above(value: torch.Tensor) -> torch.Tensor:
    return value.clamp(min=0) + (1 << 20)


def _lowest(value: torch.Tensor) -> torch.Tensor:
    return torch.full_like(value, torch.finfo(value.dtype).min / 4)


def _highest(value: torch.Tensor) -> torch.Tensor:
    return torch.full_like(value, torch.finfo(value.dtype).max / 4)


@final
class Perturbations:
    """Makes perturbed values from generators of its own, so that torch's stay where they are."""

    def __init__(self) -> None:
        self._generators: dict[torch.device, torch.Generator] = {}
        self._real: tuple[Way, ...] = (
            lambda v: v.mul(-0.7).add_(0.37),
            lambda v: v.add(self._normal(v)),
            lambda v: self._uniform(v, -3.0, 3.0),
            lambda v: self._uniform(v, 0.0, 1.0),
            lambda v: self._normal(v).mul_(1e3),
            torch.zeros_like,
            torch.ones_like,
            lambda v: v.mul(v.numel() + 1.5),
        )
        self._equated = (*self._real, _not_a_number)
        self._ordered = (*self._real, _lowest, _highest)
        self._whole: tuple[Way, ...] = (
            lambda v: v.reshape(-1).flip(0).reshape(v.shape),
            self._within,
            lambda v: v + 1,
            lambda v: v - 1,
            torch.zeros_like,
            torch.ones_like,
        )
        self._compared = (*self._whole, _far_below, _far_above)
        self._logical: tuple[Way, ...] = (
            torch.logical_not,
            torch.ones_like,
            torch.zeros_like,
            lambda v: self._uniform(v.float(), 0.0, 1.0) < 0.5,
        )

    def perturbed(
        self, value: torch.Tensor, attempt: int, function: str, others: Sequence[object]
    ) -> torch.Tensor | None:
        """Another value.

        Args:
            value: what the call was given.
            attempt: 0, 1...
            function: name of the function that is to answer.
            others: its other tensors and numbers, whose values are tried last.

        Returns:
            A fresh tensor, or None when there are no more attempts.
        """
        value = value.detach()
        if not value.numel():
            return _filled(value, attempt)
        if value.is_quantized or value.layout is not torch.strided:
            return None
        with torch.no_grad():
            return self._attempt(value, attempt, function, others)

    def _attempt(
        self, value: torch.Tensor, attempt: int, function: str, others: Sequence[object]
    ) -> torch.Tensor | None:
        if value.dtype is torch.bool:
            ways = self._logical
        elif value.is_floating_point() or value.is_complex():
            if function in FINITENESS_TESTS and attempt < 2:
                return torch.full_like(value, float("nan") if attempt else _EXTREME.get(function, float("inf")))
            wide = wider(value)
            if wide is not value:
                other = self._attempt(wide, attempt, function, others)
                return None if other is None else other.to(value.dtype)
            ways = self._equated if function in {"eq", "ne"} else self._real
            if function in COMPARISONS and ways is self._real and not value.is_complex():
                ways = self._ordered
            if attempt >= len(self._real) and attempt < len(ways):
                return ways[attempt](value)
        else:
            ways = self._compared if function in COMPARISONS and value.dtype.itemsize > 2 else self._whole
            on_cpu = value.device.type == "cpu"
            if not on_cpu and attempt in {2, 3, 4, 5}:  # an index beyond the end is fatal there
                return self._within(value)
        if attempt < len(ways):
            return self._finite(ways[attempt](value))
        number = attempt - len(ways)
        return _borrowed(value, others[number]) if number < len(others) else None

    def enlarged(self, value: torch.Tensor) -> torch.Tensor | None:
        """The value twice as long in every dimension, its elements scattered a little."""
        value = value.detach()
        if value.layout is not torch.strided or value.is_quantized:
            return None
        with torch.no_grad():
            tiled = value.repeat([2] * value.dim())
            if not (tiled.is_floating_point() or tiled.is_complex() or tiled.dtype is torch.bool) and tiled.numel():
                return tiled.mul_(torch.arange(tiled.numel(), device=tiled.device).reshape(tiled.shape).remainder_(2))
            if not tiled.is_floating_point() or tiled.dtype.itemsize == 1:
                return tiled
            return tiled.mul_(self._uniform(tiled, 0.7, 1.3))

    def _finite(self, value: torch.Tensor) -> torch.Tensor:
        if not (value.is_floating_point() or value.is_complex()) or bool(torch.isfinite(value.sum())):
            return value
        return torch.nan_to_num(value, nan=0.5, posinf=1.0, neginf=-1.0)

    def _generator(self, device: torch.device) -> torch.Generator:
        generator = self._generators.get(device)
        if generator is None:
            generator = self._generators[device] = torch.Generator(device).manual_seed(_SEED)
        return generator

    def _normal(self, like: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(like).normal_(generator=self._generator(like.device))

    def _uniform(self, like: torch.Tensor, low: float, high: float) -> torch.Tensor:
        noise = torch.empty_like(like)
        if like.is_complex():
            return noise.normal_(generator=self._generator(like.device)).mul_(high)
        return noise.uniform_(low, high, generator=self._generator(like.device))

    def _within(self, value: torch.Tensor) -> torch.Tensor:
        low, high = int(value.min()), int(value.max())
        if high == low:
            if value.device.type != "cpu":  # it may be an index
                return value.clone()
            return value + torch.arange(value.numel(), dtype=value.dtype).remainder_(2).reshape(value.shape)
        drawn = torch.randint(
            low, high + 1, value.shape, generator=self._generator(value.device), device=value.device, dtype=torch.int64
        )
        return drawn.to(value.dtype)


def _filled(value: torch.Tensor, attempt: int) -> torch.Tensor | None:
    """A value that is not empty, in the place of an empty one: of zeros first where it may be an index."""
    real = value.is_floating_point() or value.is_complex() or value.dtype is torch.bool
    fills = (torch.ones,) if real else (torch.zeros, torch.ones)
    if attempt >= len(fills):
        return None
    return fills[attempt]([max(size, 1) for size in value.shape], dtype=value.dtype, device=value.device)


def _borrowed(value: torch.Tensor, other: object) -> torch.Tensor:
    """The values of another argument, in the shape and dtype of `value`."""
    source = other if isinstance(other, torch.Tensor) else torch.as_tensor(other)
    flat = source.detach().reshape(-1).to(device=value.device, dtype=value.dtype)
    if not flat.numel():
        return torch.zeros_like(value)
    repeats = -(-value.numel() // flat.numel())
    return flat.repeat(repeats)[: value.numel()].reshape(value.shape)
