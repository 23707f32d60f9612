"""Measurements that need a process of their own; prints one JSON object.

python benchmarks/probe.py peak raw|none|site resnet18|chain     (Linux)
python benchmarks/probe.py record
python benchmarks/probe.py repeat alive|dropped
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path
from time import thread_time_ns

import networks
import torch
from torch import nn

import tl_torch as tl
from tl_core import op_table


class Chain(nn.Module):
    """Activations of 64 MB one after the other, and a last one of a few bytes; nothing else is large."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4096, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = torch.tanh(x) * 0.5
        return self.head(x[:1])


def chain(rows: int) -> networks.Network:
    """Build the chain on so many rows of 16 KB."""
    return networks.Network(name="chain", model=Chain().eval(), args=(torch.zeros(rows, 4096),))


def images(count: int) -> networks.Network:
    """Build resnet18 on so many images."""
    model = networks.resnet18().model.eval()
    return networks.Network(name="resnet18", model=model, args=(torch.zeros(count, 3, 224, 224),))


def resident(field: str) -> float:
    """Read the resident set of this process in MB: `VmRSS` now, `VmHWM` at its highest."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def peak(way: str, network: str) -> dict[str, float]:
    """Growth of the resident set over one forward pass without gradients, at its highest, in MB.

    Linux keeps the highest resident set of a process and lets the process set it back, so what importing took does
    not hide what the forward pass takes. A small run comes first, traced or not, so that kernels and tables are
    there. Activations this large come from fresh pages and go back when they are freed: growth is what is alive at
    once, whoever allocated it.
    """
    torch.set_num_threads(1)
    small, large = (chain(2), chain(4096)) if network == "chain" else (images(1), images(16))
    last = tl.func("linear")
    ways = {
        "raw": lambda run: run.run(),
        "none": lambda run: tl.trace(run.model, run.args, save="none"),
        "site": lambda run: tl.trace(run.model, run.args, save=last),
    }
    with torch.no_grad():
        ways[way](small)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = resident("VmRSS")
        kept = ways[way](large)
    after = resident("VmHWM")
    del kept
    return {"growth_mb": after - before, "before_mb": before}


def record() -> dict[str, float]:
    """Python memory of a trace beside payloads, in bytes for each op: recorded, and with everything derived."""
    network = networks.build("loop500")
    with torch.no_grad():
        op_table(tl.trace(network.model, network.args, save="none"), "all")
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        trace = tl.trace(network.model, network.args, save="none")
        recorded = tracemalloc.get_traced_memory()[0]
        op_table(trace, "all")
        derived = tracemalloc.get_traced_memory()[0]
    count = len(trace)
    return {"recorded": (recorded - before) / count, "derived": (derived - before) / count, "ops": count}


def repeat(way: str) -> dict[str, float]:
    """Cost of the first, second and tenth trace of a fresh process over the raw forward, in microseconds an op."""
    network = networks.build("loop500")
    kept: list[object] = []
    costs: list[float] = []
    with torch.no_grad():
        network.run()
        for _ in range(10):
            start = thread_time_ns()
            network.run()
            raw = thread_time_ns() - start
            start = thread_time_ns()
            trace = tl.trace(network.model, network.args)
            op_table(trace, "all")
            costs.append((thread_time_ns() - start - raw) / len(trace) / 1e3)
            if way == "alive":
                kept.append(trace)
            del trace
    return {"first": costs[0], "second": costs[1], "tenth": costs[-1]}


if __name__ == "__main__":
    kind, *options = sys.argv[1:]
    print(json.dumps({"peak": peak, "record": record, "repeat": repeat}[kind](*options)))
