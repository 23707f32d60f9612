"""Random programs: the recorded graph and values are those of an interpreter that tracks every element."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import torch
from hypothesis import given, settings
from programs import Program, programs
from torch import nn

import tl_torch as tl

EXAMPLES = int(os.environ.get("TORCHLENS_EXAMPLES", "400"))


class Runs(nn.Module):
    """A model whose forward is the text of a program."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        for k, values in enumerate(program.buffers):
            self.register_buffer(f"b{k}", torch.tensor(values))
        scope: dict[str, Any] = {"torch": torch}
        exec(compile(program.text, "<program>", "exec"), scope)
        self.text = scope["forward"]

    def forward(self, x0: torch.Tensor, x1: torch.Tensor) -> list[torch.Tensor]:
        return self.text(self, x0, x1)


def record(program: Program, **options: object) -> Any:
    with torch.no_grad():
        return tl.trace(
            Runs(program),
            tuple(torch.tensor(values) for values in program.inputs),
            capture=tl.CaptureOptions(keep_orphans=True),
            **options,
        )


def rows(trace: Any) -> list[tuple[str, str, tuple[str, ...], object]]:
    """Return key, function, parents and value of every op but the outputs, as the interpreter writes them."""
    computed = 0
    keys: dict[str, str] = {}
    found = []
    for op in trace.ops:
        if op.kind == "op":
            keys[op.label] = f"op {computed}"
            computed += 1
        elif op.kind != "output":
            keys[op.label] = f"{op.kind} {op.address}"
        if op.kind != "output":
            name = op.func_name if op.kind == "op" else op.kind
            found.append((keys[op.label], name, tuple(keys[parent] for parent in op.parents), op.out.tolist()))
    return found


def test_random_programs() -> None:
    sample: list[frozenset[str]] = []

    @settings(max_examples=EXAMPLES)
    @given(programs())
    def check(program: Program) -> None:
        sample.append(program.features)
        trace = record(program)
        expected = [(s.key, s.name, s.parents, s.value) for s in program.steps]
        assert rows(trace) == expected
        keys = {op.label: row[0] for op, row in zip(trace.ops, rows(trace), strict=False)}
        outputs = [tuple(keys[p] for p in op.parents) for op in trace.ops if op.kind == "output"]
        assert outputs == list(program.outputs)
        assert trace.capture_verified is True
        bare = record(program, save="none")
        assert [op.parents for op in bare.ops] == [op.parents for op in trace.ops]

    check()
    shares_are_large_enough(sample)


def shares_are_large_enough(sample: list[frozenset[str]]) -> None:
    """The sample is worth something only if it is full of the hard cases."""
    counts = Counter(feature for features in sample for feature in features)
    share = {feature: count / len(sample) for feature, count in counts.items()}
    assert sum(1 for features in sample if features) >= len(sample) / 2
    assert share["in place"] >= 0.5
    assert share["overlapping views"] >= 0.3
    assert share["out="] >= 0.1
    assert share["data"] >= 0.05
    assert share["buffer"] >= 0.2


def test_values_of_the_interpreter_are_those_of_torch() -> None:
    """The interpreter itself is checked against torch, without a trace."""

    @settings(max_examples=100)
    @given(programs())
    def check(program: Program) -> None:
        inputs = [torch.tensor(values) for values in program.inputs]
        with torch.no_grad():
            results = Runs(program)(*inputs)
        assert [result.tolist() for result in results] == list(program.results)

    check()
