"""Multiply-adds of an einsum, contracted pair by pair in the order in which torch does it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple, cast

from torch.backends import opt_einsum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tl_torch._call_shapes import Shape

# An index of the equation: a letter, or the position of a dimension that `...` stands for, counted from the right.
Index = str | int
Term = tuple[Index, ...]


class Work(NamedTuple):
    """Multiply-adds of the products, and further single operations (sums before a product, products without a sum)."""

    macs: int
    single: int


def einsum_work(equation: str, shapes: Sequence[Shape], path: Sequence[int] | None = None) -> Work:
    """Count the work of `torch.einsum(equation, *operands)`.

    `path` lists operand positions two by two, each result going to the end. Without it, the order is the one that
    `torch.einsum` takes: from `opt_einsum` for three operands or more where that is installed and enabled, else from
    left to right.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    written = left.split(",")
    if len(written) != len(shapes):
        raise LookupError(f"{equation!r} does not name {len(shapes)} operands")
    terms = [_indices(term, len(shape)) for term, shape in zip(written, shapes, strict=True)]
    sizes = _sizes(terms, shapes)
    result = set(_indices(right, _ellipsis_rank(terms) + len(right.replace("...", "")))) if arrow else _implicit(terms)
    if path is None and len(shapes) > 2 and opt_einsum.is_available() and opt_einsum.enabled:
        path = _optimised(equation, shapes)
    # A dimension of size 1 takes part in no sum: torch multiplies over it by broadcasting.
    wide = [
        _distinct(tuple(index for index, size in zip(term, shape, strict=True) if size != 1))
        for term, shape in zip(terms, shapes, strict=True)
    ]
    return _contract(wide, result, sizes, path)


def _optimised(equation: str, shapes: Sequence[Shape]) -> Sequence[int]:
    pairs = opt_einsum.get_opt_einsum().contract_path(equation, *shapes, optimize=opt_einsum.strategy, shapes=True)[0]
    return [place for pair in cast("Sequence[Sequence[int]]", pairs) for place in pair]


def _contract(operands: list[Term], result: set[Index], sizes: dict[Index, int], path: Sequence[int] | None) -> Work:
    macs = single = 0
    steps = list(path) if path is not None else [0, 1] * (len(operands) - 1)
    for first, second in zip(steps[::2], steps[1::2], strict=True):
        low, high = sorted((first, second))
        b, a = operands.pop(high), operands.pop(low)
        needed = result.union(*operands)
        work, product = _pair(a, b, needed, sizes)
        macs += work.macs
        single += work.single
        operands.insert(len(operands) if path is not None else 0, product)
    last = operands[0]
    kept = _volume([index for index in last if index in result], sizes)
    return Work(macs, single + _volume(last, sizes) - kept)


def _pair(a: Term, b: Term, needed: set[Index], sizes: dict[Index, int]) -> tuple[Work, Term]:
    """Contract two operands: indices of one alone that nobody needs are summed first, shared ones by a product."""
    kept_a = tuple(index for index in a if index in needed or index in b)
    kept_b = tuple(index for index in b if index in needed or index in a)
    single = _volume(a, sizes) - _volume(kept_a, sizes) + _volume(b, sizes) - _volume(kept_b, sizes)
    union = _distinct(kept_a + kept_b)
    product = tuple(index for index in union if index in needed)
    volume = _volume(union, sizes)
    if len(product) == len(union):
        return Work(0, single + volume), product
    return Work(volume, single), product


def _indices(term: str, rank: int) -> Term:
    """Split a term into indices; `...` becomes as many positions as the operand of `rank` dimensions has left."""
    before, dots, after = term.partition("...")
    if not dots:
        return tuple(term)
    return (*before, *range(rank - len(before) - len(after), 0, -1), *after)


def _sizes(terms: Sequence[Term], shapes: Sequence[Shape]) -> dict[Index, int]:
    sizes: dict[Index, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for index, size in zip(term, shape, strict=True):
            known = sizes.get(index, 1)
            sizes[index] = max(known, size) if known and size else 0
    return sizes


def _implicit(terms: Sequence[Term]) -> set[Index]:
    """Without `->`, the result has what `...` stands for and each letter that occurs once."""
    every = [index for term in terms for index in term]
    return {index for index in every if isinstance(index, int) or every.count(index) == 1}


def _ellipsis_rank(terms: Sequence[Term]) -> int:
    return max((index for term in terms for index in term if isinstance(index, int)), default=0)


def _distinct(term: Term) -> Term:
    return tuple(dict.fromkeys(term))


def _volume(indices: Sequence[Index], sizes: dict[Index, int]) -> int:
    return prod(sizes[index] for index in indices)
