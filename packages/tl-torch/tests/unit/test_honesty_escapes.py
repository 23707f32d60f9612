"""Python numbers that leave the graph: who is warned, where, and who is not."""

from __future__ import annotations

import operator
import warnings

import pytest
import torch
from graphs import run
from torch import Tensor, nn

import tl_torch as tl

X = torch.tensor([[1.0, 2.0], [0.5, 3.0]])
N = torch.tensor([2, 1])


def quietly(forward: object, *inputs: object) -> tl.Trace:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return run(forward, *inputs)


def scaled(x: Tensor) -> Tensor:
    factor = x.sum().item()
    for _ in range(2):
        x = x * x.mean().item()
    return x * factor


def test_warning_stands_at_the_first_read_and_counts_them() -> None:
    with pytest.warns(tl.ScalarEscapeWarning) as caught:
        trace = run(scaled, X)
    (warning,) = caught
    line = scaled.__code__.co_firstlineno + 1
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert warning.message.code == "scalar_escape"
    assert str(warning.message).startswith(
        f"3 times a tensor became a Python number in the forward pass (item), first at test_honesty_escapes.py:{line} "
        "in scaled"
    )
    assert trace.capture_verified
    (row,) = trace.annotations["capture_advisories"]
    assert (row["kind"], row["count"]) == ("scalar_escape", 3)
    assert row["first_location"] == f"test_honesty_escapes.py:{line} in scaled"
    assert [read.kind for read in trace.reads] == ["item"] * 3


@pytest.mark.parametrize(
    ("kind", "forward"),
    [
        ("item", lambda x: x * x.sum().item()),
        ("int", lambda x: x * int(x.sum())),
        ("float", lambda x: x * float(x.sum())),
        ("complex", lambda x: x * complex(x.sum())),
        ("list", lambda x: x * x.sum(0).tolist()[0]),
        ("bool", lambda x: next(x * flag for flag in (bool(x.sum() > 0),))),
        ("index", lambda x: x[: operator.index(x.long().sum())]),
    ],
)
def test_every_way_to_make_a_number(kind: str, forward: object) -> None:
    with pytest.warns(tl.ScalarEscapeWarning, match=rf"1 time a tensor.*\({kind}\)"):
        run(forward, X)


def while_positive(x: Tensor) -> Tensor:
    while x.sum() > 1:
        x = x / 2
    return x


def branches(x: Tensor) -> Tensor:
    if x.sum() > 0 and not (x > 5).any():
        x = x + 1
    if bool(x.sum() > 0):
        x = x + 1
    return x if x.mean() < 3 else -x


PLAIN: dict[str, object] = {}
exec(  # pytest rewrites the assertions of this file
    compile(
        "def asserts(x):\n    assert x.sum().item() > 0\n    assert x.sum() > 0\n    return x + 1", "plain.py", "exec"
    ),
    PLAIN,
)


class Buffered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.tensor(3))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(int(self.steps)):
            x = x * self.scale.item()
        return x + torch.arange(4).max().item()


@pytest.mark.parametrize(
    "forward",
    [
        while_positive,
        branches,
        PLAIN["asserts"],
        lambda x: x.view(x.shape[0], -1) * x.numel(),
        lambda x: x if x.isnan().any().item() else x + 1,
        lambda x: (torch.equal(x, x) and x + 1) if torch.allclose(x, x) else x,
    ],
    ids=["while", "branches", "asserts", "shapes", "item of a truth value", "comparisons"],
)
def test_what_the_trace_explains_does_not_warn(forward: object) -> None:
    assert quietly(forward, X).capture_verified


def test_numbers_that_no_input_had_a_part_in_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace = tl.trace(Buffered(), X)
    assert "capture_advisories" not in trace.annotations


def test_sizes_that_torch_itself_reads_do_not_warn() -> None:
    core = nn.GRU(2, 3, batch_first=True)

    def forward(x: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(core(packed)[0], batch_first=True)[0]

    quietly(forward, torch.ones(2, 2, 2), N)


def test_clean_trace_has_no_annotations() -> None:
    trace = tl.trace(nn.Linear(2, 2), X)
    assert trace.annotations == {}
    assert trace.escape_diagnostics == ()
