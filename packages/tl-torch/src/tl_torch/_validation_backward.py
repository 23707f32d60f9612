"""Gradients of the recorded graph, held against plain autograd."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from tl_core import UnreplayableError, ValidationFailure, note_failure, records_of
from tl_torch._rerun import Rerun
from tl_torch._structure import tensors_in
from tl_torch._validation_forward import Unwatched, as_source
from tl_torch._values import difference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tl_core import Trace, ValidationStatus
    from tl_torch._preflight import Given, Target
    from tl_torch._validation_state import ModelState, RandomState

DEPTH = 1 << 20
"""Two whole backward passes may round differently, operation after operation."""
_SEED = 0x7E57
Gradients = dict[str, torch.Tensor | None]


def backward_status(
    target: Target, given: Given, run: Trace, status: ValidationStatus, before: tuple[ModelState, RandomState]
) -> ValidationStatus:  # fmt: skip
    """Compare the gradients of all parameters and inputs with those of the recorded graph.

    Args:
        target: the model.
        given: its arguments.
        run: the trace, which has passed the forward checks.
        status: what those said.
        before: the model and the generators as both runs have to find them.

    Returns:
        `status`, or one that has failed.
    """
    state, generators = before
    parameters = {name: p for name, p in target.model.named_parameters() if p.requires_grad}
    with torch.enable_grad():
        with as_source(Unwatched()):
            outputs = [tensor for _, tensor in tensors_in(target.run(given.args, given.kwargs))]
        leaves = {name: tensor for name, tensor in given.tensors() if tensor.requires_grad}
        plain = _gradients(outputs, {**parameters, **leaves})
        state.restore()
        generators.restore()
        try:
            rerun = Rerun(records_of(run))
            again = rerun.finish()
        except UnreplayableError as error:
            return replace(status, state="unverified", reason=error.reason, message=str(error))
        recorded = _gradients(again, {**parameters, **{name: rerun.inputs.get(name, t) for name, t in leaves.items()}})
    for name, expected in plain.items():
        failure = _compared(name, expected, recorded[name])
        if failure is not None:
            note_failure(failure)
            return replace(status, state="failed", reason=failure.check, message=failure.message, failure=failure)
    return status


def _gradients(outputs: Sequence[torch.Tensor], wanted: Mapping[str, torch.Tensor]) -> Gradients:
    """Gradients of a fixed weighted sum of the outputs."""
    generator = torch.Generator().manual_seed(_SEED)
    followed: list[torch.Tensor] = []
    weights: list[torch.Tensor] = []
    for output in outputs:
        weight = torch.randn(output.shape, generator=generator, dtype=torch.float64)
        if output.requires_grad:
            followed.append(output)
            weights.append(weight.to(device=output.device, dtype=output.dtype))
    if not followed or not wanted:
        return dict.fromkeys(wanted)
    found = torch.autograd.grad(followed, list(wanted.values()), weights, allow_unused=True)
    return dict(zip(wanted, found, strict=True))


def _compared(name: str, expected: torch.Tensor | None, recorded: torch.Tensor | None) -> ValidationFailure | None:
    if expected is None and recorded is None:
        return None
    extra: dict[str, object] = {"scope": "gradient", "address": name, "saved": recorded, "recomputed": expected}
    if expected is None or recorded is None:
        has, lacks = ("plain autograd", "the trace") if recorded is None else ("the trace", "plain autograd")
        message = f"{has} gives {name!r} a gradient, and {lacks} gives it none"
        return ValidationFailure(check="ground_truth", op_label="", func_name="", message=message, extra=extra)
    apart = difference(recorded, expected, DEPTH)
    if apart is None:
        return None
    return ValidationFailure(
        check="ground_truth", op_label="", func_name="", message=f"the gradient of {name!r}: {apart.message}",
        saved_shape=tuple(recorded.shape), recomputed_shape=tuple(expected.shape),
        max_abs_diff=apart.max_abs, max_rel_diff=apart.max_rel, nan_mismatch=apart.nan_mismatch,
        inf_mismatch=apart.inf_mismatch, extra=extra,
    )  # fmt: skip
