"""Tells apart the tensors that go into one op, where their order matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tl_core import Op

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMMUTATIVE = frozenset(
    [
        "add", "mul", "multiply", "maximum", "minimum", "fmax", "fmin", "eq", "ne", "equal", "not_equal", "allclose",
        "isclose", "and", "or", "xor", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or",
        "logical_xor", "logaddexp", "logaddexp2", "hypot", "dot", "inner", "vdot", "mse_loss", "l1_loss", "gcd", "lcm",
        "iadd", "radd", "imul", "rmul", "dist",
    ]
)  # fmt: skip
"""Functions that give the same whichever tensor comes first."""

LETTERS = {"scaled_dot_product_attention": ("q", "k", "v", "m")}
"""Functions whose arguments people call by letters."""

SHORT = 4
"""A keyword of no more letters is written whole."""

MOST = 4
"""More tensors than this are read in their order, and not numbered."""


def slots_of(op: Op, *, every: bool = False) -> dict[str, str]:
    """Return label of a parent -> which argument it is, for ops that read several tensors in an order that matters.

    Args:
        op: the op that reads.
        every: count also where the order does not matter.

    Arguments are counted from 1, the tensors of a list one by one; keywords are given by their first letter where they are long.
    """
    name, parents, call = op.func_name.strip("_"), op.parents, op.call
    if not 1 < len(parents) <= MOST or (name in COMMUTATIVE and not every) or call is None:
        return {}
    letters = LETTERS.get(name, ())
    found: dict[str, list[str]] = {}
    number = 0
    for value in call.args:
        for one in _places(value):
            text = letters[number] if number < len(letters) else str(number + 1)
            number += 1
            if isinstance(one, Op):
                found.setdefault(one.label, []).append(text)
    for key, value in call.kwargs.items():
        for one in _tensors(value):
            text = "m" if key == "attn_mask" else key if len(key) <= SHORT and not letters else key[0]
            found.setdefault(one.label, []).append(text)
    return {label: ",".join(dict.fromkeys(texts)) for label, texts in found.items() if label in parents}


def _places(value: object) -> Iterator[object]:
    """Yield an argument, or the tensors in it where it is a list."""
    if isinstance(value, (list, tuple)):
        yield from _tensors(cast("Sequence[object]", value))
    else:
        yield value


def _tensors(value: object) -> Iterator[Op]:
    if isinstance(value, Op):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in cast("Sequence[object]", value):
            yield from _tensors(one)
