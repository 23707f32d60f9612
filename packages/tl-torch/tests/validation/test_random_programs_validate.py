"""Random programs: their records pass, and what does not is a program that really ignores one of its values."""

from __future__ import annotations

import warnings

import torch
from hypothesis import given, settings
from programs import Program, programs
from torch import nn

import tl_torch as tl
from tl_core import OpRecord, records_of

EXAMPLES = 150


class Runs(nn.Module):
    """A model whose forward is the text of a program."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        for k, values in enumerate(program.buffers):
            self.register_buffer(f"b{k}", torch.tensor(values))
        scope: dict[str, object] = {"torch": torch}
        exec(compile(program.text, "<program>", "exec"), scope)
        self.text = scope["forward"]

    def forward(self, x0: torch.Tensor, x1: torch.Tensor) -> list[torch.Tensor]:
        return self.text(self, x0, x1)


def ignores_by_arithmetic(program: Program, label: str) -> bool:
    """Whether an op multiplies by the number 0, or takes a tensor from itself."""
    with torch.no_grad():
        trace = tl.trace(
            Runs(program),
            tuple(torch.tensor(values) for values in program.inputs),
            capture=tl.CaptureOptions(keep_orphans=True),
        )
    call = records_of(trace).ops[trace.ops[label].index].call
    assert call is not None
    first, second = call.args[:2]
    if call.name in {"mul", "mul_"}:
        return second == 0 and not isinstance(second, OpRecord)
    return call.name == "sub" and first is second


def test_random_programs() -> None:
    verdicts: list[bool] = []

    @settings(max_examples=EXAMPLES)
    @given(programs())
    def check(program: Program) -> None:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", tl.TorchLensWarning)
            status = tl.validation(Runs(program), tuple(torch.tensor(values) for values in program.inputs))
        verdicts.append(status.passed)
        if not status.passed:
            failure = status.failure
            assert failure is not None
            assert failure.check == "perturbation", failure.summary()
            assert ignores_by_arithmetic(program, failure.op_label), failure.summary()

    check()
    assert sum(verdicts) >= 0.7 * len(verdicts)
