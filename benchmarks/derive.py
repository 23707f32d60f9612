"""CPU time of deriving labels, layers, passes, edges, distances and the op table from the records of a run.

    python benchmarks/derive.py

Builds synthetic runs without any framework (a recurrent loop, a deep stack of distinct blocks, and the loop without
recurrence detection) at 3,000 and 100,000 ops, and prints microseconds of thread CPU time per op, medians of several
runs.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
import tracemalloc
from itertools import pairwise

from tl_core import CaptureOptions, TraceBuilder, TraceInfo
from tl_core._table import USUAL, op_table

STEPS = ("edges", "grouping", "labels", "distances", "all labels", "op table", "views")


def code_of(lines):
    """A function with `lines` call sites."""
    space = {}
    text = "def forward():\n" + "\n".join(f"    f({line})" for line in range(lines))
    exec(compile(text, "model.py", "exec"), space)
    return space["forward"].__code__


SITES = [((code_of(40), 10 + 12 * line), (code_of(3), 4)) for line in range(40)]


def call(builder, name, parents, line, params=()):
    """Append one op."""
    made = builder.call(name, name, None, parents, None, params, SITES[line], 1000, False)
    parent_indices = tuple(dict.fromkeys(parent.index for parent in parents))
    return builder.output(made, 0, parent_indices, (2, 16), "torch.float32", "cpu", False, None, None)


def build_loop(count):
    """`for t in range(...): h = tanh(w(x[:, t]) + u(h)) * 2`: seven ops a step."""
    builder = TraceBuilder()
    root = builder.module_record("", "Rnn", False)
    cells = []
    for number, name in enumerate(("w", "u")):
        cell = builder.module_record(name, "Linear", False)
        builder.param(f"{name}.weight", (16, 16), "float32", "cpu", True, None)
        cell.params += (number,)
        root.children += (cell.index,)
        cells.append(cell)
    x = builder.source("input", "x", (2, 99, 16), "float32", "cpu", False)
    call_of_root = builder.enter(root)
    h = call(builder, "zeros", [], 0)
    for _ in range(count // 7):
        xt = call(builder, "getitem", [x], 1)
        inside = builder.enter(cells[0])
        xt = call(builder, "linear", [xt], 2, (0,))
        builder.exit(inside)
        inside = builder.enter(cells[1])
        h2 = call(builder, "linear", [h], 3, (1,))
        builder.exit(inside)
        h = call(builder, "add", [xt, h2], 4)
        h = call(builder, "tanh", [h], 5)
        h = call(builder, "mul", [h], 6)
        h = call(builder, "relu", [h], 7)
    builder.exit(call_of_root)
    builder.source("output", "", (2, 16), "float32", "cpu", False, parents=(h.index,))
    return builder


def build_stack(count):
    """Distinct blocks in a loop: `for block in blocks: x = x + relu(block(x)) * 2`."""
    builder = TraceBuilder()
    root = builder.module_record("", "Stack", False)
    h = builder.source("input", "x", (2, 16), "float32", "cpu", False)
    builder.enter(root)
    for number in range(count // 4):
        block = builder.module_record(f"blocks.{number}", "Linear", False)
        builder.param(f"blocks.{number}.weight", (16, 16), "float32", "cpu", True, None)
        block.params += (number,)
        root.children += (block.index,)
        inside = builder.enter(block)
        y = call(builder, "linear", [h], 2, (number,))
        builder.exit(inside)
        y = call(builder, "relu", [y], 3)
        y = call(builder, "mul", [y], 4)
        h = call(builder, "add", [h, y], 5)
    while builder.module is not None:
        builder.exit(builder.module)
    builder.source("output", "", (2, 16), "float32", "cpu", False, parents=(h.index,))
    return builder


def read_views(trace):
    """Read the usual attributes of every op through its view."""
    for op in trace.ops:
        op.label, op.shape, op.parents, op.children, op.pass_number, op.module  # noqa: B018


def measure(build, count, options):
    """Time of each step, in seconds, and bytes that the derived tables keep."""
    builder = build(count)
    info = TraceInfo(
        name="t_1", backend="torch", model_class_name="T", framework_version="0", duration_ns=1, options=options
    )
    gc.collect()
    marks = [time.thread_time()]
    trace = builder.finish(info)
    state = trace._state
    marks.append(time.thread_time())
    for step in (
        lambda: state.edges,
        lambda: state.grouping,
        lambda: state.labels,
        lambda: state.distances,
        lambda: (state.labels.ops(), state.labels.layers()),
        lambda: op_table(trace, [name for name in USUAL if name not in {"flops", "macs"}]),
        lambda: read_views(trace),
    ):
        step()
        marks.append(time.thread_time())
    return len(trace.ops), [after - before for before, after in pairwise(marks)]


def kept_bytes(build, count):
    """Bytes that stay allocated by the derived tables."""
    trace = build(count).finish(
        TraceInfo(name="t_1", backend="torch", model_class_name="T", framework_version="0", duration_ns=1)
    )
    state = trace._state
    tracemalloc.start()
    _ = state.edges, state.grouping, state.labels, state.distances
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return kept / len(trace.ops)


def main():
    """Print the table."""
    names = ("finish", *STEPS)
    print(f"{'run':<22}{'ops':>8} " + "".join(f"{name:>12}" for name in names) + f"{'total':>9}   (us per op)")
    runs = (
        ("loop", build_loop, CaptureOptions()),
        ("distinct blocks", build_stack, CaptureOptions()),
        ("loop, no recurrence", build_loop, CaptureOptions(recurrence_detection=False)),
    )
    for title, build, options in runs:
        for count in (3000, 100_000):
            repeats = [measure(build, count, options) for _ in range(5 if count < 10_000 else 3)]
            ops = repeats[0][0]
            steps = [statistics.median(times) / ops * 1e6 for times in zip(*[r[1] for r in repeats], strict=True)]
            print(f"{title:<22}{ops:>8} " + "".join(f"{step:>12.2f}" for step in steps) + f"{sum(steps):>9.2f}")
    print(f"derived tables keep {kept_bytes(build_loop, 100_000):.0f} bytes per op (loop of 100,000)")


if __name__ == "__main__":
    sys.exit(main())
