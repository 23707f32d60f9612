"""What is armed around one forward pass beside the recorder, and what it says afterwards."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, final

import torch

from tl_core import GapRecord, TorchLensWarning, warn_caller
from tl_torch._census import Census
from tl_torch._honesty import (
    Advisories,
    ThreadWatch,
    fused_attention_sites,
    warn_of_boundaries,
    warn_of_escapes,
)
from tl_torch._shadow import ShadowDetector

if TYPE_CHECKING:
    from tl_core import CaptureOptions, Trace
    from tl_torch._capture import Recorder


_NOTHING = nullcontext()


@final
class Diagnostics:
    """The watchers of one run; an ordinary run has nothing but a count of threads."""

    __slots__ = ("_advisories", "_census", "_detector", "_options", "_recorder", "_threads")

    def __init__(self, recorder: Recorder, options: CaptureOptions) -> None:
        self._recorder = recorder
        self._options = options
        self._advisories = Advisories()
        self._threads = ThreadWatch()
        self._census: Census | None = None
        self._detector: ShadowDetector | None = None
        shadow = options.escape_detector == "shadow"
        if options.aten_ops or options.completeness_witness or shadow:
            self._census = Census(
                recorder.builder, recorder.frames,
                rows=bool(options.aten_ops), values=options.aten_ops == "values",
            )  # fmt: skip
            recorder.watch_dispatches(self._census)
        if shadow:
            self._detector = ShadowDetector(type(recorder).__torch_function__.__code__)
        self._note_attention()

    def watching(self) -> AbstractContextManager[Any]:
        """The context in which the model runs."""
        if self._census is None:
            return _NOTHING
        stack = ExitStack()
        stack.enter_context(self._census)
        if self._detector is not None:
            stack.enter_context(self._detector)
        return stack

    def _note_attention(self) -> None:
        sources = self._recorder.sources
        if not sources.attention:
            return
        sites = fused_attention_sites(
            sources.attention, grad=torch.is_grad_enabled() and not self._options.inference_only
        )
        if sites:
            self._advisories.add(
                "fused_attention_fastpath_held_off", len(sites), sites[0] or "the model",
                "torch would have run these attention modules as one fused kernel; the trace holds the linear and "
                "scaled_dot_product_attention calls that it stands for, which agree with it up to rounding.",
            )  # fmt: skip

    # ---------------------------------------------------------------- after the run

    def settle(self) -> None:
        """Note as gaps what the watchers found; the first gap is the reason of the trace."""
        recorder, records = self._recorder, self._recorder.builder.records
        if self._threads.changed:
            recorder.note_gap(
                "owner_thread_tripwire_changed",
                "More threads run after the forward pass than before; what tensors they work on is not in the trace.",
            )
        if torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing():
            recorder.note_gap("cuda_graph_capture", "The forward pass ran inside the capture of a CUDA graph.")
        census, detector = self._census, self._detector
        if census is None:
            return
        unowned = census.settle()
        if detector is not None:
            lines = {(report["file"], report["line"]) for report in detector.reports}
            for operator, frames in unowned:
                detector.add_dispatch(operator, frames, lines)
            self._note_shadow(detector)
        records.witnessed = bool(self._options.completeness_witness) and not records.gaps

    def _note_shadow(self, detector: ShadowDetector) -> None:
        gaps = self._recorder.builder.records.gaps
        if detector.reports:
            first = detector.reports[0]
            message = (
                f"{len(detector.reports)} piece(s) of tensor work that capture could not see, first "
                f"{first['callable_candidates']} at {first['file']}:{first['line']}; see trace.escape_diagnostics."
            )
            gaps.insert(0, GapRecord("callable_escape_shadow_report", message, -1, ()))
        elif not self._options.completeness_witness:
            message = (
                "The shadow detector is a diagnosis and no proof; arm completeness_witness=True beside it for one."
            )
            gaps.insert(0, GapRecord("shadow_diagnostic_mode", message, -1, ()))

    def report(self, trace: Trace) -> None:
        """Annotate a finished trace, and warn of what its reader should not miss."""
        recorder, advisories = self._recorder, self._advisories
        created = recorder.sources.created
        if created:
            advisories.add(
                "parameter_created_in_forward", len(created), created[0],
                f"The forward pass built lazy modules and with them parameters: {', '.join(created)}.",
            )  # fmt: skip
        cuts = recorder.sources.truncated
        if cuts:
            advisories.add(
                "held_tensor_scan_truncated", len(cuts), next(iter(cuts)),
                "What the model holds was not looked into to the end: "
                + "; ".join(f"{path}: {why}" for path, why in cuts.items()) + ".",
            )  # fmt: skip
        warn_of_boundaries(recorder.boundaries, advisories)
        warn_of_escapes(recorder.builder.records, recorder.reads_of_torch, advisories)
        unaccounted = next((gap for gap in trace.gaps if gap.reason == "unaccounted_dispatch"), None)
        if unaccounted is not None:
            warn_caller(TorchLensWarning(unaccounted.message, code="unaccounted_dispatch"))
        advisories.annotate(trace)
        if self._detector is not None:
            trace.annotations["escape_diagnostics"] = self._detector.reports
            trace.annotations["escape_detector_backward_coverage"] = "not_armed"
