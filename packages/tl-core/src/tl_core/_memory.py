"""Memory handed back to the system."""

from __future__ import annotations

import ctypes
import sys


def trim_heap() -> None:
    """Ask the C library to return free memory; does nothing where it cannot."""
    if not sys.platform.startswith("linux"):
        return
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return  # a C library other than glibc
