"""Numbers that print their unit: `Bytes`, `Flops`, `Macs`, `Duration`.

They are ordinary ints (`Duration` a float of seconds), so they compare, sort and serialise as such. Sums, differences,
negation and integer multiples keep the type; a ratio of two is a plain number.
"""

from __future__ import annotations

import re
from typing import ClassVar, Self, final

from tl_core._errors import ArgumentTypeError, ConfigurationError

SI_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
BINARY_PREFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")

SIZE_TYPES: tuple[type, ...] = (str, int)


def scaled(value: float, base: int, prefixes: tuple[str, ...]) -> tuple[str, str]:
    """Split a number into three significant digits and a prefix.

    Args:
        value: the number, of either sign.
        base: 1000 for SI prefixes, 1024 for binary ones.
        prefixes: from none upwards.

    Returns:
        The digits and the prefix, such as `("1.81", "G")`; whole numbers below `base` keep all their digits.
    """
    size, step = abs(float(value)), 0
    while step < len(prefixes) - 1 and round(size, 2 if size < 10 else 0) >= base:
        size /= base
        step += 1
    if step == 0 and float(value).is_integer():
        digits = str(int(size))
    else:
        digits = f"{size:.2f}" if size < 9.995 else f"{size:.1f}" if size < 99.95 else f"{size:,.0f}"
    return ("-" if value < 0 else "") + digits, prefixes[step]


class _Count(int):
    """A whole number of one unit; only `Bytes`, `Flops` and `Macs` are meant to be used."""

    unit: ClassVar[str]
    base: ClassVar[int] = 1000
    prefixes: ClassVar[tuple[str, ...]] = SI_PREFIXES

    def __add__(self, other: int) -> Self:
        if not self._fits(other):
            return NotImplemented
        return type(self)(int(self) + int(other))

    def __radd__(self, other: int) -> Self:
        if not self._fits(other):
            return NotImplemented
        return type(self)(int(other) + int(self))

    def __sub__(self, other: int) -> Self:
        if not self._fits(other):
            return NotImplemented
        return type(self)(int(self) - int(other))

    def __rsub__(self, other: int) -> Self:
        if not self._fits(other):
            return NotImplemented
        return type(self)(int(other) - int(self))

    def __mul__(self, other: int) -> Self:
        if isinstance(other, _Count) or not self._fits(other):
            return NotImplemented
        return type(self)(int(self) * int(other))

    def __rmul__(self, other: int) -> Self:
        if isinstance(other, _Count) or not self._fits(other):
            return NotImplemented
        return type(self)(int(self) * int(other))

    def _fits(self, other: object) -> bool:
        """Whether `other` is a plain number or one of the same unit: bytes and FLOPs do not add up."""
        return isinstance(other, int) and (isinstance(other, type(self)) or not isinstance(other, _Count))

    def __neg__(self) -> Self:
        return type(self)(-int(self))

    def __abs__(self) -> Self:
        return type(self)(abs(int(self)))

    def __str__(self) -> str:
        digits, prefix = scaled(self, self.base, self.prefixes)
        return f"{digits} {prefix}{self.unit}" if abs(self) != 1 else f"{digits} {self.unit.removesuffix('s')}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec and spec[-1] in "bcdoxXneEfFgG%," else format(str(self), spec)


@final
class Bytes(_Count):
    """A number of bytes; prints with binary prefixes.

    Example:
        >>> print(Bytes(44_700_000) + Bytes.parse("1MiB"))
        43.6 MiB
    """

    unit = "B"
    base = 1024
    prefixes = BINARY_PREFIXES

    def __str__(self) -> str:
        if abs(self) < 1024:
            return f"{int(self)} byte" if abs(self) == 1 else f"{int(self)} bytes"
        return super().__str__()

    @classmethod
    def parse(cls, text: str | int) -> Bytes:
        """Read a size.

        Args:
            text: such as `"512"`, `"1.5 GB"` (10^9), `"1GiB"` (2^30) or `"20k"`; an int is taken as bytes.

        Returns:
            The size.

        Raises:
            ArgumentTypeError: neither a text nor an int.
            ConfigurationError: not a size, or a negative one.

        Example:
            >>> Bytes.parse("1GB")
            Bytes(1000000000)
        """
        if isinstance(text, bool) or not isinstance(text, SIZE_TYPES):
            raise ArgumentTypeError(
                f"A size is a text such as '1GB' or a number of bytes, not {text!r}.",
                code="size_invalid",
                remedy="'512MB' is 512,000,000 bytes, '512MiB' is 536,870,912",
                given=repr(text),
            )
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([kmgtpe]?)(i?)(?:b|bytes?)?\s*", str(text), re.IGNORECASE)
        if found is None or (found[3] and not found[2]):
            raise ConfigurationError(
                f"{text!r} is not a size.",
                code="size_invalid",
                remedy="write a number and a unit: '512MB' is 512,000,000 bytes, '512MiB' is 536,870,912",
                given=text,
            )
        power = "kmgtpe".index(found[2].lower()) + 1 if found[2] else 0
        return cls(round(float(found[1]) * (1024 if found[3] else 1000) ** power))


@final
class Flops(_Count):
    """A number of floating-point operations, a fused multiply-add counted as two; prints with SI prefixes.

    Example:
        >>> print(Flops(3_628_000_000))
        3.63 GFLOPs
    """

    unit = "FLOPs"


@final
class Macs(_Count):
    """A number of fused multiply-adds; prints with SI prefixes.

    Example:
        >>> print(Macs(1_814_000_000))
        1.81 GMACs
    """

    unit = "MACs"


@final
class Duration(float):
    """A time in seconds; prints with the unit that fits.

    Example:
        >>> print(Duration.from_ns(1_234_567))
        1.23 ms
    """

    @classmethod
    def from_ns(cls, duration_ns: int) -> Duration:
        """A time given in nanoseconds."""
        return cls(duration_ns / 1e9)

    def __add__(self, other: float) -> Duration:
        return Duration(float(self) + float(other))

    def __radd__(self, other: float) -> Duration:
        return Duration(float(other) + float(self))

    def __sub__(self, other: float) -> Duration:
        return Duration(float(self) - float(other))

    def __rsub__(self, other: float) -> Duration:
        return Duration(float(other) - float(self))

    def __mul__(self, other: float) -> Duration:
        if isinstance(other, Duration):
            return NotImplemented
        return Duration(float(self) * float(other))

    def __rmul__(self, other: float) -> Duration:
        return Duration(float(other) * float(self))

    def __neg__(self) -> Duration:
        return Duration(-float(self))

    def __abs__(self) -> Duration:
        return Duration(abs(float(self)))

    def __str__(self) -> str:
        seconds = abs(float(self))
        if seconds >= 119.95:
            whole = round(seconds)
            hours, rest = divmod(whole, 3600)
            clock = f"{hours} h {rest // 60} min" if hours else f"{rest // 60} min {rest % 60} s"
            return f"-{clock}" if self < 0 else clock
        for unit, size in (("s", 1.0), ("ms", 1e-3), ("\N{MICRO SIGN}s", 1e-6)):
            if seconds >= size * 0.9995:
                return f"{scaled(float(self) / size, 10**9, ('',))[0]} {unit}"
        return f"{round(float(self) * 1e9)} ns"

    def __repr__(self) -> str:
        return f"Duration({float(self)!r})"

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec and spec[-1] in "neEfFgG%" else format(str(self), spec)
