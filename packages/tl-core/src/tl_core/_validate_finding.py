"""What one check found, before it has a label and a text for people; and what a run is held against."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tl_core._replay import Difference
    from tl_core._status import Check

_NOTHING: Mapping[str, object] = MappingProxyType({})


@final
class Finding(NamedTuple):
    """Something wrong at an op."""

    op: int
    """Index of the op; -1 where none is at fault."""
    check: Check
    message: str
    difference: Difference | None = None
    saved: object = None
    """The value in the trace."""
    recomputed: object = None
    """The value that it should have been."""
    depth: int | None = None
    extra: Mapping[str, object] = _NOTHING


def nothing_finite(op: int, saved: object) -> Finding:
    """What is wrong with an op whose output `saved` holds no finite element."""
    return Finding(
        op,
        "degenerate_forward",
        "no element of its output is finite, so nothing can be checked",
        saved=saved,
        extra={"degenerate_kind": "non_finite_output", "scope": "op"},
    )


@final
class ModuleTruth(NamedTuple):
    """What the caller of a module received in the plain forward."""

    address: str
    tensors: Sequence[object]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruth:
    """What a plain forward pass of the same model on the same inputs gave; what is None is not compared."""

    outputs: Sequence[object] | None = None
    """Tensors that the model returned, in order."""
    sources: Mapping[tuple[str, str], object] | None = None
    """Inputs and buffers before the run, by kind and address."""
    buffers_after: Mapping[str, object] | None = None
    """Buffers after the plain run, by address."""
    buffers_recorded: Mapping[str, object] | None = None
    """Buffers after the recorded run."""
    buffers_replaced: frozenset[str] = frozenset()
    """Addresses at which the recorded run left another tensor than it found: no write has to explain its value."""
    buffers_sharing: frozenset[str] = frozenset()
    """Addresses of buffers whose memory other tensors of the model show too: a write into these reaches them."""
    modules: Sequence[ModuleTruth] | None = None
    """Module calls in the order in which they began."""
    random_state: object = None
    """State of the random generators before both runs."""
    random_state_after: object = None
    """Their state after the recorded run."""
    unaccounted: str = ""
    """What a census of dispatched operators found no owner for; empty where everything has one."""
