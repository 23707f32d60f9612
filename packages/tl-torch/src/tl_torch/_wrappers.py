"""Process-wide defaults of the capture diagnostics, under the names that programs for wrapping tracers use.

Capture observes through a mode of torch, so there is nothing to wrap: a reference to a torch function is seen however
and whenever it was taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final, get_args

from torch import nn

from tl_core import ArgumentTypeError, ConfigurationError, fitting
from tl_torch._preflight import named_kind

if TYPE_CHECKING:
    from tl_core import CaptureOptions

EscapeDetector = Literal["off", "shadow"]


@final
@dataclass(slots=True)
class _Defaults:
    """What `wrap_torch` has set."""

    wrapped: bool = False
    escape_detector: EscapeDetector = "off"
    completeness_witness: bool = False


_defaults = _Defaults()


@fitting("wrap_torch")
def wrap_torch(*, escape_detector: EscapeDetector | None = None, completeness_witness: bool | None = None) -> None:
    """Set the process-wide defaults of the two capture diagnostics; patches nothing, and may be called again.

    Args:
        escape_detector: `"shadow"` watches every capture for tensor work that its seam does not show; `"off"`; None
            leaves it as it is. `CaptureOptions(escape_detector=...)` overrides it for one capture.
        completeness_witness: whether every capture ties each dispatch to the op that owns it; None leaves it as it is.

    Raises:
        ConfigurationError: a value that is not known (`escape_detector_invalid`).

    Example:
        >>> import tl_torch as tl
        >>> tl.wrap_torch(completeness_witness=True)
        >>> tl.is_wrapped()
        True
        >>> tl.unwrap_torch()
    """
    check_escape_detector(escape_detector)
    _defaults.wrapped = True
    if escape_detector is not None:
        _defaults.escape_detector = escape_detector
    if completeness_witness is not None:
        _defaults.completeness_witness = bool(completeness_witness)


def unwrap_torch() -> None:
    """Take back what `wrap_torch` set."""
    _defaults.wrapped = False
    _defaults.escape_detector = "off"
    _defaults.completeness_witness = False


def is_wrapped() -> bool:
    """Whether `wrap_torch` was called and not taken back; captures need it in neither case."""
    return _defaults.wrapped


def check_escape_detector(value: object) -> None:
    """Refuse an unknown detector.

    Raises:
        ConfigurationError: code `escape_detector_invalid`.
    """
    if value is not None and value not in get_args(EscapeDetector):
        raise ConfigurationError(
            f"escape_detector takes 'off' or 'shadow', and was given {value!r}.",
            code="escape_detector_invalid",
            remedy='escape_detector="shadow" reports tensor work that capture could not see',
            given=value,
        )


def with_defaults(options: CaptureOptions) -> CaptureOptions:
    """Options with the process-wide defaults filled in."""
    detector, witness = options.escape_detector, options.completeness_witness
    if detector is None and witness is None and not _defaults.wrapped:
        return options
    check_escape_detector(detector)
    return replace(
        options,
        escape_detector=_defaults.escape_detector if detector is None else detector,
        completeness_witness=_defaults.completeness_witness if witness is None else witness,
    )


@fitting("tl.release_model")
def release_model(model: nn.Module) -> None:
    """Make sure that nothing of a capture is left on a model, before it is pickled as a whole.

    Capture leaves nothing on a model and rebinds none of the functions that it holds, so there is nothing to undo:
    programs that have to release their models elsewhere run unchanged.

    Args:
        model: the module that is going to be serialized.

    Raises:
        ArgumentTypeError: it is no module (`model_type_unsupported`).

    Example:
        >>> import pickle, torch
        >>> import tl_torch as tl
        >>> model = torch.nn.Linear(4, 2)
        >>> _ = tl.trace(model, torch.ones(1, 4))
        >>> tl.release_model(model)
        >>> _ = pickle.dumps(model)
    """
    if not isinstance(model, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise ArgumentTypeError(
            f"tl.release_model takes an nn.Module, and was given {named_kind(model)}.",
            code="model_type_unsupported",
            remedy="tl.release_model(model)",
            given=type(model).__name__,
        )
