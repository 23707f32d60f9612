"""Where the user stands: warnings point at their line, not into ours."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tl_core._errors import TorchLensWarning

OURS = frozenset({"tl_core", "tl_torch", "tl_viz", "tl_distributed", "tl_preview_backends", "tl_doctor", "torchlens"})


def warn_caller(warning: TorchLensWarning) -> None:
    """Issue `warning` at the innermost line outside the packages of TorchLens."""
    warnings.warn(warning, stacklevel=_levels_out())


def _levels_out() -> int:
    level = 1
    frame = sys._getframe(1)  # noqa: SLF001  # documented in `sys`; `warn_caller` is level 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame = frame.f_back
        level += 1
    return level
