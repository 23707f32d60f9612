"""CPU time of several ways to do one thing, each beside a plain run of it, so that a slow spell hits both."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from statistics import median
from time import thread_time_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Medians over pairs of a plain run and a run of one way."""

    raw_s: float
    """CPU time of the plain run."""
    over_s: float
    """What the way takes more."""
    ratio: float
    """How many times the plain run's time the way takes."""


def paired(
    raw: Callable[[], object],
    ways: Mapping[str, Callable[[], object]],
    repetitions: int,
    clock: Callable[[], int] = thread_time_ns,
    *,
    warm: bool = True,
) -> dict[str, Timing]:
    """Measure each way against the plain run.

    Args:
        raw: the plain run.
        ways: what to run instead, by name; what a way returns is dropped outside the clock.
        repetitions: rounds; in each round every way runs once beside a plain run, before it or after it in turn.
        clock: CPU time in nanoseconds, of this thread or of the process.
        warm: run everything once before the first round.
    """
    assert gc.isenabled()
    for run in (raw, *ways.values()) if warm else ():
        run()
    pairs: dict[str, list[tuple[int, int]]] = {name: [] for name in ways}
    for turn in range(repetitions):
        for name, way in ways.items():
            first, second = (raw, way) if turn % 2 else (way, raw)
            times = (timed(first, clock), timed(second, clock))
            pairs[name].append(times if turn % 2 else times[::-1])
    return {
        name: Timing(
            raw_s=median(plain for plain, _ in found) / 1e9,
            over_s=median(taken - plain for plain, taken in found) / 1e9,
            ratio=median(taken / plain for plain, taken in found),
        )
        for name, found in pairs.items()
    }


def timed(run: Callable[[], object], clock: Callable[[], int]) -> int:
    """Nanoseconds of one run, without what freeing its result takes."""
    start = clock()
    result = run()
    taken = clock() - start
    del result
    return taken
