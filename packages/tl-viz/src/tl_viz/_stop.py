"""Shows where a run ended that did not reach its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_core import ModuleCall, Trace
    from tl_viz._network import Network

LABEL = "stop"
LONGEST = 90
"""Characters of the reason under the picture."""


def open_call(trace: Trace) -> ModuleCall | None:
    """Return the innermost module call that had not returned when the run ended; None for the model itself."""
    calls = [call for module in trace.modules for call in module.calls if module.address]
    call = max(calls, key=lambda one: one.index, default=None)
    while call is not None and call.outputs:
        above = call.parent
        call = next((one for one in calls if one.label == above), None)
    return call


def stop_words(trace: Trace) -> tuple[str, str]:
    """Return what the node says that stands where the run ended: its title, and why."""
    kind, _, message = trace.stop_reason.partition(": ")
    if trace.outcome == "failed":
        return kind or "failed", message
    return "stopped", trace.stop_reason


def show_stop(network: Network, trace: Trace, last: int, home: int) -> Network:
    """Return the network with a node where the run ended.

    Args:
        network: what ran.
        trace: the run.
        last: the op that ran last, or -1 where there is none.
        home: index of the innermost module call that had not returned, or -1.
    """
    title, message = stop_words(trace)
    where = network.calls[home].address if home >= 0 else "the model itself"
    reason = trace.stop_reason if len(trace.stop_reason) <= LONGEST else trace.stop_reason[: LONGEST - 1] + "…"
    verb = "failed" if trace.outcome == "failed" else "was stopped"
    note = f"the run {verb} in {where}" + (f": {reason}" if reason else "")
    at = len(network)
    return replace(
        network,
        labels=[*network.labels, LABEL],
        functions=[*network.functions, title],
        parents=[*network.parents, (last,) if last >= 0 else ()],
        module_of=[*network.module_of, home],
        roles=[*network.roles, "stop"],
        shapes=[*network.shapes, None],
        params=[*network.params, 0],
        learned=[*network.learned, False],
        rounds=[*network.rounds, 0],
        rows=[*network.rows, ()] if network.rows else (),
        links=[*network.links, ""] if network.links else (),
        tips=[*network.tips, message] if network.tips else (),
        owners=[*network.owners, LABEL] if network.owners else (),
        made_by=[*network.made_by, 0] if network.made_by else (),
        places=network.places | {at: message},
        pinned=network.pinned | {at},
        ending=note,
    )
