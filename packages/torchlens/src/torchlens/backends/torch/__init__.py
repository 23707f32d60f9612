"""What is there for PyTorch alone."""

from tl_torch import TorchBackend as TorchBackend
from torchlens.backends.torch import wrappers as wrappers

__all__ = ["TorchBackend", "wrappers"]
