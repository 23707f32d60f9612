"""Whether a loaded trace can run again, and its records in a form that can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tl_core._backend import backend
from tl_core._errors import ArtifactError, BackendUnsupportedError
from tl_core._manifest import EXECUTABLE
from tl_core._payload import LazyPayload
from tl_core._revive import ResolvingBackend, foreign_calls, revived

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_core._record import OpRecord, Records
    from tl_core._state import State

MAX_OPS_NAMED = 5
"""Most ops that a message names."""
RECIPE = (
    "trace with capture=tl.CaptureOptions(save_args=True, save_rng=True) and save with "
    'level="executable_with_callables", or validate the live trace before it is saved'
)


def load_status(records: Records) -> Literal["lazy", "eager", "none"]:
    """How the saved values of a loaded trace are read."""
    saved = next((op.payload for op in records.ops if op.payload is not None), None)
    return "none" if saved is None else "lazy" if isinstance(saved, LazyPayload) else "eager"


def moved_values(records: Records) -> bool:
    """Whether saved values are put on other devices than those that made them."""
    return any(isinstance(op.payload, LazyPayload) and op.payload.device != op.device for op in records.ops)


def runnable_records(state: State) -> Records:
    """Records of a loaded trace with functions and arguments.

    Raises:
        TorchLensError: as `resolving_backend` does.
    """
    return revived(state.records, resolving_backend(state))


def resolving_backend(state: State) -> ResolvingBackend:
    """The backend that finds every function of a loaded trace.

    Raises:
        ArtifactError: the bundle was saved without functions (`validation_functions_missing`), the run kept no
            arguments (`validation_arguments_missing`), or functions are not the framework's own
            (`validation_functions_foreign`).
        BackendUnsupportedError: the backend finds no functions by name (`backend_validation_replay_unsupported`), or
            is not installed.
        MissingDependencyError: the framework is not installed.
    """
    records, info = state.records, state.info
    ops = [op for op in records.ops if op.kind == "op"]
    if info.level != EXECUTABLE:
        what = f"The bundle is of level {info.level!r} and has no functions for"
        raise _refusal(state, ops, "validation_functions_missing", what)
    if not info.options.save_args:
        raise _refusal(state, ops, "validation_arguments_missing", "The run kept no arguments of")
    framework = backend(info.backend)
    if not isinstance(framework, ResolvingBackend):
        raise BackendUnsupportedError(
            f"The backend {info.backend!r} cannot find functions again by their names.",
            code="backend_validation_replay_unsupported",
            remedy="validate the live trace, before it is saved",
            backend=info.backend,
        )
    foreign = foreign_calls(records, framework)
    if foreign:
        names = sorted({name for _, name in foreign})
        shown = ", ".join(map(repr, names[:MAX_OPS_NAMED]))
        what = f"{shown} is no function of {info.backend} that only computes, and made"
        raise _refusal(state, [op for op, _ in foreign], "validation_functions_foreign", what, names)
    return framework


def _refusal(
    state: State, ops: Sequence[OpRecord], code: str, what: str, functions: Sequence[str] = ()
) -> ArtifactError:
    named = ", ".join(state.labels.op(op.index) for op in ops[:MAX_OPS_NAMED])
    more = f" and {len(ops) - MAX_OPS_NAMED} more" if len(ops) > MAX_OPS_NAMED else ""
    return ArtifactError(
        f"{what} {named}{more}, so {'these ops' if len(ops) > 1 else 'this op'} cannot run again.",
        code=code,
        remedy="validate the live trace, before it is saved" if functions else RECIPE,
        ops=tuple(state.labels.op(op.index) for op in ops),
        functions=tuple(functions),
    )
