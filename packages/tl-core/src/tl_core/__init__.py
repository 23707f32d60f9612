"""Records, graph, selectors, file format and backend contract of TorchLens."""

from tl_core._accessor import Accessor as Accessor
from tl_core._aten import AtenOp as AtenOp
from tl_core._aten import AtenOwner as AtenOwner
from tl_core._aten import TensorFacts as TensorFacts
from tl_core._autograd import DifferentiatingBackend as DifferentiatingBackend
from tl_core._backend import Backend as Backend
from tl_core._backend import HostArray as HostArray
from tl_core._backend import MemoryKey as MemoryKey
from tl_core._backend import OpCost as OpCost
from tl_core._backend import backend as backend
from tl_core._backend import backend_entry_points as backend_entry_points
from tl_core._buffer import Buffer as Buffer
from tl_core._builder import TraceBuilder as TraceBuilder
from tl_core._bundle_template import EnumValue as EnumValue
from tl_core._bundle_template import FrameworkValue as FrameworkValue
from tl_core._bundle_template import StructValue as StructValue
from tl_core._caller import warn_caller as warn_caller
from tl_core._calm import collector_paused as collector_paused
from tl_core._conditional import Conditional as Conditional
from tl_core._context import OpContext as OpContext
from tl_core._cost import FunctionCost as FunctionCost
from tl_core._cost import TraceCost as TraceCost
from tl_core._errors import AmbiguousOpLookupError as AmbiguousOpLookupError
from tl_core._errors import ArgumentTypeError as ArgumentTypeError
from tl_core._errors import ArtifactError as ArtifactError
from tl_core._errors import AtenOpsUnavailableError as AtenOpsUnavailableError
from tl_core._errors import BackendCapabilityConformanceError as BackendCapabilityConformanceError
from tl_core._errors import BackendUnsupportedError as BackendUnsupportedError
from tl_core._errors import CaptureError as CaptureError
from tl_core._errors import ConfigurationError as ConfigurationError
from tl_core._errors import DistributedCaptureUnsupportedError as DistributedCaptureUnsupportedError
from tl_core._errors import DivergenceError as DivergenceError
from tl_core._errors import FieldUnavailableError as FieldUnavailableError
from tl_core._errors import LookupFailedError as LookupFailedError
from tl_core._errors import MissingDependencyError as MissingDependencyError
from tl_core._errors import MutatedReferenceError as MutatedReferenceError
from tl_core._errors import PayloadUnavailableError as PayloadUnavailableError
from tl_core._errors import ReentrantTraceError as ReentrantTraceError
from tl_core._errors import ScalarEscapeWarning as ScalarEscapeWarning
from tl_core._errors import TorchLensError as TorchLensError
from tl_core._errors import TorchLensWarning as TorchLensWarning
from tl_core._errors import UnsupportedTensorVariantError as UnsupportedTensorVariantError
from tl_core._extension import extension as extension
from tl_core._find import records_of as records_of
from tl_core._graph import Graph as Graph
from tl_core._health_compare import Comparison as Comparison
from tl_core._health_compare import OpPair as OpPair
from tl_core._health_compare import compare as compare
from tl_core._health_dead import DeadNeurons as DeadNeurons
from tl_core._health_dead import DeadUnits as DeadUnits
from tl_core._health_dead import dead_neurons as dead_neurons
from tl_core._health_nan import FindNanResult as FindNanResult
from tl_core._health_nan import find_nan as find_nan
from tl_core._indices import packed as packed
from tl_core._layer import Layer as Layer
from tl_core._load import load as load
from tl_core._module import Module as Module
from tl_core._module import ModuleCall as ModuleCall
from tl_core._op import Op as Op
from tl_core._option_values import check_values as check_values
from tl_core._options import CaptureOptions as CaptureOptions
from tl_core._param import Param as Param
from tl_core._payload import DeferredPayload as DeferredPayload
from tl_core._payload import LendingBackend as LendingBackend
from tl_core._quantity import Bytes as Bytes
from tl_core._quantity import Duration as Duration
from tl_core._quantity import Flops as Flops
from tl_core._quantity import Macs as Macs
from tl_core._record import AROUND_KEY as AROUND_KEY
from tl_core._record import AUTOCAST_KEY as AUTOCAST_KEY
from tl_core._record import ITEMWISE_KEY as ITEMWISE_KEY
from tl_core._record import RANDOM_STATE_KEY as RANDOM_STATE_KEY
from tl_core._record import AliasRead as AliasRead
from tl_core._record import BufferRecord as BufferRecord
from tl_core._record import CallRecord as CallRecord
from tl_core._record import Frames as Frames
from tl_core._record import GapRecord as GapRecord
from tl_core._record import GeneratorRead as GeneratorRead
from tl_core._record import ModuleCallRecord as ModuleCallRecord
from tl_core._record import ModuleRecord as ModuleRecord
from tl_core._record import Opaque as Opaque
from tl_core._record import OpKind as OpKind
from tl_core._record import OpRecord as OpRecord
from tl_core._record import ParamRecord as ParamRecord
from tl_core._record import ReadKind as ReadKind
from tl_core._record import ReadRecord as ReadRecord
from tl_core._record import Records as Records
from tl_core._replay import Difference as Difference
from tl_core._replay import ExaminableBackend as ExaminableBackend
from tl_core._replay import Examiner as Examiner
from tl_core._replay import Finiteness as Finiteness
from tl_core._replay import Leaf as Leaf
from tl_core._replay import Replayed as Replayed
from tl_core._replay import UnreplayableError as UnreplayableError
from tl_core._replay import itemwise_parents as itemwise_parents
from tl_core._replay import leaves_of as leaves_of
from tl_core._replay import leaves_of_argument as leaves_of_argument
from tl_core._replay_host import array_difference as array_difference
from tl_core._save import SaveOption as SaveOption
from tl_core._save import SavePolicy as SavePolicy
from tl_core._save import save_policy as save_policy
from tl_core._selector import Selector as Selector
from tl_core._selector import func as func
from tl_core._selector import in_module as in_module
from tl_core._selector import label as label
from tl_core._selector import label_contains as label_contains
from tl_core._selector import module as module
from tl_core._selector import where as where
from tl_core._signature import fitting as fitting
from tl_core._signature import fitting_options as fitting_options
from tl_core._signature import unknown_option as unknown_option
from tl_core._site import LiveNames as LiveNames
from tl_core._source import Source as Source
from tl_core._source import SourceLine as SourceLine
from tl_core._source import Span as Span
from tl_core._status import Decision as Decision
from tl_core._status import ValidationFailure as ValidationFailure
from tl_core._status import ValidationStatus as ValidationStatus
from tl_core._status import last_validation_failure as last_validation_failure
from tl_core._status import note_failure as note_failure
from tl_core._summary import Summary as Summary
from tl_core._summary import SummaryOptions as SummaryOptions
from tl_core._summary import summarize as summarize
from tl_core._table import op_frame as op_frame
from tl_core._table import op_table as op_table
from tl_core._trace import Trace as Trace
from tl_core._trace import TraceInfo as TraceInfo
from tl_core._validate import note_unverified as note_unverified
from tl_core._validate import validate_trace as validate_trace
from tl_core._validate_finding import GroundTruth as GroundTruth
from tl_core._validate_finding import ModuleTruth as ModuleTruth

__all__ = [
    "AROUND_KEY",
    "AUTOCAST_KEY",
    "Accessor",
    "AliasRead",
    "AtenOp",
    "AtenOwner",
    "TensorFacts",
    "AmbiguousOpLookupError",
    "ArgumentTypeError",
    "ArtifactError",
    # backends
    "Backend",
    "BackendCapabilityConformanceError",
    "BackendUnsupportedError",
    "Buffer",
    "BufferRecord",
    # reports
    "Bytes",
    "CallRecord",
    "CaptureError",
    # options
    "CaptureOptions",
    # health of a run
    "Comparison",
    "Conditional",
    "ConfigurationError",
    "DeadNeurons",
    "DeadUnits",
    # validation
    "Decision",
    "DeferredPayload",
    "Difference",
    "DistributedCaptureUnsupportedError",
    "DivergenceError",
    "Duration",
    # arguments on a loaded trace
    "EnumValue",
    "ExaminableBackend",
    "Examiner",
    "FieldUnavailableError",
    "FindNanResult",
    "Finiteness",
    "Flops",
    "Frames",
    "FrameworkValue",
    "FunctionCost",
    "GapRecord",
    "GeneratorRead",
    "Graph",
    "GroundTruth",
    "HostArray",
    "Layer",
    "Leaf",
    "DifferentiatingBackend",
    "LendingBackend",
    "LiveNames",
    "LookupFailedError",
    "Macs",
    "MemoryKey",
    "MissingDependencyError",
    "Module",
    "ModuleCall",
    "ModuleCallRecord",
    "ModuleRecord",
    "ModuleTruth",
    "MutatedReferenceError",
    # what a trace shows
    "Op",
    "OpContext",
    "OpCost",
    "OpKind",
    "OpPair",
    "OpRecord",
    "Opaque",
    "Param",
    "ParamRecord",
    "AtenOpsUnavailableError",
    "PayloadUnavailableError",
    "ITEMWISE_KEY",
    "RANDOM_STATE_KEY",
    "ReadKind",
    "ReadRecord",
    "Records",
    "ReentrantTraceError",
    "Replayed",
    # what a run saves
    "SaveOption",
    "SavePolicy",
    "ScalarEscapeWarning",
    # selectors
    "Selector",
    "Source",
    "SourceLine",
    "Span",
    "StructValue",
    "Summary",
    "SummaryOptions",
    # errors and warnings
    "TorchLensError",
    "TorchLensWarning",
    "warn_caller",
    "Trace",
    # records and how they are made
    "TraceBuilder",
    "TraceCost",
    "TraceInfo",
    "UnreplayableError",
    "UnsupportedTensorVariantError",
    "ValidationFailure",
    "ValidationStatus",
    "array_difference",
    "collector_paused",
    "backend",
    "backend_entry_points",
    "check_values",
    "compare",
    "dead_neurons",
    "extension",
    "find_nan",
    "fitting",
    "fitting_options",
    "func",
    "in_module",
    "label",
    "label_contains",
    "last_validation_failure",
    "itemwise_parents",
    "leaves_of",
    "leaves_of_argument",
    # saved values and bundles
    "load",
    "module",
    "note_failure",
    "note_unverified",
    "op_frame",
    "op_table",
    "packed",
    "records_of",
    "save_policy",
    "summarize",
    "unknown_option",
    "validate_trace",
    "where",
]
