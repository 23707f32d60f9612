"""Rows about what was never tried and what is left to other tools; packages replace them when they see a model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tl_doctor._row import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVING_ENGINES = ("vllm", "sglang")


def scope_rows() -> Iterator[Row]:
    """CUDA graphs, packed weights, and serving engines."""
    yield Row(
        key="cuda_graphs", label="CUDA graphs", status="not_tested", severity="ok", detected=False,
        details="a replayed graph runs kernels without Python: no op of it is seen, and this was not tried anywhere",
        suggestion="trace a copy that was built without make_graphed_callables, outside torch.cuda.graph()",
    )  # fmt: skip
    yield Row(
        key="gptq_awq_quantized", label="GPTQ and AWQ weights", status="not_tested", severity="ok", detected=False,
        details="not tried anywhere: counts, bytes and FLOPs would be those of the packed weights",
        suggestion="trace the checkpoint that is not quantized, where exact numbers matter",
    )  # fmt: skip
    running = [name for name in SERVING_ENGINES if name in sys.modules]
    there = f"; {' and '.join(running)} is loaded in this process" if running else ""
    yield Row(
        key="serving_engine", label="Serving engines", status="scope", severity="info" if running else "ok",
        detected=bool(running),
        details=f"vLLM and SGLang run fused kernels, paged caches and CUDA graphs, which are out of scope{there}",
        suggestion="trace the same model and revision from transformers",
    )  # fmt: skip
