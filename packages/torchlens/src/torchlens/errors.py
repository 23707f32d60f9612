"""Every error and warning of TorchLens, for `except tl.errors.ArtifactError:`."""

from tl_core import AmbiguousOpLookupError as AmbiguousOpLookupError
from tl_core import ArgumentTypeError as ArgumentTypeError
from tl_core import ArtifactError as ArtifactError
from tl_core import AtenOpsUnavailableError as AtenOpsUnavailableError
from tl_core import BackendCapabilityConformanceError as BackendCapabilityConformanceError
from tl_core import BackendUnsupportedError as BackendUnsupportedError
from tl_core import CaptureError as CaptureError
from tl_core import ConfigurationError as ConfigurationError
from tl_core import DistributedCaptureUnsupportedError as DistributedCaptureUnsupportedError
from tl_core import DivergenceError as DivergenceError
from tl_core import FieldUnavailableError as FieldUnavailableError
from tl_core import LookupFailedError as LookupFailedError
from tl_core import MissingDependencyError as MissingDependencyError
from tl_core import MutatedReferenceError as MutatedReferenceError
from tl_core import PayloadUnavailableError as PayloadUnavailableError
from tl_core import ReentrantTraceError as ReentrantTraceError
from tl_core import ScalarEscapeWarning as ScalarEscapeWarning
from tl_core import TorchLensError as TorchLensError
from tl_core import TorchLensWarning as TorchLensWarning
from tl_core import UnsupportedTensorVariantError as UnsupportedTensorVariantError

__all__ = [
    "AmbiguousOpLookupError",
    "ArgumentTypeError",
    "ArtifactError",
    "AtenOpsUnavailableError",
    "BackendCapabilityConformanceError",
    "BackendUnsupportedError",
    "CaptureError",
    "ConfigurationError",
    "DistributedCaptureUnsupportedError",
    "DivergenceError",
    "FieldUnavailableError",
    "LookupFailedError",
    "MissingDependencyError",
    "MutatedReferenceError",
    "PayloadUnavailableError",
    "ReentrantTraceError",
    "ScalarEscapeWarning",
    "TorchLensError",
    "TorchLensWarning",
    "UnsupportedTensorVariantError",
]
