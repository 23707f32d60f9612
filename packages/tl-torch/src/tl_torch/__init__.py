"""Records what a PyTorch model computes, operation by operation."""

from tl_core import CaptureOptions as CaptureOptions
from tl_core import Trace as Trace
from tl_core import func as func
from tl_core import in_module as in_module
from tl_core import label as label
from tl_core import label_contains as label_contains
from tl_core import load as load
from tl_core import module as module
from tl_core import where as where
from tl_torch._backend import TorchBackend as TorchBackend
from tl_torch._trace import trace as trace

__all__ = [
    # capture
    "trace",
    "CaptureOptions",
    "Trace",
    # selectors
    "func",
    "in_module",
    "label",
    "label_contains",
    "module",
    "where",
    # bundles
    "load",
    # backend
    "TorchBackend",
]
