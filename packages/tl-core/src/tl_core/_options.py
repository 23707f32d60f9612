"""Options of a capture, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from tl_core._option_values import check_values
from tl_core._signature import fitting_options


@fitting_options("tl.CaptureOptions")
@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """How a run is recorded, for `tl.trace(model, x, capture=...)`.

    Args:
        recurrence_detection: group repeated calls of one site into passes of one layer; False gives one layer a call.
        compute_input_output_distances: offer hop distances from the inputs and to the outputs.
        detach_saved_activations: detach saved values from autograd, so that they keep no graph alive.
        inference_only: run the forward pass without gradients.
        save_args: keep what a trace otherwise only refers to: parameters as the run read them. A saved trace needs them
            to be validated where it is loaded.
        save_rng: keep the state of the random generators before each call that draws, so that it can be repeated.
        keep_orphans: keep ops that are connected to neither an input nor an output.
        aten_ops: note every operator that the framework dispatches below the recorded functions; `"values"` keeps its
            output too.
        completeness_witness: tie every dispatched operator to the op that owns it; None is the process-wide default
            (`wrap_torch`).
        escape_detector: `"shadow"` looks for tensor work that capture could not see; None is the process-wide default.

    Raises:
        ConfigurationError: a value that an option does not take.

    Example:
        >>> CaptureOptions(keep_orphans=True).keep_orphans
        True
    """

    recurrence_detection: bool = True
    compute_input_output_distances: bool = True
    detach_saved_activations: bool = False
    inference_only: bool = False
    save_args: bool = False
    save_rng: bool = False
    keep_orphans: bool = False
    aten_ops: bool | Literal["values"] = False
    completeness_witness: bool | None = None
    escape_detector: Literal["off", "shadow"] | None = None

    def __post_init__(self) -> None:
        check_values(self, "tl.CaptureOptions")
