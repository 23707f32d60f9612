"""Every error and warning of TorchLens.

Each error carries `code` (a stable identifier), `remedy` (what to do) and `fields` (the facts), and also inherits
the builtin that a user would catch:

    TorchLensError
    ├── ConfigurationError (ValueError)          a bad option or argument, found before anything ran
    │   └── ArgumentTypeError (TypeError)        an argument of the wrong type or an unknown keyword
    ├── CaptureError (RuntimeError)              the run itself could not be recorded
    │   ├── ReentrantTraceError                  a trace inside a trace
    │   ├── UnsupportedTensorVariantError        fake, meta, sparse... tensors in inputs or model state
    │   ├── DistributedCaptureUnsupportedError   sharded model state
    │   └── DivergenceError                      the run parted from the earlier trace given as `like=`
    ├── LookupFailedError (LookupError)          a label, address or index that is not there
    │   ├── AmbiguousOpLookupError               a key with two meanings
    │   └── FieldUnavailableError (AttributeError)  an attribute that is not there, or not yet
    ├── PayloadUnavailableError (RuntimeError)   a value that was not saved, or has changed since
    │   └── AtenOpsUnavailableError              the ATen profile of a trace that has none
    ├── ArtifactError (OSError)                  a bundle that cannot be written or read
    ├── BackendUnsupportedError (RuntimeError)   a backend that does not offer what was asked
    │   └── BackendCapabilityConformanceError    a backend that claims what it does not implement
    └── MissingDependencyError (ImportError)     an optional distribution is not installed
"""

from collections.abc import Mapping


class TorchLensError(Exception):
    """Base of all errors: `code` identifies the case, `remedy` says what to do, `fields` holds the facts."""

    code: str
    remedy: str
    fields: Mapping[str, object]

    def __init__(self, problem: str, *, code: str, remedy: str = "", **fields: object) -> None:
        super().__init__(f"{problem}\n  What to do: {remedy}" if remedy else problem)
        self.problem = problem
        self.code = code
        self.remedy = remedy
        self.fields = fields

    def __str__(self) -> str:
        return str(self.args[0])


class ConfigurationError(TorchLensError, ValueError):
    """An option or argument that is refused before anything ran."""


class ArgumentTypeError(ConfigurationError, TypeError):
    """An argument of the wrong type, or a keyword that does not exist."""


class CaptureError(TorchLensError, RuntimeError):
    """A run that cannot be recorded."""


class ReentrantTraceError(CaptureError):
    """A trace was started inside another trace, or in a worker process."""


class UnsupportedTensorVariantError(CaptureError):
    """Inputs or model state hold tensors without ordinary dense storage."""


class DistributedCaptureUnsupportedError(CaptureError):
    """Inputs or model state are sharded over several processes."""


class DivergenceError(CaptureError):
    """The run did not reach a site of the trace given as `like=`, or reached it with another shape."""


class LookupFailedError(TorchLensError, LookupError, ValueError):
    """A key that names nothing in the trace."""


class AmbiguousOpLookupError(LookupFailedError):
    """A key that names two different things in the trace."""


class FieldUnavailableError(LookupFailedError, AttributeError):
    """An attribute that is not there, or a fact of an op that is known only when the run is over."""


class PayloadUnavailableError(TorchLensError, RuntimeError):
    """A value that was not saved, or that no longer is what was saved."""


class MutatedReferenceError(PayloadUnavailableError):
    """A payload kept by `save_mode="reference"` was written to after it was recorded."""


class AtenOpsUnavailableError(PayloadUnavailableError):
    """The ATen profile was asked of a trace that has none."""


class ArtifactError(TorchLensError, OSError):
    """A bundle that cannot be written, or one that is missing, altered, truncated, foreign or too new."""

    def __str__(self) -> str:
        return str(self.args[0])


class BackendUnsupportedError(TorchLensError, RuntimeError):
    """A backend was asked for something that it does not offer."""


class BackendCapabilityConformanceError(BackendUnsupportedError):
    """A backend claims a capability without an implementation."""


class MissingDependencyError(TorchLensError, ImportError):
    """An optional distribution or extra is not installed."""


class TorchLensWarning(UserWarning):
    """Base of all warnings; `code` identifies the case."""

    def __init__(self, message: str, *, code: str = "torchlens") -> None:
        super().__init__(message)
        self.code = code


class ScalarEscapeWarning(TorchLensWarning):
    """Tensor values became Python numbers inside the forward pass; what Python did with them is not in the graph."""
