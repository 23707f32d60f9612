"""Options as frozen records, for `tl.trace(model, x, capture=tl.options.CaptureOptions(...))`."""

from tl_core import CaptureOptions as CaptureOptions
from tl_core import SummaryOptions as SummaryOptions

__all__ = ["CaptureOptions", "SummaryOptions"]
