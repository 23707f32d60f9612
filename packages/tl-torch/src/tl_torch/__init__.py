"""Records what a PyTorch model computes, operation by operation."""

from tl_core import AmbiguousOpLookupError as AmbiguousOpLookupError
from tl_core import ArgumentTypeError as ArgumentTypeError
from tl_core import ArtifactError as ArtifactError
from tl_core import AtenOp as AtenOp
from tl_core import AtenOpsUnavailableError as AtenOpsUnavailableError
from tl_core import BackendCapabilityConformanceError as BackendCapabilityConformanceError
from tl_core import BackendUnsupportedError as BackendUnsupportedError
from tl_core import Buffer as Buffer
from tl_core import Bytes as Bytes
from tl_core import CaptureError as CaptureError
from tl_core import CaptureOptions as CaptureOptions
from tl_core import Comparison as Comparison
from tl_core import ConfigurationError as ConfigurationError
from tl_core import DistributedCaptureUnsupportedError as DistributedCaptureUnsupportedError
from tl_core import DivergenceError as DivergenceError
from tl_core import Duration as Duration
from tl_core import FindNanResult as FindNanResult
from tl_core import Flops as Flops
from tl_core import Layer as Layer
from tl_core import LookupFailedError as LookupFailedError
from tl_core import Macs as Macs
from tl_core import MissingDependencyError as MissingDependencyError
from tl_core import Module as Module
from tl_core import ModuleCall as ModuleCall
from tl_core import MutatedReferenceError as MutatedReferenceError
from tl_core import Op as Op
from tl_core import Param as Param
from tl_core import PayloadUnavailableError as PayloadUnavailableError
from tl_core import ReentrantTraceError as ReentrantTraceError
from tl_core import ScalarEscapeWarning as ScalarEscapeWarning
from tl_core import Selector as Selector
from tl_core import TorchLensError as TorchLensError
from tl_core import TorchLensWarning as TorchLensWarning
from tl_core import Trace as Trace
from tl_core import UnsupportedTensorVariantError as UnsupportedTensorVariantError
from tl_core import ValidationFailure as ValidationFailure
from tl_core import ValidationStatus as ValidationStatus
from tl_core import compare as compare
from tl_core import dead_neurons as dead_neurons
from tl_core import func as func
from tl_core import in_module as in_module
from tl_core import label as label
from tl_core import label_contains as label_contains
from tl_core import last_validation_failure as last_validation_failure
from tl_core import load as load
from tl_core import module as module
from tl_core import where as where
from tl_torch._backend import TorchBackend as TorchBackend
from tl_torch._debug import find_nan as find_nan
from tl_torch._distributed_preflight import distributed_findings as distributed_findings
from tl_torch._input_shape import InferInputShapeResult as InferInputShapeResult
from tl_torch._input_shape import infer_input_shape as infer_input_shape
from tl_torch._trace import trace as trace
from tl_torch._validation import validate as validate
from tl_torch._validation import validation as validation
from tl_torch._wrappers import is_wrapped as is_wrapped
from tl_torch._wrappers import release_model as release_model
from tl_torch._wrappers import unwrap_torch as unwrap_torch
from tl_torch._wrappers import wrap_torch as wrap_torch

__all__ = [
    "AmbiguousOpLookupError",
    "ArgumentTypeError",
    "ArtifactError",
    "BackendCapabilityConformanceError",
    "BackendUnsupportedError",
    "Buffer",
    "AtenOp",
    # quantities
    "Bytes",
    "CaptureError",
    "CaptureOptions",
    "Comparison",
    "ConfigurationError",
    "DistributedCaptureUnsupportedError",
    "DivergenceError",
    "Duration",
    "FindNanResult",
    "Flops",
    "InferInputShapeResult",
    "Layer",
    "LookupFailedError",
    "Macs",
    "MissingDependencyError",
    "Module",
    "ModuleCall",
    "MutatedReferenceError",
    # records
    "Op",
    "Param",
    "PayloadUnavailableError",
    "AtenOpsUnavailableError",
    "ReentrantTraceError",
    "ScalarEscapeWarning",
    # selectors
    "Selector",
    # backend
    "TorchBackend",
    # errors and warnings
    "TorchLensError",
    "TorchLensWarning",
    "Trace",
    "UnsupportedTensorVariantError",
    "ValidationFailure",
    "ValidationStatus",
    # health
    "compare",
    "dead_neurons",
    "find_nan",
    "func",
    "in_module",
    "infer_input_shape",
    "label",
    "label_contains",
    "last_validation_failure",
    # bundles
    "load",
    "module",
    # capture
    "trace",
    # diagnostics
    "wrap_torch",
    "unwrap_torch",
    "is_wrapped",
    "release_model",
    "distributed_findings",
    # validation
    "validate",
    "validation",
    "where",
]
