"""The two cheaper ways of keeping values: live objects that refuse when written to, and plain aliases."""

from __future__ import annotations

import pytest
import torch
from graphs import named, run
from torch import Tensor

import tl_core

X = torch.arange(4.0)


def kept_by(forward: object, mode: str) -> object:
    with torch.no_grad():
        return run(forward, torch.arange(4.0), save_mode=mode)


def test_reference_is_the_live_object() -> None:
    held: list[Tensor] = []

    def forward(x: Tensor) -> Tensor:
        held.append(x * 2)
        return held[0] + 1

    trace = kept_by(forward, "reference")
    assert named(trace)["mul.1"].out.data_ptr() == held[0].data_ptr()
    assert named(trace)["mul.1"].out.tolist() == [0, 2, 4, 6]


def test_reference_written_in_place_refuses_to_be_read() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        z = y + 1
        y.mul_(3)
        return z

    trace = kept_by(forward, "reference")
    ops = named(trace)
    with pytest.raises(tl_core.MutatedReferenceError) as caught:
        _ = ops["mul.1"].out
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.code == "mutated_reference"
    assert 'save_mode="copy"' in caught.value.remedy
    assert ops["mul.1"].label in str(caught.value)
    assert ops["add.1"].out.tolist() == [1, 3, 5, 7]
    assert ops["mul_.1"].out.tolist() == [0, 6, 12, 18]


def test_reference_written_through_a_view_refuses() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        y[:1].add_(1)
        return y + 0

    trace = kept_by(forward, "reference")
    with pytest.raises(tl_core.MutatedReferenceError):
        _ = named(trace)["mul.1"].out


def test_reference_written_after_the_trace_refuses() -> None:
    held: list[Tensor] = []

    def forward(x: Tensor) -> Tensor:
        held.append(x * 2)
        return held[0]

    trace = kept_by(forward, "reference")
    assert named(trace)["mul.1"].out.tolist() == [0, 2, 4, 6]
    held[0].add_(1)
    with pytest.raises(tl_core.MutatedReferenceError):
        _ = named(trace)["mul.1"].out


@pytest.mark.parametrize(
    "write", [lambda y: y.data.add_(1), lambda y: y.data[:1].zero_(), lambda y: y.detach().add_(1)]
)
def test_reference_written_through_data_refuses(write: object) -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        write(y)
        return y + 0

    trace = kept_by(forward, "reference")
    with pytest.raises(tl_core.MutatedReferenceError):
        _ = named(trace)["mul.1"].out


def test_reference_written_in_inference_mode_refuses() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        y.add_(1)
        return y + 0

    with torch.inference_mode():
        trace = kept_by(forward, "reference")
    with pytest.raises(tl_core.MutatedReferenceError):
        _ = named(trace)["mul.1"].out
    assert named(trace)["add_.1"].out.tolist() == [1, 3, 5, 7]


def test_metadata_of_a_written_reference_stays_readable() -> None:
    trace = kept_by(lambda x: (x * 2).add_(1), "reference")
    op = named(trace)["mul.1"]
    assert (op.shape, op.dtype) == ((4,), "float32")
    assert "mul" in repr(op)
    assert trace.summary()


def test_view_shows_later_writes() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x * 2
        y.add_(1)
        return y[:2]

    trace = kept_by(forward, "view")
    ops = named(trace)
    assert ops["mul.1"].out.tolist() == [1, 3, 5, 7]
    assert ops["add_.1"].out.tolist() == [1, 3, 5, 7]
    assert ops["getitem.1"].out.tolist() == [1, 3]


def test_copy_does_not_show_them() -> None:
    trace = kept_by(lambda x: (x * 2).add_(1), "copy")
    assert named(trace)["mul.1"].out.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("mode", ["deep", "", None, 1, "Copy"])
def test_other_modes_are_refused(mode: object) -> None:
    calls: list[int] = []
    with pytest.raises(tl_core.ConfigurationError) as caught:
        run(lambda x: calls.append(1), X, save_mode=mode)
    assert caught.value.code == "save_mode_invalid"
    assert isinstance(caught.value, ValueError)
    for name in ("copy", "reference", "view"):
        assert name in str(caught.value)
    assert calls == []
