"""Settings of the interpreter that differ while a run is recorded."""

from __future__ import annotations

import gc
import sys
import threading
from contextlib import suppress
from typing import Self, final

_NEVER = 1_000_000_000
_YOUNG = 2000
"""New objects between collections of the youngest, at least: what Python itself does from 3.13 on."""
_IN_A_ROW = 10
"""Recordings after which a full collection is put off, while none has run: so many middle ones Python waits for."""
_FROZEN_AT_START = 2000
"""More objects than Python itself freezes when it starts (375 in 3.12), and fewer than `gc.freeze` does (5,000 of a bare Python)."""
_OWN_FRAMES = 100
"""Room for what recording itself calls, wherever the model stands."""
_LARGEST_LIMIT = 2**31 - 1
"""What `sys.setrecursionlimit` takes at most."""


@final
class Recording:
    """Full garbage collections wait and functions may nest deeper, as long as something is being recorded.

    A full collection visits everything that there is, and every value kept adds to that: during 100,000 ops several
    of them take as long as the recording and free nothing. The younger generations are collected, if less often on
    older Pythons, so a model that leaves cycles behind does not fill the memory. Nothing is hung on the collections
    themselves: Python drops what is raised there, an interruption by the user too.

    A full collection that has come due in the meantime would follow at once and look through every value kept, for
    nothing. Instead, what is there counts as old from then on, and Python counts the younger collections anew, as in mypy
    after it has loaded its cache. A program that traces on and on still gets one, after ten recordings.

    A recorded module call takes nearly twice the frames of a plain one, so a model that nests as deeply as Python lets it
    needs twice the limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recordings = 0
        self._thresholds: tuple[int, int, int] = gc.get_threshold()
        self._depth = sys.getrecursionlimit()
        self._fulls = -1
        """Full collections that had run when one was last put off."""
        self._in_a_row = 0
        """Recordings after which one was put off since then."""

    def __enter__(self) -> Self:
        """Change the settings until the recording is over."""
        with self._lock:
            if not self._recordings:
                self._thresholds = gc.get_threshold()
                self._depth = sys.getrecursionlimit()
                gc.set_threshold(*self._put_off)
                sys.setrecursionlimit(self._deeper)
            self._recordings += 1
        return self

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._recordings -= 1
            if self._recordings:
                return
            if gc.get_threshold() == self._put_off:  # else somebody has set others since
                gc.set_threshold(*self._thresholds)
                self._count_anew()
            if sys.getrecursionlimit() == self._deeper:
                with suppress(RecursionError):  # this thread stands deeper than that, which another one's run allowed
                    sys.setrecursionlimit(self._depth)

    def _count_anew(self) -> None:
        due = gc.isenabled() and gc.get_count()[-1] > self._thresholds[-1]
        if not due or gc.get_freeze_count() > _FROZEN_AT_START:  # what the user froze would be thawed
            return
        fulls = gc.get_stats()[-1]["collections"]
        if fulls != self._fulls:
            self._fulls, self._in_a_row = fulls, 0
        if self._in_a_row < _IN_A_ROW:
            self._in_a_row += 1
            gc.freeze()  # makes everything old and sets the counts to 0, without a look at any object
            gc.unfreeze()

    @property
    def _put_off(self) -> tuple[int, int, int]:
        young, middle, _ = self._thresholds
        return max(young, _YOUNG) if young else 0, middle, _NEVER

    @property
    def _deeper(self) -> int:
        return min(2 * self._depth + _OWN_FRAMES, _LARGEST_LIMIT)


recording = Recording()
"""To be entered around each run."""
