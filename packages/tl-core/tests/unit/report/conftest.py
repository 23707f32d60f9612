"""Hand-built runs: networks whose every number can be worked out on paper."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod

import pytest

from tl_core import (
    CallRecord,
    ModuleCallRecord,
    ModuleRecord,
    OpCost,
    OpRecord,
    SavePolicy,
    Trace,
    TraceBuilder,
    TraceInfo,
)


class Run:
    """A small language for runs: `with run.inside("layer1"): run.op("relu", [x], (1, 4))`."""

    def __init__(self, class_name: str = "Net", policy: SavePolicy | None = None) -> None:
        self.builder = TraceBuilder()
        self.class_name = class_name
        self.policy = policy
        self.modules: dict[str, ModuleRecord] = {}
        self.module("", class_name)

    def module(self, address: str, class_name: str, training: bool = False) -> ModuleRecord:
        record = self.builder.module_record(address, class_name, training)
        if address:
            self.modules[address.rpartition(".")[0]].children += (record.index,)
        self.modules[address] = record
        return record

    def param(self, address: str, shape: tuple[int, ...], requires_grad: bool = True, dtype: str = "float32") -> int:
        record = self.builder.param(address, shape, dtype, "cpu", requires_grad, None)
        self.modules[address.rpartition(".")[0]].params += (record.index,)
        return record.index

    def buffer(self, address: str, shape: tuple[int, ...], dtype: str = "float32") -> int:
        record = self.builder.buffer(address, shape, dtype, "cpu", None)
        self.modules[address.rpartition(".")[0]].buffers += (record.index,)
        return record.index

    @contextmanager
    def inside(self, address: str) -> Iterator[ModuleCallRecord]:
        call = self.builder.enter(self.modules[address])
        yield call
        self.builder.exit(call)

    def returns(self, call: ModuleCallRecord, *ops: OpRecord) -> None:
        """State what the caller of a module receives; asks the policy as a capture does."""
        call.outputs = tuple(op.index for op in ops)
        if self.policy is not None and self.policy.needs_exit:
            for op in ops:
                kept = self.policy.at_exit(op, call, op.payload is not None)
                op.payload = (op.payload or "kept at exit") if kept else None

    def source(
        self, kind: str, address: str, shape: tuple[int, ...], dtype: str = "float32", parents: Sequence[OpRecord] = ()
    ) -> OpRecord:
        indices = tuple(parent.index for parent in parents)
        record = self.builder.source(kind, address, shape, f"torch.{dtype}", "cpu", False, None, indices)  # type: ignore[arg-type]
        return self._ask(record)

    def call(self, name: str, params: Sequence[int] = (), duration_ns: int = 1000, frames: tuple = ()) -> CallRecord:
        inplace = name.endswith("_")
        return self.builder.call(name, name, None, (), None, tuple(params), frames, duration_ns, inplace)

    def op(
        self,
        name: str,
        parents: Sequence[OpRecord],
        shape: tuple[int, ...],
        params: Sequence[int] = (),
        dtype: str = "float32",
        payload: object = None,
        **call: object,
    ) -> OpRecord:
        return self.outputs(name, parents, [shape], params, dtype, payload, **call)[0]

    def outputs(
        self,
        name: str,
        parents: Sequence[OpRecord],
        shapes: Sequence[tuple[int, ...]],
        params: Sequence[int] = (),
        dtype: str = "float32",
        payload: object = None,
        **call: object,
    ) -> list[OpRecord]:
        """One function call with an output for each shape."""
        record = self.call(name, params, **call)  # type: ignore[arg-type]
        indices = tuple(parent.index for parent in parents)
        made = []
        for position, shape in enumerate(shapes):
            op = self.builder.output(
                record, position, indices, shape, f"torch.{dtype}", "cpu", bool(params), None, payload
            )
            made.append(self._ask(op))
        return made

    def _ask(self, op: OpRecord) -> OpRecord:
        if self.policy is not None and self.policy.wants(op):
            op.payload = "kept"
        return op

    def finish(self, **info: object) -> Trace:
        given: dict[str, object] = {
            "name": f"{self.class_name.lower()}_1",
            "backend": "paper",
            "model_class_name": self.class_name,
            "framework_version": "1.0",
            "duration_ns": 2_000_000,
            "grad_enabled": False,
        }
        trace = self.builder.finish(TraceInfo(**{**given, **info}))  # type: ignore[arg-type]
        if self.policy is not None:
            self.policy.finish(trace)
        return trace

    def saved(self) -> list[int]:
        """Indices of the ops that hold a value."""
        return [op.index for op in self.builder.ops if op.payload is not None]


@pytest.fixture
def run() -> Run:
    return Run()


@pytest.fixture
def new_run() -> Callable[..., Run]:
    return Run


class PaperBackend:
    """Costs that can be checked in the head: `linear` is 2 FLOPs a multiply-add, `relu` 1 FLOP an element."""

    name = "paper"

    def cost(self, call: CallRecord, outputs: Sequence[OpRecord]) -> OpCost | None:
        size = prod(outputs[0].shape) if outputs else 0
        if call.name == "linear":
            return OpCost(flops=2 * 10 * size, macs=10 * size)
        if call.name.rstrip("_") in ("relu", "add", "sigmoid"):
            return OpCost(flops=size, macs=0)
        if call.name in ("view", "cat"):
            return OpCost(flops=0, macs=0)
        return None


@pytest.fixture(autouse=True)
def paper_backend(monkeypatch: pytest.MonkeyPatch) -> PaperBackend:
    backend = PaperBackend()
    monkeypatch.setattr("tl_core._cost.backend", lambda name: backend)
    return backend


def residual(run: Run) -> Trace:
    """Input (2, 10), a linear layer, two equal blocks with a residual sum, a head, one module that is not called."""
    run.module("stem", "Linear")
    run.module("blocks", "Sequential")
    for number in range(2):
        run.module(f"blocks.{number}", "Block")
        run.module(f"blocks.{number}.fc", "Linear")
        run.module(f"blocks.{number}.act", "ReLU")
    run.module("head", "Linear")
    run.module("spare", "Linear")
    stem = [run.param("stem.weight", (10, 10)), run.param("stem.bias", (10,))]
    fcs = [[run.param(f"blocks.{number}.fc.weight", (10, 10))] for number in range(2)]
    head = [run.param("head.weight", (3, 10), requires_grad=False)]
    run.param("spare.weight", (7, 7))
    run.buffer("stem.mask", (10,), "bool")
    x = run.source("input", "x", (2, 10))
    with run.inside("") as root:
        with run.inside("stem") as call:
            h = run.op("linear", [x], (2, 10), stem, payload=1)
        run.returns(call, h)
        with run.inside("blocks") as blocks:
            for number in range(2):
                with run.inside(f"blocks.{number}") as block:
                    with run.inside(f"blocks.{number}.fc") as call:
                        y = run.op("linear", [h], (2, 10), fcs[number])
                    run.returns(call, y)
                    with run.inside(f"blocks.{number}.act") as call:
                        y = run.op("relu_", [y], (2, 10))
                    run.returns(call, y)
                    h = run.op("add", [h, y], (2, 10))
                run.returns(block, h)
        run.returns(blocks, h)
        with run.inside("head") as call:
            out = run.op("linear", [h], (2, 3), head)
        run.returns(call, out)
    run.returns(root, out)
    run.source("output", "", (2, 3), parents=[out])
    return run.finish()


@pytest.fixture
def residual_trace(run: Run) -> Trace:
    return residual(run)


@pytest.fixture
def residual_of() -> Callable[[Run], Trace]:
    return residual
