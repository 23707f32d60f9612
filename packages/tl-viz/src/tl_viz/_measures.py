"""Numbers of ops, for colours, sizes and further lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import cast

from tl_core import ConfigurationError, Op
from tl_viz._options import MEASURES, Measure


def measure(ops: list[Op], wish: Measure, option: str) -> dict[int, float]:
    """Return position -> number for the ops that have one.

    Raises:
        ConfigurationError: ops have no attribute of that name, or what they have is no number.
    """
    if isinstance(wish, Mapping):
        return _from_labels(ops, cast("Mapping[str, float]", wish))
    if callable(wish):
        return {at: float(wish(op)) for at, op in enumerate(ops)}
    found: dict[int, float] = {}
    for at, op in enumerate(ops):
        value = attribute(op, MEASURES.get(wish, wish), option)
        if value is None:
            continue
        try:
            found[at] = float(cast("float", value))
        except (TypeError, ValueError):
            raise ConfigurationError(
                f"draw({option}={wish!r}): {op.label} has {value!r} there, which is no number.",
                code="measure_invalid",
                remedy=f"write {option}='flops', 'time', 'bytes', or a function of the op",
                option=option,
                value=wish,
            ) from None
    return found


def _from_labels(ops: list[Op], values: Mapping[str, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for at, op in enumerate(ops):
        value = values.get(op.label, values.get(op.layer_label))
        if value is not None:
            found[at] = float(value)
    return found


def attribute(op: Op, path: str, option: str) -> object:
    """Return what an op has under a dotted name.

    Raises:
        ConfigurationError: it has nothing of that name.
    """
    try:
        return cast("object", attrgetter(path)(op))
    except AttributeError:
        raise ConfigurationError(
            f"draw({option}={path!r}): an op has no attribute {path!r}.",
            code="field_unknown",
            remedy="dir(trace.ops[0]) lists the names; dots lead into groups, as in 'cost.flops'",
            option=option,
            value=path,
        ) from None
