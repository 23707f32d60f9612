"""Keeps the garbage collector quiet while large structures are built.

Tables, plans and layouts are hundreds of thousands of small objects and no reference cycle; the collector would look through
all of them again and again, which may take longer than the work itself (measured: 2 of 3.4 s for a layout of 100,000 ops).
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def collector_paused() -> Generator[None]:
    """Pause automatic garbage collection, and leave it as it was afterwards, also when the body raises."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
