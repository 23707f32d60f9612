"""Options as frozen records, for `tl.trace(model, x, capture=tl.options.CaptureOptions(...))`."""

from tl_core import CaptureOptions as CaptureOptions

__all__ = ["CaptureOptions"]
