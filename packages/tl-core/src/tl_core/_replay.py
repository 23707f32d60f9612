"""Running recorded calls again: arguments from saved values, and what a framework must offer for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, cast, final, runtime_checkable

from tl_core._payload import materialize
from tl_core._record import ITEMWISE_KEY, AliasRead, CallRecord, GeneratorRead, Opaque, OpRecord, ParamRecord, Records

Leaf = OpRecord | ParamRecord | AliasRead
"""What stands for a tensor in the arguments of a recorded call."""

Finiteness = Literal["all", "some", "none"]
"""How many elements of a value are finite."""


CALL_ERRORS = (
    RuntimeError,
    ValueError,
    LookupError,
    TypeError,
    AssertionError,
    ArithmeticError,
    NotImplementedError,
)
"""What a recorded call may raise when it runs again on other values or in other surroundings."""


class UnreplayableError(Exception):
    """A call cannot be run again; `reason` says why."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@final
class Difference(NamedTuple):
    """How a recomputed value differs from the saved one."""

    message: str
    max_abs: float | None = None
    max_rel: float | None = None
    nan_mismatch: int | None = None
    inf_mismatch: int | None = None


@final
class Replayed(NamedTuple):
    """What running a call again gave."""

    outputs: Sequence[object]
    """The tensors it returned or wrote, as capture counts them."""
    written: Sequence[tuple[object, object]] = ()
    """Arguments that it wrote, each as given and as it was afterwards; what was given is unchanged."""
    mutation: str = ""
    """What it wrote that no output shows, as a text for people; empty where every write is recorded."""

    @property
    def hidden(self) -> tuple[object, ...]:
        """What it left in arguments that it does not return."""
        shown = {id(value) for value in self.outputs}
        return tuple([left for _, left in self.written if id(left) not in shown])


@runtime_checkable
class Examiner(Protocol):
    """What a framework offers so that its traces can be checked: replay, comparison and perturbation of values."""

    variants: int
    """In how many surroundings a call can be run again; 0 is the one in which most were recorded."""

    def begin(self, records: Records, random_state: object) -> None:
        """Get ready for the calls of `records`, before which the generators stood in `random_state` (None: unknown)."""
        ...

    def is_tensor(self, value: object) -> bool:
        """Whether `value` is a tensor of the framework."""
        ...

    def gradient(self, call: CallRecord) -> bool:
        """Whether the call took gradients: it answers to the graph that led to its arguments, not to their values."""
        ...

    def is_zero(self, value: object) -> bool:
        """Whether every element is zero."""
        ...

    def describe(self, value: object) -> tuple[tuple[int, ...], object]:
        """Shape and dtype of a tensor."""
        ...

    def replay(
        self,
        call: CallRecord,
        outputs: Sequence[OpRecord],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        variant: int = 0,
    ) -> Replayed:
        """Run a recorded call on values, and leave the values as they were.

        Raises:
            UnreplayableError: it cannot be run again.
        """
        ...

    def same(self, left: object, right: object) -> bool:
        """Whether two values have the same shape, dtype and elements; NaN equals NaN."""
        ...

    def difference(self, saved: object, again: object, depth: int) -> Difference | None:
        """How two values differ beyond rounding, or None.

        Args:
            saved: what the trace holds.
            again: what was computed again.
            depth: multiply-adds behind one element.
        """
        ...

    def finiteness(self, value: object) -> Finiteness:
        """How many elements are finite; `all` for an empty value and for whole numbers."""
        ...

    def perturbed(self, value: object, attempt: int, call: CallRecord, others: Sequence[object]) -> object | None:
        """Another value of the same shape and dtype; of an empty value, one that is not empty.

        None when there are no more attempts.

        Args:
            value: what the call was given.
            attempt: 0, 1...
            call: who is to answer.
            others: the other tensors and numbers that it was given.
        """
        ...

    def reshaped(self, value: object, attempt: int) -> object | None:
        """A value of another shape or dtype; None when there are no more attempts."""
        ...

    def enlarged(self, value: object) -> object | None:
        """The value twice as long in every dimension, its non-zero real elements scattered a little; None if it cannot."""
        ...

    def excuse(self, call: CallRecord, leaf: Leaf) -> str | None:
        """Why the call need not answer to a change of `leaf`, or None.

        `"shape_only"` (it then answers to another shape or dtype) and `"index"` (it then answers once what it points
        into holds other values) are tried by the caller.
        """
        ...

    def uninitialised(self, call: CallRecord) -> bool:
        """Whether the call returns memory as it found it, so that a replay gives other values."""
        ...

    def contains(self, value: object, sources: Sequence[object]) -> bool:
        """Whether each element of `value` occurs in one of `sources`; True where that is too costly to find out."""
        ...

    def generator(self, read: GeneratorRead) -> object:
        """A generator that stands where the one stood that a call was given.

        Raises:
            UnreplayableError: there is none here.
        """
        ...

    def random_state(self) -> object:
        """State of the generators from which calls draw."""
        ...

    def restore_random_state(self, state: object) -> None:
        """Put the generators back into `state`."""
        ...


@runtime_checkable
class ExaminableBackend(Protocol):
    """A backend that examines values where they lie; others are examined through host memory."""

    def examiner(self) -> Examiner:
        """A new examiner, for one validation."""
        ...


def leaves_of(call: CallRecord) -> Iterator[Leaf]:
    """Every tensor in the arguments of a call, in order, as often as it occurs."""
    for value in call.args:
        yield from leaves_in(value)
    for value in (call.kwargs or {}).values():
        yield from leaves_in(value)


def leaves_for(call: CallRecord, position: int) -> Iterator[Leaf]:
    """The tensors in the arguments of a call that may have a part in one of its outputs."""
    itemwise = call.meta is not None and call.meta.get(ITEMWISE_KEY) is True
    for value in (*call.args, *(call.kwargs or {}).values()):
        if itemwise and isinstance(value, (list, tuple)):
            yield from leaves_in(cast("Sequence[object]", value)[position : position + 1])
        else:
            yield from leaves_in(value)


def parents_of(leaf: Leaf) -> tuple[int, ...]:
    """Ops whose values an argument may hold."""
    if isinstance(leaf, OpRecord):
        return (leaf.index,)
    if isinstance(leaf, AliasRead):
        base = (leaf.base.index,) if isinstance(leaf.base, OpRecord) else ()
        return (*base, *(writer.index for writer in leaf.writers))
    return ()


def itemwise_parents(op: OpRecord) -> tuple[int, ...]:
    """The parents of an op, without those that stand in the lists of its call at the places of other outputs."""
    assert op.call is not None
    own = {parent for leaf in leaves_for(op.call, op.position) for parent in parents_of(leaf)}
    return tuple([parent for parent in op.parents if parent in own])


def leaves_of_argument(call: CallRecord, position: int, name: str) -> Iterator[Leaf]:
    """Every tensor in one argument of a call."""
    yield from leaves_in(call.args[position] if len(call.args) > position else (call.kwargs or {}).get(name))


def leaves_in(value: object) -> Iterator[Leaf]:
    """Every tensor inside one argument."""
    if isinstance(value, (OpRecord, ParamRecord, AliasRead)):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[object]", value):
            yield from leaves_in(item)
    elif isinstance(value, Mapping):
        for item in cast("Mapping[object, object]", value).values():
            yield from leaves_in(item)
    elif isinstance(value, slice):
        yield from leaves_in(_bounds(cast("slice[object, object, object]", value)))


def leaf_value(leaf: Leaf) -> object:
    """The saved value of an argument.

    Raises:
        UnreplayableError: it was not saved, or the parameter is gone.
    """
    if isinstance(leaf, OpRecord):
        value = materialize(leaf.payload)
    elif isinstance(leaf, AliasRead) or leaf.value is not None:
        value = materialize(leaf.value)
    else:
        value = None if leaf.reference is None else leaf.reference()
    if value is None:
        what = f"parameter {leaf.address!r}" if isinstance(leaf, ParamRecord) else "an argument"
        raise UnreplayableError("value_missing", f"the value of {what} was not saved")
    return value


@final
class Arguments:
    """Builds the arguments of one call from saved values, some of them replaced."""

    __slots__ = ("_call", "_generator", "_twins", "_values", "leaves")

    def __init__(self, call: CallRecord, generator: Callable[[GeneratorRead], object]) -> None:
        self._call = call
        self._generator = generator
        self._values: dict[int, object] = {}
        self._twins: dict[int, list[int]] = {}
        """Further leaves by `id`, that stand for the same tensor as the one with the key."""
        self.leaves: list[Leaf] = []
        """Every tensor among the arguments, once."""
        aliases: dict[tuple[int, ...], AliasRead] = {}
        for leaf in leaves_of(call):
            if id(leaf) in self._values:
                continue
            self._values[id(leaf)] = leaf_value(leaf)
            if isinstance(leaf, AliasRead):
                key = (id(leaf.base), *map(id, leaf.writers))
                first = aliases.setdefault(key, leaf)
                if first is not leaf:
                    self._twins.setdefault(id(first), []).append(id(leaf))
                    continue
            self.leaves.append(leaf)

    def value(self, leaf: Leaf) -> object:
        """The saved value of an argument."""
        return self._values[id(leaf)]

    def with_values(self, replaced: Mapping[int, object]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments with other values for some leaves.

        Args:
            replaced: values by `id` of one of `leaves`; empty for the arguments as they were.

        Raises:
            UnreplayableError: an argument was of a kind that is not kept.
        """
        values = {**self._values, **replaced} if replaced else self._values
        for first, twins in self._twins.items():
            if first in replaced:
                values |= dict.fromkeys(twins, replaced[first])
        call, generator = self._call, self._generator
        args = [_filled(value, values, generator) for value in call.args]
        return args, {name: _filled(value, values, generator) for name, value in (call.kwargs or {}).items()}


def _filled(value: object, values: Mapping[int, object], generator: Callable[[GeneratorRead], object]) -> object:
    if isinstance(value, (OpRecord, ParamRecord, AliasRead)):
        return values[id(value)]
    if isinstance(value, GeneratorRead):
        return generator(value)
    if isinstance(value, Opaque):
        if value.type_name.startswith("numpy."):
            raise UnreplayableError("literal", "its value was given as an array of numpy")
        raise UnreplayableError("opaque_argument", f"an argument of type {value.type_name} is not kept")
    kind = type(value)
    if kind is list:
        return [_filled(item, values, generator) for item in cast("list[object]", value)]
    if isinstance(value, tuple):
        items = [_filled(item, values, generator) for item in cast("tuple[object, ...]", value)]
        if kind is tuple:
            return tuple(items)
        make = getattr(kind, "_make", None)  # a named tuple's
        return cast("object", value if make is None else make(items))
    if isinstance(value, dict):
        return {key: _filled(item, values, generator) for key, item in cast("dict[object, object]", value).items()}
    if kind is slice:
        bounds = _bounds(cast("slice[object, object, object]", value))
        return slice(*[_filled(bound, values, generator) for bound in bounds])
    return value


def _bounds(value: slice[object, object, object]) -> tuple[object, object, object]:
    """The bounds of a slice, each of which may stand for a tensor."""
    return value.start, value.stop, value.step


def plain_numbers(call: CallRecord) -> list[object]:
    """The numbers among the arguments of a call."""
    given = [*call.args, *(call.kwargs or {}).values()]
    return [value for value in given if isinstance(value, (bool, int, float))]
