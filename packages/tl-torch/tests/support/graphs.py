"""Reading a trace as a plain graph whose nodes have names that are easy to write by hand.

A name is the function's name and a count in order of execution: `add.1`, `add.2`, `linear.1`, `input.1`, `output.1`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

import tl_torch as tl

Forward = Callable[..., object]


class Network(torch.nn.Module):
    """A model whose forward is a function."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self.function = forward
        self.calls = 0

    def forward(self, *args: object, **kwargs: object) -> object:
        self.calls += 1
        return self.function(*args, **kwargs)


def run(forward: Forward, *inputs: object, **options: Any) -> Any:
    """Trace a function of tensors."""
    return tl.trace(Network(forward), inputs, **options)


def named(trace: Any) -> dict[str, Any]:
    """Return the ops of a trace by name, in order of execution."""
    counts: Counter[str] = Counter()
    ops: dict[str, Any] = {}
    for op in trace.ops:
        kind = op.func_name if op.kind == "op" else op.kind
        counts[kind] += 1
        ops[f"{kind}.{counts[kind]}"] = op
    return ops


def edges(trace: Any) -> dict[str, list[str]]:
    """Return the parents of every op, by name."""
    ops = named(trace)
    name_of = {op.label: name for name, op in ops.items()}
    assert len(name_of) == len(ops), "labels are unique"
    return {name: [name_of[label] for label in op.parents] for name, op in ops.items()}


def graph(forward: Forward, *inputs: object, **options: Any) -> dict[str, list[str]]:
    """Trace a function of tensors and return the parents of every op, by name."""
    return edges(run(forward, *inputs, **options))


def values(trace: Any) -> dict[str, torch.Tensor]:
    """Return the payload of every op, by name."""
    return {name: op.out for name, op in named(trace).items()}
