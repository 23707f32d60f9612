"""What a user gives as the outputs of a plain forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from tl_core._errors import ArgumentTypeError

if TYPE_CHECKING:
    from tl_core._replay import Examiner


def given_outputs(outputs: object, examiner: Examiner) -> list[object]:
    """The tensors among what a model returned, in order.

    Args:
        outputs: one tensor, or a list, tuple or mapping of them, nested as the model returned it.
        examiner: knows a tensor of the backend.

    Raises:
        ArgumentTypeError: there is something else among them (code `outputs_invalid`).
    """
    tensors = list(_flat(outputs))
    for value in tensors:
        if not _is_tensor(value, examiner):
            raise ArgumentTypeError(
                f"validate_forward_pass takes the tensors that a plain forward pass returned, and was given a "
                f"{type(value).__name__}.",
                code="outputs_invalid",
                remedy="trace.validate_forward_pass([model(x)])",
                given=type(value).__name__,
            )
    return tensors


def _flat(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for part in cast("Mapping[object, object]", value).values():
            yield from _flat(part)
    elif isinstance(value, list | tuple):
        for part in cast("list[object]", value):
            yield from _flat(part)
    elif value is not None and not isinstance(value, bool | int | float | complex | str):
        yield value


def _is_tensor(value: object, examiner: Examiner) -> bool:
    try:
        examiner.describe(value)
    except AttributeError:
        return False
    return True
