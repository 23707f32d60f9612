"""One tool on one network, in the environment that `peers.py` made for it; prints one JSON object.

python benchmarks/peer.py TOOL NETWORK REPETITIONS
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from time import process_time_ns
from typing import Any

import networks
import torch
from networks import Network
from stopwatch import paired
from torch import nn

Way = Callable[[], int]
"""Runs the network once under a tool and returns the number of values that it then holds."""


def leaves(network: Network) -> list[str]:
    """Names of the modules without children that the forward pass calls, each once, in the order of their first call."""
    called: dict[str, None] = {}
    named = [(name, module) for name, module in network.model.named_modules() if not list(module.children())]
    handles = [
        module.register_forward_pre_hook(lambda *_, name=name: called.setdefault(name)) for name, module in named
    ]
    network.run()
    for handle in handles:
        handle.remove()
    return list(called)


def this(network: Network) -> Way:
    """Record with this library: every op, every value, every table read."""
    tl, core = import_module("tl_torch"), import_module("tl_core")

    def way() -> int:
        trace = tl.trace(network.model, network.args, network.kwargs)
        core.op_table(trace, "all")
        return trace.cost.saved_count

    return way


def torchlens_2(network: Network) -> Way:
    """Record with the released torchlens, as its README does."""
    tl = import_module("torchlens")

    def way() -> int:
        trace = tl.trace(network.model, list(network.args), input_kwargs=network.kwargs or {})
        return len(trace)

    return way


def nnsight(network: Network) -> Way:
    """Save the output of every leaf module with nnsight."""
    wrapped: Any = import_module("nnsight").NNsight(network.model)
    modules = [
        reduce(lambda held, part: held[int(part)] if part.isdigit() else getattr(held, part), name.split("."), wrapped)
        for name in leaves(network)
    ]
    args, kwargs = network.args, network.kwargs or {}

    def way() -> int:
        with wrapped.trace(*args, **kwargs):
            kept = [module.output for module in modules].save()
        return len(kept)

    def looped() -> int:
        kept: Any = None
        with wrapped.trace(*args, **kwargs) as tracer:
            kept = [].save()
            for _ in tracer.iter[: network.model.steps]:
                kept.append(wrapped.cell.output)
        return len(kept)

    return looped if isinstance(network.model, networks.Loop) else way


def hooks(network: Network) -> Way:
    """Keep a copy of the output of every leaf module through forward hooks, put on and taken off each time."""
    modules = [module for module in network.model.modules() if not list(module.children())]

    def way() -> int:
        kept: list[torch.Tensor] = []

        def keep(_module: nn.Module, _args: Any, output: Any) -> None:
            kept.append(output.detach().clone())

        handles = [module.register_forward_hook(keep) for module in modules]
        network.run()
        for handle in handles:
            handle.remove()
        return len(kept)

    return way


def fx(network: Network) -> Way:
    """Run torch.fx's Interpreter, keeping a copy of every node's value; the graph is made once, outside the clock."""
    kwargs = network.kwargs or {}
    if "input_ids" in kwargs:  # symbolic_trace cannot follow transformers; torch.export can, without a cache
        kwargs = {**kwargs, "use_cache": False}
        graph: Any = torch.export.export(network.model, network.args, kwargs).module()
    else:
        graph = torch.fx.symbolic_trace(network.model)

    class Keeping(torch.fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            value = super().run_node(n)
            if isinstance(value, torch.Tensor):
                kept.append(value.detach().clone())
            return value

    kept: list[torch.Tensor] = []

    def way() -> int:
        kept.clear()
        Keeping(graph, garbage_collect_values=True).run(*network.args, *kwargs.values())
        return len(kept)

    return way


TOOLS: dict[str, Callable[[Network], Way]] = {
    "this": this,
    "torchlens-2.36.1": torchlens_2,
    "nnsight": nnsight,
    "hooks": hooks,
    "fx": fx,
}


def main(tool: str, name: str, repetitions: int) -> None:
    """Measure one cell."""
    network = networks.build(name)
    with torch.no_grad():
        way = TOOLS[tool](network)
        network.run()
        count = way()
        # Of the process and not of the thread: nnsight does its work in a thread of its own.
        found = paired(network.run, {"tool": way}, repetitions, process_time_ns, warm=False)["tool"]
    print(json.dumps({"values": count, "torch": torch.__version__, "over_s": found.over_s, "ratio": found.ratio}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
