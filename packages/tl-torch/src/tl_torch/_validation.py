"""`validate`: is what a trace says of a model true?"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch

from tl_core import (
    CaptureOptions,
    ConfigurationError,
    GroundTruth,
    Trace,
    ValidationStatus,
    fitting,
    note_unverified,
    records_of,
    validate_trace,
)
from tl_torch._preflight import Given, Target, arguments, bind, check_context, target_of
from tl_torch._replay import TorchExaminer
from tl_torch._trace import trace
from tl_torch._validation_backward import backward_status
from tl_torch._validation_forward import plain_forward
from tl_torch._validation_state import ModelState, RandomState, fresh, sharing_buffers

if TYPE_CHECKING:
    from collections.abc import Mapping


ValidationScope = Literal["forward", "backward"]


@fitting("tl.validate")
def validate(
    model: torch.nn.Module | Any,
    inputs: Any = None,
    input_kwargs: Mapping[str, Any] | None = None,
    *,
    scope: ValidationScope = "forward",
) -> bool:
    """Trace a model and check the trace against a plain forward pass, op by op.

    Every op runs again from the saved values of its parents and has to give its own saved value; every recorded parent
    is changed and the op has to answer; outputs, module boundaries, buffers and the graph itself are compared. The
    model, its inputs and the random generators are left as they were.

    Args:
        model: an `nn.Module`, or a bound method of one.
        inputs: one positional argument, or a list or tuple of them; `()` for none.
        input_kwargs: keyword arguments of the model.
        scope: `"forward"`, or `"backward"`: also the gradients of the recorded graph equal those of plain autograd.

    Returns:
        Whether everything was checked and right. `last_validation_failure()` says what was not.

    Raises:
        ConfigurationError: an unknown scope.
        CaptureError: a model that cannot be traced.

    Example:
        >>> import torch
        >>> import tl_torch as tl
        >>> tl.validate(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU()), torch.randn(2, 4))
        True
    """
    status = validation(model, inputs, input_kwargs, scope=scope)
    if status.state == "unverified":
        note_unverified(status)
    return status.passed


def validation(
    model: torch.nn.Module | Any,
    inputs: Any = None,
    input_kwargs: Mapping[str, Any] | None = None,
    *,
    scope: ValidationScope = "forward",
) -> ValidationStatus:
    """What `validate` finds, with counts and one decision an op; the arguments are those of `validate`."""
    if scope not in get_args(ValidationScope):
        raise ConfigurationError(
            f"scope takes {', '.join(map(repr, get_args(ValidationScope)))}, and was given {scope!r}.",
            code="validation_scope_invalid",
            remedy='scope="forward" checks every op; scope="backward" also the gradients',
            given=scope,
        )
    target = target_of(model, "tl.validate")
    check_context("tl.validate")
    given = bind(target, *arguments(inputs, input_kwargs, "tl.validate"))
    state, generators = ModelState(target.model, given.args, given.kwargs), RandomState()
    try:
        with torch.set_grad_enabled(torch.is_grad_enabled() or scope == "backward"):
            return _validation(target, given, scope, state, generators)
    finally:
        state.restore()
        generators.restore()


def _validation(
    target: Target, given: Given, scope: ValidationScope, state: ModelState, generators: RandomState
) -> ValidationStatus:
    random_state = TorchExaminer().random_state()
    named_inputs = dict(given.tensors())
    sources: dict[tuple[str, str], object] = {
        ("input", address): state.value_of(tensor) for address, tensor in named_inputs.items()
    }
    sources |= {("buffer", name): state.value_of(tensor) for name, tensor in target.model.named_buffers()}

    outputs, modules = plain_forward(target, *fresh(given.args, given.kwargs))
    buffers_after = _buffers(target)
    state.restore()
    generators.restore()

    found = dict(target.model.named_buffers())
    run = _record(target, given)
    left = dict(target.model.named_buffers())
    truth = GroundTruth(
        outputs=outputs,
        sources=sources,
        buffers_after=buffers_after,
        buffers_recorded=_buffers(target),
        buffers_replaced=frozenset(name for name in found if left.get(name) is not found[name]),
        buffers_sharing=sharing_buffers(target.model),
        modules=modules,
        random_state=random_state,
        random_state_after=TorchExaminer().random_state(),
    )
    made = [param.reference() for param in records_of(run).params if param.reference is not None]
    state.restore()
    generators.restore()
    truth = replace(truth, unaccounted=_unaccounted(target, given))
    state.restore()
    generators.restore()
    status = validate_trace(run, truth)
    made.clear()  # those that the forward itself made are gone from the model by now, and were needed until here
    if scope == "backward" and status.passed:
        return backward_status(target, given, run, status, (state, generators))
    return status


def _record(target: Target, given: Given) -> Trace:
    options = CaptureOptions(detach_saved_activations=True, keep_orphans=True, save_rng=True)
    args, kwargs = fresh(given.args, given.kwargs)
    model = target.model if target.method == "__call__" else target.function
    return trace(model, args, kwargs, capture=options)


def _unaccounted(target: Target, given: Given) -> str:
    """What a census of dispatched operators finds no owner for, where that is more than one operator.

    It is a run of its own: under a census some writes go unseen, and what is to be proved is an ordinary trace.
    """
    args, kwargs = fresh(given.args, given.kwargs)
    options = CaptureOptions(keep_orphans=True, completeness_witness=True)
    model = target.model if target.method == "__call__" else target.function
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the trace itself has warned
        records = records_of(trace(model, args, kwargs, save="none", capture=options))
    found = [gap.message for gap in records.gaps if gap.reason == "unaccounted_dispatch"]
    return found[0] if records.unaccounted > 1 and found else ""


def _buffers(target: Target) -> dict[str, torch.Tensor]:
    return {name: buffer.detach().clone() for name, buffer in target.model.named_buffers()}
