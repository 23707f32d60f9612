"""CPU time of several ways to do one thing, measured in turn so that a slow spell hits all of them."""

from __future__ import annotations

import gc
from statistics import median
from time import thread_time_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def interleaved(
    ways: Mapping[str, Callable[[], object]],
    repetitions: int,
    clock: Callable[[], int] = thread_time_ns,
    *,
    warm: bool = True,
) -> dict[str, float]:
    """Median CPU time of each way, in seconds.

    Args:
        ways: what to run, by name; what a way returns is dropped outside the clock, before the next one starts.
        repetitions: rounds; each round runs every way once, in an order that rotates.
        clock: CPU time in nanoseconds, of this thread or of the process.
        warm: run every way once before the first round.
    """
    assert gc.isenabled()
    names = list(ways)
    times: dict[str, list[int]] = {name: [] for name in names}
    for name in names if warm else ():
        ways[name]()
    for turn in range(repetitions):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            start = clock()
            result = ways[name]()
            times[name].append(clock() - start)
            del result
    return {name: median(measured) / 1e9 for name, measured in times.items()}
