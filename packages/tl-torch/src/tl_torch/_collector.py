"""Full garbage collections while a run is recorded: they wait."""

from __future__ import annotations

import gc
import threading
from typing import Self, final

_NEVER = 1_000_000_000


@final
class Collections:
    """The full collections of the process, as long as something is being recorded.

    A full collection visits everything that there is, and every value kept adds to that: during 100,000 ops several
    of them take as long as the recording and free nothing. The younger generations are collected as ever, so a model
    that leaves cycles behind does not fill the memory. Nothing is hung on the collections themselves: Python drops
    what is raised there, an interruption by the user too.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recordings = 0
        self._usual: tuple[int, int, int] = gc.get_threshold()

    def __enter__(self) -> Self:
        """Put off full collections until the recording is over."""
        with self._lock:
            if not self._recordings:
                self._usual = gc.get_threshold()
                gc.set_threshold(*self._put_off)
            self._recordings += 1
        return self

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._recordings -= 1
            if not self._recordings and gc.get_threshold() == self._put_off:  # else somebody has set others since
                gc.set_threshold(*self._usual)

    @property
    def _put_off(self) -> tuple[int, int, int]:
        return (*self._usual[:2], _NEVER)


collections = Collections()
"""To be entered around each recording."""
