"""What a validation found: the verdict on a trace, and the first thing that was wrong."""

from __future__ import annotations

from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal, NamedTuple, final

if TYPE_CHECKING:
    from collections.abc import Mapping

Check = Literal[
    "argument_logging", "aten_values_consistent", "bfs_completeness", "degenerate_forward", "forward_replay", "ground_truth",
    "ground_truth_missing_out", "metadata_invariant", "perturbation", "precondition_refusal", "source_provenance",
]  # fmt: skip
"""What was checked when something failed."""

ValidationState = Literal["available", "passed", "failed", "unavailable", "unverified"]
"""available: could be validated and was not; unavailable: cannot be; unverified: nothing failed, not all was checked."""


def _nothing() -> Mapping[str, object]:
    return {}


def _no_counts() -> Mapping[str, int]:
    return {}


_IN_SUMMARY = ("check", "op_label", "func_name", "message", "extra")
"""Fields that `ValidationFailure.summary` tells, and the details that only programs need."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationFailure:
    """The first op of a trace that a validation found wrong."""

    check: Check
    op_label: str
    """Label with the pass; empty where no op is at fault."""
    func_name: str
    message: str
    saved_shape: tuple[int, ...] | None = None
    recomputed_shape: tuple[int, ...] | None = None
    saved_dtype: str | None = None
    recomputed_dtype: str | None = None
    max_abs_diff: float | None = None
    """Largest difference between finite elements."""
    max_rel_diff: float | None = None
    """Largest difference relative to the saved element."""
    nan_mismatch: int | None = None
    """Elements that are NaN on one side only."""
    inf_mismatch: int | None = None
    """Elements that are infinite on one side only, or with another sign."""
    reduction_depth: int | None = None
    """Multiply-adds behind one element, which the tolerance grows with."""
    extra: Mapping[str, object] = field(default_factory=_nothing)

    def summary(self) -> str:
        """One line: check, op, function, what was found."""
        place = f" at {self.op_label} ({self.func_name})" if self.op_label else ""
        return f"{self.check}{place}: {self.message}"

    def __str__(self) -> str:
        """The summary, and below it the facts that are known."""
        known = {name: value for name, value in self.to_dict().items() if value not in (None, {})}
        rows = [f"  {name}: {value}" for name, value in known.items() if name not in _IN_SUMMARY]
        return "\n".join([self.summary(), *rows])

    def to_dict(self) -> dict[str, object]:
        """The fields by name."""
        facts = {item.name: getattr(self, item.name) for item in fields(self)}  # the names are the class's own
        facts["extra"] = dict(self.extra)
        return facts


class Decision(NamedTuple):
    """What a validation decided about one op."""

    op_label: str
    func_name: str
    state: Literal["passed", "failed", "unverified"]
    reason: str
    """Why it was not verified, or the check that failed; empty for an op that passed."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationStatus:
    """How far a trace has been validated."""

    state: ValidationState
    backend: str
    source: Literal["live", "loaded"]
    """Whether the trace was recorded in this process or read from a bundle."""
    payload_load_status: Literal["live", "lazy", "eager", "none"] = "live"
    """Where the saved values come from: the run itself, a bundle value by value or all at once, or nowhere."""
    reason: str = ""
    """Stable identifier of the reason where the state is neither passed nor available."""
    message: str = ""
    replayed_node_count: int = 0
    """Ops whose function ran again and gave the saved value."""
    unverified_node_count: int = 0
    """Ops that could not be checked."""
    pure_unverified_node_count: int = 0
    """Those among them without an effect beyond their output."""
    effect_region_node_count: int = 0
    """Ops inside regions with effects that a replay cannot repeat."""
    failed_node_count: int = 0
    perturbed_parent_count: int = 0
    """Edges whose parent was changed, and whose op answered."""
    exempted_parent_count: int = 0
    """Edges whose op did not have to answer."""
    unverified_reason_counts: Mapping[str, int] = field(default_factory=_no_counts)
    conditional_reason_counts: Mapping[str, int] = field(default_factory=_no_counts)
    """Edges whose op answered only once its weights, what an index points into, or the shape were others too."""
    exempted_reason_counts: Mapping[str, int] = field(default_factory=_no_counts)
    decisions: tuple[Decision, ...] = field(default=(), repr=False)
    """One row an op, in execution order."""
    failure: ValidationFailure | None = None
    """The first thing that was wrong."""

    @property
    def available(self) -> bool:
        """Whether the trace can be validated."""
        return self.state != "unavailable"

    @property
    def passed(self) -> bool:
        """Whether everything was checked and right."""
        return self.state == "passed"

    def __bool__(self) -> bool:
        if self.state in {"passed", "failed"}:
            return self.state == "passed"
        raise TypeError(
            f"This validation is {self.state} ({self.reason or 'it did not run'}), which is neither True nor False. "
            "Read .state and .reason."
        )

    def exemptions(self) -> str:
        """The table of edges whose op did not have to answer, by reason."""
        edges = self.perturbed_parent_count + self.exempted_parent_count
        share = 100 * self.exempted_parent_count / edges if edges else 0.0
        lines = [f"{self.exempted_parent_count} of {edges} edges exempt ({share:.2f}%)"]
        lines += [f"  {count:6,}  {reason}" for reason, count in Counter(self.exempted_reason_counts).most_common()]
        conditions = Counter(self.conditional_reason_counts)
        if conditions:
            lines.append(f"{conditions.total()} edges answered on a condition")
            lines += [f"  {count:6,}  {reason}" for reason, count in conditions.most_common()]
        return "\n".join(lines)


_last: ContextVar[ValidationFailure | None] = ContextVar("last_validation_failure", default=None)


def last_validation_failure() -> ValidationFailure | None:
    """What the last validation on this thread found wrong; None when it passed or none ran.

    Example:
        >>> import torch, warnings
        >>> import tl_torch as tl
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     tl.validate(torch.nn.Threshold(0.0, float("nan")), -torch.ones(3))
        False
        >>> last_validation_failure().check
        'degenerate_forward'
    """
    return _last.get()


def note_failure(failure: ValidationFailure | None) -> None:
    """Make `failure` what `last_validation_failure` gives; None after a pass."""
    _last.set(failure)
