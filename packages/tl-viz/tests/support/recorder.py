"""Runs written down by hand, so that traces can be drawn without a framework."""

from __future__ import annotations

from contextlib import contextmanager
from math import prod

from tl_core import CaptureOptions, TraceBuilder, TraceInfo


class Recorder:
    """Records calls of modules and functions; ops are given and returned as their records."""

    def __init__(self, name="Net", trace_name="", **options):
        self.name = name
        self.trace_name = trace_name
        self.options = CaptureOptions(**options)
        self.builder = TraceBuilder()
        self._modules = {"": self.builder.module_record("", name, False)}
        self._params = {}
        self._call = self.builder.enter(self._modules[""])

    def input(self, shape=(1, 8), address="x", dtype="float32"):
        """Append an input."""
        return self.builder.source("input", address, shape, dtype, "cpu", False)

    def buffer(self, address, shape=(8,)):
        """Append a read of a buffer."""
        return self.builder.source("buffer", address, shape, "float32", "cpu", False)

    @contextmanager
    def module(self, address, class_name):
        """Run a call of a module, which is registered when it is met first."""
        call = self.builder.enter(self._register(address, class_name))
        first = len(self.builder.ops)
        yield
        self.builder.exit(call)
        call.outputs = tuple(op.index for op in self.builder.ops[first:][-1:])

    def _register(self, address, class_name):
        if address not in self._modules:
            parent = self._register(address.rpartition(".")[0], "ModuleList")
            record = self.builder.module_record(address, class_name, False)
            parent.children += (record.index,)
            self._modules[address] = record
        return self._modules[address]

    def op(
        self,
        function,
        *parents,
        shape=(1, 8),
        params=(),
        count=None,
        edited=False,
        ns=1000,
        frames=(),
        args=None,
        kw=None,
    ):
        """Append a call of a function; `params` are addresses with shapes, `count` asks for several outputs.

        `args` and `kw` are the arguments as they were written, where they are more than the parents.
        """
        indices = tuple(self._param(address, size) for address, size in params)
        given = parents if args is None else args
        call = self.builder.call(function, function, None, given, kw, indices, frames, ns, False)
        if edited:
            call.meta = {"is_edited": True}
        made = [
            self.builder.output(
                call, at, tuple(dict.fromkeys(p.index for p in parents)), shape, "float32", "cpu", False, None, None
            )
            for at in range(count or 1)
        ]
        return made[0] if count is None else made

    def _param(self, address, size):
        if address not in self._params:
            self._params[address] = self.builder.param(address, size, "float32", "cpu", True, None).index
        return self._params[address]

    def layer(self, address, class_name, function, *parents, shape=(1, 8), size=None):
        """Append a module that calls one function; `size` is the shape of its weight."""
        with self.module(address, class_name):
            params = [(f"{address}.weight", size)] if size else []
            return self.op(function, *parents, shape=shape, params=params)

    def done(self, *outputs, outcome="complete", reason="", **named):
        """Close the run and return its trace; `named` are outputs by the path at which they were returned."""
        if outcome == "complete":
            self.builder.exit(self._call)
        for path, op in [*[("", one) for one in outputs], *named.items()]:
            self.builder.source("output", path, op.shape, "float32", "cpu", False, parents=(op.index,))
        return self.builder.finish(
            TraceInfo(
                outcome=outcome,
                stop_reason=reason,
                name=self.trace_name or f"{self.name.lower()}_1",
                backend="numpy",
                model_class_name=self.name,
                framework_version="1.0",
                duration_ns=1000,
                options=self.options,
            )
        )


def weight_count(trace):
    """Elements of all parameters of a trace."""
    return sum(prod(param.shape) for param in trace.params)


def padded(run, x):
    """Append so many ops that views are no longer drawn one by one."""
    for index in range(40):
        x = run.op(("exp", "log", "neg", "tanh", "abs")[(index * index + index // 3) % 5], x)
    return x


def experts_in_layers():
    """Return the trace of four layers of two experts each, which an op joins."""
    run = Recorder()
    x = run.input()
    for layer in range(4):
        with run.module(f"h.{layer}", "Layer"):
            parts = []
            for expert in range(2):
                with run.module(f"h.{layer}.e.{expert}", "Expert"):
                    y = run.op("linear", x, params=[(f"h.{layer}.e.{expert}.w", (8, 8))])
                    parts.append(run.op("relu", y))
            x = run.op("attention", *parts)
    return run.done(x)
