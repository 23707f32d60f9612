"""Guessing which input a model takes: from its first layers, then by trying."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast, final

import torch
from torch import nn

from tl_core import ArgumentTypeError, fitting
from tl_torch._preflight import named_kind
from tl_torch._validation_state import ModelState, RandomState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIDES = (224, 32, 28, 64, 96, 112, 128, 256, 299, 384, 512, 16, 8, 48, 192, 320, 336, 448)
"""Sizes of images that are tried first, most usual first; then every other one up to `MAX_SIDE`."""
MAX_SIDE = 128
STEPS = 16
"""Length of a made-up sequence."""
_REFUSALS = (RuntimeError, ValueError, IndexError, TypeError, AssertionError, NotImplementedError, AttributeError)
"""What a model raises for an input that it cannot take."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InferInputShapeResult:
    """An input that a model takes, as far as could be found out."""

    found: bool
    shape: tuple[int, ...] | None = None
    """Of one input, the batch first."""
    dtype: torch.dtype | None = None
    value_range: tuple[float, float] | None = None
    """Smallest and largest value of whole-number inputs; None for real ones."""
    flexible_dims: tuple[int, ...] = ()
    """Axes that were seen to take another size too."""
    constraining_module: str = ""
    """Address of the layer that decided."""
    example_input: torch.Tensor | None = field(default=None, repr=False)
    strategy: Literal["convolution", "embedding", "linear", "recurrent", "norm", "none"] = "none"
    attempts: int = 0
    """Forward passes that were run."""


@fitting("tl.debug.infer_input_shape")
def infer_input_shape(model: nn.Module, batch_size: int = 1, *, max_attempts: int = 200) -> InferInputShapeResult:
    """Guess the shape of the input of a model that takes one tensor, and prove it by a forward pass.

    The model is left as it was.

    Args:
        model: what to look at.
        batch_size: first axis of the guess.
        max_attempts: most forward passes to run.

    Returns:
        The shape with an example; `found` False where no guess ran.

    Raises:
        ArgumentTypeError: `model` is no module.

    Example:
        >>> import torch
        >>> infer_input_shape(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())).shape
        (1, 3, 224, 224)
    """
    if not isinstance(model, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ArgumentTypeError(
            f"tl.debug.infer_input_shape takes an nn.Module, and was given {named_kind(model)}.",
            code="model_type_unsupported",
            remedy="tl.debug.infer_input_shape(model)",
        )
    state, generators = ModelState(model, (), {}), RandomState()
    training = model.training
    try:
        model.eval()
        with torch.no_grad():
            return _Search(model, batch_size, max_attempts, state).run()
    finally:
        model.train(training)
        state.restore()
        generators.restore()


@final
class _Search:
    def __init__(self, model: nn.Module, batch: int, limit: int, state: ModelState) -> None:
        self._model = model
        self._batch = batch
        self._limit = limit
        self._state = state
        self.attempts = 0

    def run(self) -> InferInputShapeResult:
        for address, module in self._layers():
            strategy, shapes = _candidates(module, self._batch)
            for shape in shapes:
                if self.attempts >= self._limit:
                    return InferInputShapeResult(found=False, attempts=self.attempts)
                example = _example(module, shape)
                if self._takes(example):
                    whole = not example.is_floating_point()
                    top = float(example.max()) if not isinstance(module, nn.Embedding) else module.num_embeddings - 1.0
                    return InferInputShapeResult(
                        found=True, shape=shape, dtype=example.dtype, value_range=(0.0, top) if whole else None,
                        flexible_dims=self._flexible(module, shape), constraining_module=address,
                        example_input=example, strategy=strategy, attempts=self.attempts,
                    )  # fmt: skip
        return InferInputShapeResult(found=False, attempts=self.attempts)

    def _layers(self) -> Iterator[tuple[str, nn.Module]]:
        """Layers that tell something about their input, in order of registration; few of them."""
        named = cast("Iterator[tuple[str, nn.Module]]", self._model.named_modules())
        found = [(name, module) for name, module in named if _candidates(module, 1)[0] != "none"]
        yield from found[:4]

    def _takes(self, example: torch.Tensor) -> bool:
        self.attempts += 1
        try:
            self._model(example)
        except _REFUSALS:
            return False
        finally:
            self._state.restore()
        return True

    def _flexible(self, module: nn.Module, shape: tuple[int, ...]) -> tuple[int, ...]:
        flexible: list[int] = []
        for axis in range(len(shape)):
            wanted = [*shape]
            wanted[axis] += 1 if axis == 0 else 8
            if self.attempts < self._limit and self._takes(_example(module, wanted)):
                flexible.append(axis)
        return tuple(flexible)


def _candidates(module: nn.Module, batch: int) -> tuple[Any, Iterator[tuple[int, ...]]]:
    """What kind of layer it is, and shapes of inputs that it could be the first layer of."""
    if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)):
        spatial = len(module.kernel_size)
        return "convolution", (_image(batch, module.in_channels, side, spatial) for side in _sides(spatial))
    if isinstance(module, nn.Embedding):
        return "embedding", iter([(batch, STEPS), (batch,), (batch, 1), (batch, 8)])
    if isinstance(module, (nn.LSTM, nn.GRU, nn.RNN)):
        steps = (batch, STEPS) if module.batch_first else (STEPS, batch)
        return "recurrent", iter([(*steps, module.input_size)])
    if isinstance(module, nn.Linear):
        width = module.in_features
        return "linear", iter([(batch, width), (batch, STEPS, width), *_flattened(batch, width)])
    if isinstance(module, nn.LayerNorm):
        return "norm", iter([(batch, *module.normalized_shape), (batch, STEPS, *module.normalized_shape)])
    return "none", iter(())


def _sides(spatial: int) -> Iterator[int]:
    usual: Sequence[int] = SIDES if spatial < 3 else (16, 32, 64, 112, 8, 4)
    yield from usual
    yield from (side for side in range(1, MAX_SIDE + 1) if side not in usual)


def _image(batch: int, channels: int, side: int, spatial: int) -> tuple[int, ...]:
    return (batch, channels, *[side] * spatial)


def _flattened(batch: int, width: int) -> list[tuple[int, ...]]:
    """Images that have `width` numbers once they are flattened."""
    shapes: list[tuple[int, ...]] = []
    for channels in (1, 3):
        side = round((width / channels) ** 0.5)
        if side > 1 and channels * side * side == width:
            shapes.append((batch, channels, side, side))
    return shapes


def _example(module: nn.Module, shape: Sequence[int]) -> torch.Tensor:
    parameter = next(module.parameters(), None)
    device = "cpu" if parameter is None else parameter.device
    if isinstance(module, nn.Embedding):
        return torch.randint(0, module.num_embeddings, tuple(shape), device=device)
    return torch.rand(tuple(shape), device=device, dtype=None if parameter is None else parameter.dtype)
