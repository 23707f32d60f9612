"""Warnings that point at the line of the user, however many of our functions lie between."""

from __future__ import annotations

import sys
from pathlib import Path
from warnings import warn

import tl_core
from tl_core import TorchLensWarning

OURS = tuple(str(Path(str(place)).parent) for place in (tl_core.__file__, __file__))


def warn_user(message: str, code: str) -> None:
    """Issue a warning at the first frame outside of this package and tl-core."""
    level = 1
    frame = sys._getframe()  # noqa: SLF001 - the documented way to a caller's file
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
        level += 1
    warn(TorchLensWarning(message, code=code), stacklevel=level)
