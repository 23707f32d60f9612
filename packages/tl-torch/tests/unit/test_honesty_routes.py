"""Routes that no seam shows, and writers that no call shows: each leaves the capture unverified, with its reason."""

from __future__ import annotations

import ctypes
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from graphs import edges, named, run
from torch import Tensor, nn
from torch.utils import dlpack

import tl_torch as tl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

X = torch.tensor([[1.0, 2.0], [0.5, 3.0]])
HIDE = torch._C.DisableTorchFunction


def without_mode(x: Tensor) -> Tensor:
    with HIDE():
        y = torch.tanh(x)
    return y + 1


def on_a_thread(x: Tensor) -> Tensor:
    with ThreadPoolExecutor(1) as pool:
        y = pool.submit(torch.tanh, x).result()
    return y + 1


class ThroughNumpy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return torch.from_numpy(np.tanh(x.numpy()))

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> Tensor:
        return gradient


def module_on_a_thread(x: Tensor) -> Tensor:
    layer = nn.Linear(2, 2)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(layer, x).result() + 1


SOURCES = {
    "from_numpy": lambda x: x + torch.from_numpy(np.ones((2, 2), np.float32)),
    "frombuffer": lambda x: x + torch.frombuffer(bytearray(8), dtype=torch.float32),
    "torch.Tensor(...)": lambda x: x + torch.Tensor([1, 2]),
    "torch.IntTensor(...)": lambda x: x + torch.IntTensor([1, 2]),
    "torch.FloatTensor(...)": lambda x: x + torch.FloatTensor([1, 2]),
    "dlpack": lambda x: dlpack.from_dlpack(x * 2) + 1,
    "function seam disabled": without_mode,
    "thread": on_a_thread,
    "module on a thread": module_on_a_thread,
    "autograd function through NumPy": ThroughNumpy.apply,
    "returned unread": lambda x: (x + 1, torch.from_numpy(np.ones(2)))[1],
}


@pytest.mark.parametrize("route", SOURCES)
def test_tensor_from_a_route_that_no_seam_shows(route: str) -> None:
    with torch.no_grad():
        trace = run(SOURCES[route], X)
    assert trace.capture_verified is False
    assert trace.capture_verification_reason == "unseen_source"
    assert "no recorded call made" in trace.gaps[0].message
    assert trace.gaps[0].op >= 0


def written_by_numpy(y: Tensor) -> None:
    y.numpy()[0, 0] = 7


def written_by_numpy_of_a_view(y: Tensor) -> None:
    y[1].numpy()[:] = 7


def written_by_array(y: Tensor) -> None:
    np.asarray(y)[0, 0] = 7


def written_by_storage(y: Tensor) -> None:
    y.untyped_storage().fill_(0)


def written_by_address(y: Tensor) -> None:
    ctypes.memset(y.data_ptr(), 0, 4)


def written_by_dlpack(y: Tensor) -> None:
    with HIDE():
        dlpack.from_dlpack(y).zero_()


def written_by_exported_dlpack(y: Tensor) -> None:
    np.from_dlpack(y).setflags(write=True) if False else dlpack.from_dlpack(y).zero_()


def written_without_mode(y: Tensor) -> None:
    with HIDE():
        y.add_(1)


def written_on_a_thread(y: Tensor) -> None:
    worker = threading.Thread(target=lambda: y.add_(1))
    worker.start()
    worker.join()


WRITERS = [
    written_by_numpy, written_by_numpy_of_a_view, written_by_array, written_by_storage, written_by_address,
    written_without_mode, written_on_a_thread,
]  # fmt: skip


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_write_that_no_call_shows(write: object) -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        write(y)
        return y + 1

    with torch.no_grad():
        trace = run(forward, X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_write")
    assert "The result of 'mul' was written in place" in trace.gaps[0].message
    assert trace.gaps[0].frames[0][0].co_name == "forward"


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_write_into_what_is_returned(write: object) -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        write(y)
        return y

    with torch.no_grad():
        trace = run(forward, X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_write")


LOOKS = {
    "numpy": lambda y: y.numpy().sum(),
    "storage": lambda y: y.untyped_storage().nbytes(),
    "address": lambda y: y.data_ptr(),
    "array": lambda y: np.asarray(y).shape,
}


@pytest.mark.parametrize("look", LOOKS)
def test_looking_without_writing_stays_verified(look: str) -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        LOOKS[look](y)
        y.add_(1)
        z = y[0] * 3
        y.mul_(2)
        return y + z

    with torch.no_grad():
        trace = run(forward, X)
    assert trace.gaps == ()
    assert torch.equal(trace.outputs[0].out, (X * 2 + 1) * 2 + (X * 2 + 1)[0] * 3)


ADOPTED = {
    "nn.Parameter": lambda x: nn.Parameter(x * 2) + 1,
    "as_subclass": lambda x: (x * 2).as_subclass(nn.Parameter) + 1,
    "_make_subclass": lambda x: torch.Tensor._make_subclass(Tensor, x * 2) + 1,
    "data": lambda x: (x * 2).data + 1,
}


@pytest.mark.parametrize("route", ADOPTED)
def test_another_object_for_known_memory_is_what_it_was(route: str) -> None:
    trace = run(ADOPTED[route], X)
    assert trace.capture_verified
    assert trace.outputs[0].distance.min_from_input is not None


# ---------------------------------------------------------------- threads


def test_thread_that_stays_trips_the_wire() -> None:
    leave = threading.Event()
    workers: list[threading.Thread] = []

    def forward(x: Tensor) -> Tensor:
        workers.append(threading.Thread(target=leave.wait, args=(20,)))
        workers[0].start()
        return x + 1

    try:
        trace = run(forward, X)
    finally:
        leave.set()
        workers[0].join()
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "owner_thread_tripwire_changed")
    assert "More threads run" in trace.gaps[0].message


def test_thread_that_ran_before_is_no_matter() -> None:
    leave = threading.Event()
    worker = threading.Thread(target=leave.wait, args=(20,))
    worker.start()

    def forward(x: Tensor) -> Tensor:
        leave.set()
        worker.join()
        return x + 1

    assert run(forward, X).capture_verified


# ---------------------------------------------------------------- references taken before


EARLY = {"key": torch.tanh, "relu": nn.functional.relu}


class Holder:
    function = staticmethod(torch.tanh)


def test_references_however_held_are_seen_in_one_forward() -> None:
    runs = []

    def forward(x: Tensor) -> Tensor:
        runs.append(1)
        return EARLY["relu"](Holder.function(EARLY["key"](x)))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = run(forward, X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["tanh", "tanh", "relu"]
    assert (runs, trace.capture_verified) == ([1], True)
    assert sys.modules["torch"].tanh is EARLY["key"]


# ---------------------------------------------------------------- operators of others


@torch.library.custom_op(
    "tl_honesty::declared", mutates_args=("state",), schema="(Tensor x, Tensor(a!) state) -> Tensor"
)
def declared(x: Tensor, state: Tensor) -> Tensor:
    state.add_(1)
    return x * 2


@torch.library.custom_op("tl_honesty::undeclared", mutates_args=(), schema="(Tensor x, Tensor state) -> Tensor")
def undeclared(x: Tensor, state: Tensor) -> Tensor:
    state.add_(1)
    return x * 2


def test_custom_operator_that_declares_its_write_is_one_op_and_a_writer() -> None:
    def forward(x: Tensor) -> Tensor:
        state = x * 0
        return declared(x, state) + state

    trace = run(forward, X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["mul", "declared", "add"]
    assert trace["add_1_3:1"].parents == ("declared_1_2:1",)
    assert trace.capture_verified
    assert torch.equal(trace.outputs[0].out, X * 2 + 1)


def test_custom_operator_that_hides_its_write_is_found_at_the_next_read() -> None:
    def forward(x: Tensor) -> Tensor:
        state = x * 0
        return undeclared(x, state) + state

    trace = run(forward, X)
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["mul", "undeclared", "add"]
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_write")
    with pytest.warns(tl.TorchLensWarning, match="source_provenance"):
        assert not tl.validate(Holds(forward), X)
    assert tl.last_validation_failure().check == "source_provenance"


def test_hidden_write_into_a_buffer_that_nobody_reads_again_is_found_when_the_run_ends() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("state", torch.zeros(2, 2))

        def forward(self, x: Tensor) -> Tensor:
            return undeclared(x, self.state)

    trace = tl.trace(Counts(), X)
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_write")
    assert "The buffer 'state' was written in place" in trace.gaps[0].message


def test_hidden_write_into_an_input_is_found_when_the_run_ends() -> None:
    trace = run(lambda x: undeclared(x * 1, x), X.clone())
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_write")


class Holds(nn.Module):
    def __init__(self, function: object) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


# ---------------------------------------------------------------- bundles


@pytest.mark.filterwarnings("ignore::tl_torch.ScalarEscapeWarning")
def test_reasons_and_advisories_survive_a_bundle(tmp_path: Path) -> None:
    trace = run(lambda x: SOURCES["from_numpy"](x) * x.sum().item(), X)
    trace.save(tmp_path / "run.tlspec")
    loaded = tl.load(tmp_path / "run.tlspec")
    assert (loaded.capture_verified, loaded.capture_verification_reason) == (False, "unseen_source")
    assert loaded.annotations["capture_advisories"][0]["kind"] == "scalar_escape"


class Other(Tensor):
    """A tensor class that changes nothing."""

    __torch_function__ = torch._C._disabled_torch_function_impl


ANOTHER_OBJECT = {
    "nn.Parameter": lambda y: nn.Parameter(y.detach()),
    "as_subclass": lambda y: y.as_subclass(Other),
    "torch.Tensor": lambda y: torch.Tensor(y.detach()),
}
"""Each makes another object for the memory of a tensor, and no seam shows it."""


@pytest.mark.parametrize("make", ANOTHER_OBJECT.values(), ids=ANOTHER_OBJECT)
def test_another_object_for_what_an_op_made(make: Callable[[Tensor], Tensor]) -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.detach() * 2
        row = y[1]
        return make(y) + 1, make(row) + 1

    trace = run(forward, X)
    parents = edges(trace)
    assert parents["add.1"] == ["mul.1"] or parents["add.1"] == ["detach.2"]
    assert named(trace)[parents["add.2"][0]].shape == (2,)
    assert [op.out.tolist() for op in trace.outputs] == [[[3, 5], [2, 7]], [2, 7]]
    assert trace.capture_verified


def test_another_object_for_a_view_that_is_gone() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        return y[1].as_subclass(Other) + 1

    trace = run(forward, X)
    assert edges(trace)["add.1"] == ["mul.1"]
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_source")
    assert "lies in the memory of the result of 'mul'" in trace.gaps[0].message


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_values_of_a_sparse_tensor_that_are_written_through_another() -> None:
    def forward(x: Tensor) -> Tensor:
        values = x[0] * 2
        diagonal = torch.sparse_coo_tensor(torch.tensor([[0, 1], [0, 1]]), values, (2, 2))
        values.mul_(10)
        return diagonal.to_dense()

    trace = run(forward, X)
    assert trace.outputs[0].out.tolist() == [[20, 0], [0, 40]]
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_write")
    assert "'sparse_coo_tensor' is sparse" in trace.gaps[0].message


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
def test_sparse_tensor_that_nobody_writes_is_no_gap() -> None:
    assert run(lambda x: (x.to_sparse() @ x).relu(), X).capture_verified
    assert run(lambda x: x.to_sparse_csr().to_dense() + 1, X).capture_verified
