"""Runs written down by hand: a test plays the framework, and its own lines are the user's code."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from tl_core import CaptureOptions, TraceBuilder, TraceInfo

INFO = {"backend": "numpy", "model_class_name": "Net", "framework_version": "1.0", "duration_ns": 1000}


class Run:
    """Records what a function of a test calls; frames end at `play`."""

    def __init__(self, **options):
        self.builder = TraceBuilder()
        self.options = CaptureOptions(**options)
        self.root = self.builder.module_record("", "Net", False)
        self._modules = {"": self.root}
        self._params = {}

    # the model

    def register(self, address, class_name="Block", *, param=False, buffer=False):
        """Register a module below its parent, which is made if it is not there."""
        if address in self._modules:
            return self._modules[address]
        parent = self.register(address.rpartition(".")[0])
        record = self.builder.module_record(address, class_name, False)
        parent.children += (record.index,)
        self._modules[address] = record
        if param:
            record.params += (self.param(f"{address}.weight"),)
        if buffer:
            made = self.builder.buffer(f"{address}.mean", (2,), "float32", "cpu", None)
            record.buffers += (made.index,)
        return record

    def param(self, address, shape=(4, 4)):
        """Register a parameter once."""
        if address not in self._params:
            self._params[address] = self.builder.param(address, shape, "float32", "cpu", True, None).index
        return self._params[address]

    # the run

    def play(self, model, *args, **info):
        """Run `model(self, *args)` as the body of the root module and finish."""
        with self.inside(""):
            result = model(self, *args)
        for op in result if isinstance(result, tuple) else (result,) if result is not None else ():
            self.builder.source("output", "", op.shape, "float32", "cpu", False, parents=(op.index,))
        return self.finish(**info)

    def finish(self, **info):
        """Close the run."""
        return self.builder.finish(TraceInfo(**{"name": "net_1", **INFO, "options": self.options, **info}))

    def input(self, address="x", shape=(2, 3), payload=None):
        """Append an input."""
        return self.builder.source("input", address, shape, "float32", "cpu", False, payload)

    def buffer(self, address, *writers):
        """Append a read of a buffer."""
        parents = tuple(op.index for op in writers)
        return self.builder.source("buffer", address, (2,), "float32", "cpu", False, None, parents)

    def constant(self, address):
        """Append a constant."""
        return self.builder.source("constant", address, (2,), "float32", "cpu", False)

    @contextmanager
    def inside(self, address):
        """Run a module call."""
        call = self.builder.enter(self._modules[address])
        yield call
        self.builder.exit(call)

    def __call__(self, name, *parents, params=(), frames=None, count=None, **rest):
        """Call a function; with `count`, return that many outputs."""
        if frames is None:
            frames = user_frames()
        call = self.builder.call(name, name, None, parents, None, tuple(params), frames, 1000, name.endswith("_"))
        made = [self._output(call, position, parents, **rest) for position in range(count or 1)]
        return made[0] if count is None else made

    def _output(self, call, position, parents, shape=(2, 3), dtype="torch.float32", grad=False, payload=None):
        indices = tuple(dict.fromkeys(op.index for op in parents))
        return self.builder.output(
            call, position, indices, shape, dtype, "cpu", grad, "ReluBackward0" if grad else None, payload
        )

    def linear(self, address, x):
        """Call a linear module: its function is called by code of the framework, so the frames are the caller's."""
        with self.inside(address):
            return self("linear", x, params=(self.param(f"{address}.weight"),), frames=user_frames())


class Tensor:
    """An op whose truth is asked for, as a framework's tensor is."""

    def __init__(self, run, op, value):
        self.run, self.op, self.value = run, op, value

    def __bool__(self):
        self.run.builder.read("bool", self.op.index, self.value, user_frames())
        return self.value


def user_frames():
    """The stack from the caller of this file's functions up to `play`."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    found = []
    while frame is not None and frame.f_code.co_filename != __file__:
        if not frame.f_code.co_filename.endswith("contextlib.py"):
            found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(found)


def labels(trace):
    """Labels of the computed ops."""
    return [op.label for op in trace.ops if op.kind == "op"]


def passes(trace):
    """Number of passes by label of the computed layers."""
    return {layer.label: layer.num_passes for layer in trace.layers if layer.kind == "op"}
