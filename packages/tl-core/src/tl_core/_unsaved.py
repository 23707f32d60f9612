"""Why an op has no value, and how to get one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

from tl_core._errors import PayloadUnavailableError

if TYPE_CHECKING:
    from tl_core._state import State


@final
class Absence(NamedTuple):
    """Why a value is not there."""

    reason: str
    """Empty where it is not known."""
    remedy: str


def absence(state: State, index: int) -> Absence:
    """Why the op at `index` kept no value.

    Args:
        state: of the trace.
        index: of an op without a payload.
    """
    info = state.info
    if info.level == "audit":
        return Absence(
            "the bundle holds no values (level='audit')",
            "save the trace that has them with trace.save(path, level='portable')",
        )
    label = state.labels.layer(state.grouping.layer_of[index])
    remedy = (
        f"tl.trace(model, x, save={label!r}, like=trace) keeps the value of {label}, and save='all' those of all ops"
    )
    if info.saved == "'none'":
        return Absence("save='none' keeps no values", remedy)
    if info.saved == "'all'":
        return Absence("the framework cannot copy it", "convert it in the forward, and read the op that does so")
    chosen = info.saved != ""
    return Absence(f"save={info.saved} does not select it" if chosen else "", remedy)


def unavailable(state: State, index: int) -> PayloadUnavailableError:
    """The refusal to give a value that was not kept."""
    absent, label = absence(state, index), state.labels.op(index)
    return PayloadUnavailableError(
        f"The value of {label!r} was not saved{absent.reason and ': '}{absent.reason}.",
        code="value_not_saved",
        remedy=absent.remedy,
        label=label,
        reason=absent.reason,
    )
