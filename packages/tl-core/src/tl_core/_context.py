"""What a predicate sees of an op while a run is recorded: its metadata, never its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, final

from tl_core._errors import FieldUnavailableError
from tl_core._op_facts import OpFacts

if TYPE_CHECKING:
    from tl_core._record import OpRecord


@final
class OpContext(OpFacts):
    """Read-only metadata of one op, as a predicate sees it during a run.

    The attributes have the names that `Op` gives them. What is known only after the run (label, layer, pass, children)
    is not here, and neither is the value: `trace.find(where(...))` shows the predicate the `Op` itself.
    """

    __slots__ = ("_record",)

    def __init__(self, record: OpRecord) -> None:
        object.__setattr__(self, "_record", record)

    def __setattr__(self, name: str, value: object) -> None:
        raise FieldUnavailableError(
            f"What a predicate sees of an op is read-only; {name!r} cannot be set.",
            code="op_context_read_only",
            remedy="return True or False from the predicate, and keep notes in a variable of your own",
            field=name,
        )

    def __getattr__(self, name: str) -> Never:
        raise _unknown(name)

    @property
    def label(self) -> str:
        """The label; only for predicates of `trace.find`."""
        raise _unknown("label")

    @property
    def out(self) -> object:
        """The saved value; only for predicates of `trace.find`."""
        raise _unknown("out")

    def __repr__(self) -> str:
        place = f" in {self.module}" if self.module else ""
        return f"<OpContext {self.index}: {self.func_name} {self.dtype}{list(self.shape)}{place}>"


FIELDS = tuple(name for name in vars(OpFacts) if not name.startswith("_"))
"""What a predicate can ask for while a run is recorded."""


def _unknown(name: str) -> FieldUnavailableError:
    return FieldUnavailableError(
        f"A predicate sees no {name!r} while a run is recorded: labels, values and what comes later are not known yet. "
        f"It sees {', '.join(FIELDS)}.",
        code="live_field_unavailable",
        remedy=f"ask the finished trace: trace = tl.trace(model, x); trace.find(tl.where(lambda op: op.{name} ...))",
        field=name,
        known=FIELDS,
    )
