"""Runs of numpy functions, recorded by hand: what any backend's trace looks like to the validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from bundles import Value, info

from tl_core import OpRecord, Trace, TraceBuilder

if TYPE_CHECKING:
    from collections.abc import Callable


class Run:
    """Records calls as they are made."""

    def __init__(self) -> None:
        self.builder = TraceBuilder()

    def input(self, name: str, array: Any) -> OpRecord:
        value = Value(np.asarray(array))
        return self.builder.source("input", name, value.array.shape, value.dtype, "cpu", False, value)

    def call(self, function: Callable[..., Any], *args: Any, name: str = "", parents: Any = None) -> OpRecord:
        given = [a.payload.array if isinstance(a, OpRecord) else a for a in args]
        value = Value(np.asarray(function(*given)))
        made = tuple(dict.fromkeys(a.index for a in args if isinstance(a, OpRecord)))

        def run(*values: Any) -> Value:
            return Value(np.asarray(function(*(v.array if isinstance(v, Value) else v for v in values))))

        title = name or function.__name__
        call = self.builder.call(title, title, run, args, None, (), (), 10, False)
        return self.builder.output(
            call, 0, made if parents is None else parents, value.array.shape, value.dtype, "cpu", False, None, value
        )

    def finish(self, *outputs: OpRecord, **changes: object) -> Trace:
        for number, op in enumerate(outputs):
            self.builder.source("output", str(number), op.shape, op.dtype, "cpu", False, op.payload, (op.index,))
        return self.builder.finish(info(**changes))


def chain() -> tuple[Run, list[OpRecord]]:
    run = Run()
    x = run.input("x", np.array([[1.0, -2.0], [3.0, -4.0]]))
    double = run.call(np.multiply, x, 2.0)
    total = run.call(np.subtract, double, x)
    return run, [x, double, total]
