"""What one line of a summary says, and the columns that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, final

from tl_core._errors import ArgumentTypeError, ConfigurationError
from tl_core._grid import Column, cut_start
from tl_core._near import meant
from tl_core._quantity import BINARY_PREFIXES, SI_PREFIXES, Duration, scaled

if TYPE_CHECKING:
    from tl_core._tree import Work


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One line of a summary before it is text."""

    output: str
    """Shape of the output, as text."""
    dtype: str
    calls: int
    params: int
    tied: int
    """Parameters that are used here too and counted elsewhere."""
    trainable: int
    work: Work
    module: str = ""
    """Address of the module in which an op ran."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What the percentages of a summary refer to."""

    params: int
    work: Work
    counted: bool
    """Whether FLOP formulas could be asked at all."""


MODULE_WIDTH = 28
"""Most columns that an address takes; its end tells more than its beginning."""

Show = Callable[[Facts, Totals], str]


def count_text(number: int) -> str:
    """A count with all its digits, or with a prefix where they would be too many to read."""
    if abs(number) < 10**12:
        return f"{number:,}"
    digits, prefix = scaled(number, 1000, SI_PREFIXES)
    return f"{digits} {prefix}"


def percent_text(part: float, whole: float) -> str:
    """A share: empty for nothing, `<0.1%` for less than shows."""
    if part <= 0 or whole <= 0:
        return ""
    share = 100 * part / whole
    return "<0.1%" if share < 0.05 else "100%" if share >= 99.95 else f"{share:.1f}%"


def work_text(number: int, uncounted: int, *, counted: bool) -> str:
    """FLOPs or MACs of a line: `?` where nothing is known, `≥` where something is missing in the sum."""
    if not counted:
        return ""
    if not number:
        return "?" if uncounted else ""
    digits, prefix = scaled(number, 1000, SI_PREFIXES)
    text = f"{digits} {prefix}" if prefix else digits
    return f"\N{GREATER-THAN OR EQUAL TO}{text}" if uncounted else text


def _params(facts: Facts, totals: Totals) -> str:
    del totals
    if facts.params:
        return count_text(facts.params)
    return f"({count_text(facts.tied)})" if facts.tied else ""


def _bytes(facts: Facts, totals: Totals) -> str:
    del totals
    if not facts.work.activation_bytes:
        return ""
    digits, prefix = scaled(facts.work.activation_bytes, 1024, BINARY_PREFIXES)
    return f"{digits} {prefix}B"


def _duration(facts: Facts, totals: Totals) -> str:
    del totals
    return str(Duration.from_ns(facts.work.duration_ns)) if facts.work.duration_ns else ""


COLUMNS: Mapping[str, tuple[Column, Show]] = {
    "module": (Column(title="Module", left=True), lambda facts, _: cut_start(facts.module, MODULE_WIDTH)),
    "output_shape": (Column(title="Output shape", left=True), lambda facts, _: facts.output),
    "dtype": (Column(title="Dtype", left=True), lambda facts, _: facts.dtype),
    "calls": (Column(title="Calls"), lambda facts, _: count_text(facts.calls) if facts.calls else ""),
    "ops": (Column(title="Ops"), lambda facts, _: count_text(facts.work.ops) if facts.work.ops else ""),
    "params": (Column(title="Params"), _params),
    "params_percent": (Column(title="%"), lambda facts, all_: percent_text(facts.params, all_.params)),
    "trainable": (Column(title="Trainable"), lambda facts, _: count_text(facts.trainable) if facts.trainable else ""),
    "flops": (
        Column(title="FLOPs"),
        lambda facts, all_: work_text(facts.work.flops, facts.work.uncounted, counted=all_.counted),
    ),
    "flops_percent": (Column(title="%"), lambda facts, all_: percent_text(facts.work.flops, all_.work.flops)),
    "macs": (
        Column(title="MACs"),
        lambda facts, all_: work_text(facts.work.macs, facts.work.uncounted, counted=all_.counted),
    ),
    "activation_bytes": (Column(title="Activations"), _bytes),
    "duration": (Column(title="Time"), _duration),
    "duration_percent": (
        Column(title="%"),
        lambda facts, all_: percent_text(facts.work.duration_ns, all_.work.duration_ns),
    ),
}
"""Every column that a summary can have beside the names."""

VIEWS: Mapping[str, tuple[str, ...]] = {
    "overview": ("output_shape", "params", "params_percent", "flops"),
    "compute": ("calls", "flops", "flops_percent", "macs", "activation_bytes", "duration", "duration_percent"),
}


def listed(columns: object, meant_one: str, code: str, known: str) -> tuple[str, ...]:
    """Names of columns from any collection of texts.

    Raises:
        ArgumentTypeError: `columns` is one text, or not a collection of texts.
    """
    if isinstance(columns, str):
        raise ArgumentTypeError(
            f"columns={columns!r} is one text; {meant_one} is meant.",
            code=code,
            remedy=f"columns=[{columns!r}]; {known}",
            asked=columns,
        )
    names: tuple[object, ...] = (
        tuple(cast("Iterable[object]", columns)) if isinstance(columns, Iterable) else (columns,)
    )
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None or not isinstance(columns, Iterable):
        raise ArgumentTypeError(
            f"columns={columns!r}: {meant_one} is meant, and {wrong!r} ({type(wrong).__name__}) is no name.",
            code=code,
            remedy=known,
            asked=wrong,
        )
    return cast("tuple[str, ...]", names)


def chosen_columns(columns: Sequence[str] | None, view: str) -> tuple[str, ...]:
    """The columns of a summary.

    Args:
        columns: names from `COLUMNS`, or None for those of the view.
        view: `overview` or `compute`.

    Raises:
        ArgumentTypeError: `columns` is not a list of names.
        ConfigurationError: a name is not a column.
    """
    if columns is None:
        return VIEWS[view]
    known = ", ".join(COLUMNS)
    columns = listed(columns, "a list of column names", "summary_column_unknown", f"the columns are {known}")
    for name in columns:
        if name not in COLUMNS:
            raise ConfigurationError(
                f"A summary has no column {name!r}.{meant(name, COLUMNS)}",
                code="summary_column_unknown",
                remedy=f"the columns are {known}",
                asked=name,
            )
    return tuple(columns)
