"""What a user gives as the outputs of a plain forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

from tl_core._errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tl_core._backend import Backend


@runtime_checkable
class UnpackingBackend(Protocol):
    """A backend that finds the tensors inside what a model returns, whatever the container."""

    def tensors_in(self, value: object) -> Iterable[object]:
        """The tensors inside `value`, in the order in which a capture numbers the outputs."""
        ...


def given_outputs(outputs: object, backend: Backend) -> list[object]:
    """The tensors among what a model returned, in order.

    Args:
        outputs: one tensor, or a container of them as the model returned it.
        backend: knows a tensor.

    Raises:
        ArgumentTypeError: there is something, and no tensor in it (code `outputs_invalid`).
    """
    leaves = list(_flat(outputs))
    if not isinstance(backend, UnpackingBackend):
        return leaves
    tensors = list(backend.tensors_in(outputs))
    if leaves and not tensors:
        raise ArgumentTypeError(
            "validate_forward_pass takes the tensors that a plain forward pass returned, and was given a "
            f"{type(leaves[0]).__name__}.",
            code="outputs_invalid",
            remedy="trace.validate_forward_pass(model(x))",
            given=type(leaves[0]).__name__,
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
