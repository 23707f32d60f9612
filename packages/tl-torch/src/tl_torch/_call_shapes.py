"""The arguments of one recorded call, each tensor seen as its shape."""

from __future__ import annotations

from string import ascii_letters
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast, final

from tl_core import AliasRead, CallRecord, OpRecord, ParamRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

T = TypeVar("T")
Shape: TypeAlias = tuple[int, ...]

_NONE: Mapping[str, object] = MappingProxyType({})


@final
class CallShapes:
    """Reads shapes and plain values out of the templates of a call.

    A call that does not hold what a formula asks for raises `LookupError`; the work of such a call is unknown.
    """

    __slots__ = ("_args", "_kwargs", "kernel", "out")

    def __init__(self, call: CallRecord, outputs: Sequence[OpRecord]) -> None:
        self._args = call.args
        self._kwargs: Mapping[str, object] = call.kwargs or _NONE
        self.kernel = call.kernel
        self.out: Shape = outputs[0].shape
        """Shape of the first output."""

    def __len__(self) -> int:
        """Count the arguments given."""
        return len(self._args) + len(self._kwargs)

    def value(self, position: int, keyword: str, default: object = None) -> object:
        """Return the argument given by position or by keyword, else `default`."""
        args = self._args
        return args[position] if position < len(args) else self._kwargs.get(keyword, default)

    def keyword(self, name: str, default: object = None) -> object:
        """Return an argument that can be given by keyword only."""
        return self._kwargs.get(name, default)

    def number(self, position: int, keyword: str, default: float) -> float:
        """Return an argument that is a plain number, else `default`."""
        value = self.value(position, keyword, default)
        return value if isinstance(value, (int, float)) else default

    def has(self, position: int, keyword: str) -> bool:
        """Whether the argument is a tensor."""
        return _shape(self.value(position, keyword)) is not None

    def shape(self, position: int, keyword: str = "input") -> Shape:
        """Return the shape of a tensor argument."""
        return _of_tensor(self.value(position, keyword))

    def text(self, position: int, keyword: str) -> str:
        """Return an argument that has to be a string."""
        return _of(str, self.value(position, keyword))

    def integers(self, position: int, keyword: str) -> Shape:
        """Return an argument that is one whole number or a sequence of them."""
        value = self.value(position, keyword)
        values = cast("Sequence[object]", value) if isinstance(value, (tuple, list)) else (value,)
        return tuple(_of(int, number) for number in values)

    def sizes(self, position: int, keyword: str, count: int) -> Shape:
        """Return an argument such as `kernel_size`: one number for all of `count` dimensions, or one for each."""
        sizes = self.integers(position, keyword)
        return sizes * count if len(sizes) == 1 else sizes

    def tensors(self) -> list[Shape]:
        """Return the shapes of all tensor arguments in order, those inside lists and tuples included."""
        return list(_walk((*self._args, *self._kwargs.values())))

    def equation(self) -> tuple[str, list[Shape]]:
        """Return equation and operand shapes of an einsum, whichever of its two spellings was called."""
        first = self._args[0]
        if isinstance(first, str):
            return first, self.tensors()
        operands = list(zip(self._args[::2], self._args[1::2], strict=False))
        terms = [_letters(subscripts) for _, subscripts in operands]
        result = "->" + _letters(self._args[-1]) if len(self._args) % 2 else ""
        return ",".join(terms) + result, [_of_tensor(operand) for operand, _ in operands]

    def groups(self) -> list[list[Shape]]:
        """Return the shapes inside each list or tuple of tensors among the positional arguments."""
        found = [list(_walk(cast("Sequence[object]", arg))) for arg in self._args if isinstance(arg, (list, tuple))]
        return [group for group in found if group]

    def dtype(self, position: int, keyword: str = "input") -> str:
        """Return the plain dtype name of a tensor argument, or an empty string."""
        value = self.value(position, keyword)
        record = value.base if isinstance(value, AliasRead) else value
        if isinstance(record, (OpRecord, ParamRecord)):
            return str(record.dtype).rpartition(".")[2]
        return ""


def _of(kind: type[T], value: object) -> T:
    if isinstance(value, kind):
        return value
    raise LookupError(f"{value!r} is no {kind.__name__}")


def _of_tensor(value: object) -> Shape:
    shape = _shape(value)
    if shape is None:
        raise LookupError(f"{value!r} is no tensor")
    return shape


def _letters(subscripts: object) -> str:
    """Write einsum subscripts given as numbers: one letter for each, `...` for an ellipsis."""
    if not isinstance(subscripts, (tuple, list)):
        raise LookupError(f"{subscripts!r} are no subscripts")  # noqa: TRY004 - one error for all unreadable calls
    numbers = cast("Sequence[object]", subscripts)
    return "".join(ascii_letters[_of(int, number)] if number is not ... else "..." for number in numbers)


def _shape(value: object) -> Shape | None:
    if type(value) is OpRecord or type(value) is ParamRecord:  # none has subclasses
        return value.shape
    return value.base.shape if type(value) is AliasRead else None


def _walk(values: Sequence[object]) -> Iterator[Shape]:
    for value in values:
        shape = _shape(value)
        if shape is not None:
            yield shape
        elif isinstance(value, (list, tuple)):
            yield from _walk(cast("Sequence[object]", value))
