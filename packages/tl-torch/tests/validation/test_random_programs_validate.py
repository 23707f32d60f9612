"""Random programs: whether the record of one can be proved, and if not at which op, is what an interpreter says.

The interpreter decides without torch and without the code under test: it gives each operand of each call other values
and looks whether the result changes, and it looks for results without a finite element.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from typing import Any

import torch
from hypothesis import given, settings
from programs import Program, judged_programs
from torch import nn

import tl_torch as tl

EXAMPLES = int(os.environ.get("TORCHLENS_EXAMPLES", "250"))


class Runs(nn.Module):
    """A model whose forward is the text of a program."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        for k, values in enumerate(program.buffers):
            self.register_buffer(f"b{k}", given_tensor(values))
        scope: dict[str, object] = {"torch": torch}
        exec(compile(program.text, "<program>", "exec"), scope)
        self.text = scope["forward"]

    def forward(self, x0: torch.Tensor, x1: torch.Tensor) -> list[torch.Tensor]:
        return self.text(self, x0, x1)


def given_tensor(values: list[object]) -> torch.Tensor:
    tensor = torch.tensor(values)
    return tensor.double() if tensor.is_floating_point() else tensor


def validation(program: Program) -> Any:
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.TorchLensWarning)
        return tl.validation(Runs(program), tuple(given_tensor(values) for values in program.inputs))


def verdict(status: Any) -> tuple[str, str] | None:
    """The check that failed and the op at which it did, as the interpreter calls it; None for a pass."""
    failure = status.failure
    if failure is None:
        assert status.passed, status.unverified_reason_counts
        return None
    computed = 0
    for row in status.decisions:
        source = row.op_label.split("_")[0] if row.op_label.startswith(f"{row.func_name}_") else ""
        if source not in {"input", "buffer", "constant", "output"}:
            source = f"op {computed}"
            computed += 1
        if row.op_label == failure.op_label:
            return failure.check, source
    raise AssertionError(failure.op_label)


def expected(program: Program) -> tuple[str, str] | None:
    fault = program.fault
    return None if fault is None else (fault.check, fault.key)


def test_programs_that_ignore_nothing_on_purpose_pass() -> None:
    provable: list[bool] = []

    @settings(max_examples=EXAMPLES)
    @given(judged_programs(faulty=False))
    def check(program: Program) -> None:
        provable.append(program.fault is None)
        assert verdict(validation(program)) == expected(program)

    check()
    assert sum(provable) >= 0.9 * len(provable)


def test_programs_with_a_fault_fail_where_it_is() -> None:
    sample: list[str] = []

    @settings(max_examples=EXAMPLES)
    @given(judged_programs(faulty=True))
    def check(program: Program) -> None:
        sample.append("" if program.fault is None else program.fault.check)
        assert verdict(validation(program)) == expected(program)

    check()
    counts = Counter(sample)
    assert counts["perturbation"] >= 0.5 * len(sample)
    assert counts["degenerate_forward"] >= 0.05 * len(sample)
