"""The words of a picture: numbers as people write them, ranges of copies, names relative to their frame."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

UNITS = ((1_000_000_000_000, "T"), (1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k"))


def amount(number: float) -> str:
    """Return a number with three digits and a unit.

    Example:
        >>> amount(25_557_032), amount(9_408), amount(64)
        ('25.6M', '9.41k', '64')
    """
    for size, unit in UNITS:
        if abs(number) >= size * 0.9995:
            value = number / size
            digits = 2 if value < 9.995 else (1 if value < 99.95 else 0)
            text = f"{value:.{digits}f}"
            return (text.rstrip("0").rstrip(".") if "." in text else text) + unit
    return f"{number:.3g}" if isinstance(number, float) else str(number)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, the noun in the plural where needed.

    Example:
        >>> count(1, "op"), count(1200, "op")
        ('1 op', '1,200 ops')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shape_text(shape: tuple[int, ...] | None) -> str:
    """Return a shape as Python writes it; an empty string where there is none."""
    if shape is None:
        return ""
    return "scalar" if not shape else "(" + ", ".join([str(size) for size in shape]) + ")"


def shape_range(first: tuple[int, ...] | None, last: tuple[int, ...] | None) -> str:
    """Return the shape of a run whose copies differ, each size that differs as a range.

    Example:
        >>> shape_range((1, 64, 56, 56), (1, 256, 56, 56))
        '(1, 64…256, 56, 56)'
    """
    if first == last or first is None or last is None or len(first) != len(last):
        return shape_text(first)
    sizes = [str(a) if a == b else f"{a}…{b}" for a, b in zip(first, last, strict=True)]
    return "(" + ", ".join(sizes) + ")"


def relative(address: str, frame: str) -> str:
    """Return an address without the address of the frame it stands in, but never a bare number.

    Example:
        >>> relative("layer1.0.conv1", "layer1.0"), relative("layer1.0", "layer1")
        ('conv1', 'layer1.0')
    """
    if not frame or not address.startswith(frame + "."):
        return address
    parts = address.split(".")
    start = frame.count(".") + 1
    while start and parts[start].isdigit():
        start -= 1
    return ".".join(parts[start:])


def address_range(first: str, last: str) -> str:
    """Return two addresses as a range, the common beginning written once.

    Example:
        >>> address_range("h.0", "h.11"), address_range("h.0.1", "h.11.1")
        ('h.0…11', 'h.0…11.1')
    """
    if first == last:
        return first
    one, other = first.split("."), last.split(".")
    unlike = [at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    if len(one) == len(other) and len(unlike) == 1 and (one[unlike[0]] + other[unlike[0]]).isdigit():
        at = unlike[0]
        return ".".join([*one[:at], f"{one[at]}…{other[at]}", *one[at + 1 :]])
    same = 0
    while same < min(len(one), len(other)) - 1 and one[same] == other[same]:
        same += 1
    tail = ".".join(other[same:])
    head = ".".join(one)
    prefix = 0
    if len(one) - same == 1 and len(other) - same == 1:  # denselayer1, denselayer6
        while prefix < min(len(one[same]), len(tail)) and one[same][prefix] == tail[prefix]:
            prefix += 1
        while prefix and (one[same][prefix - 1].isdigit()):
            prefix -= 1
    return f"{head}…{tail[prefix:]}"


def summary(names: Iterable[str], most: int = 3) -> str:
    """Return names in order, repeated ones counted, and how many the rest are, so that the numbers add up.

    Example:
        >>> summary(["Conv2d", "BatchNorm2d", "Conv2d", "ReLU", "add"])
        'Conv2d ×2, BatchNorm2d, ReLU and 1 more'
    """
    counted = Counter(names)
    parts = [name if number == 1 else f"{name} ×{number}" for name, number in counted.items()]
    rest = sum([*counted.values()][most:])
    return ", ".join(parts[:most]) + (f" and {rest} more" if rest else "")
