"""Which write a read finds: against sets of bytes, and where the memory is large."""

from __future__ import annotations

import random

import pytest
import torch
from graphs import edges, run
from torch import Tensor

from tl_core import OpRecord
from tl_torch._writes import Region, Write, last_writers

DTYPES = [torch.uint8, torch.int16, torch.float32, torch.complex64]


def op(index: int) -> OpRecord:
    return OpRecord(index, "op", None, 0, (), (1,), "float32", "cpu", False, None, None, "", None)


def some_view(memory: Tensor, draw: random.Random) -> Tensor:
    """Draw a strided view of another dtype into the same memory."""
    whole = memory.view(draw.choice(DTYPES))
    count = whole.numel()
    rows = draw.choice([1, 2, 4])
    step = draw.choice([1, 1, 2, 3])
    across = max(1, (count // rows - 1) // step)
    width = draw.randint(1, across)
    start = draw.randint(0, count - ((rows - 1) * (count // rows) + (width - 1) * step + 1))
    return whole.as_strided((rows, width), (count // rows, step), start)


def bytes_of(view: Tensor) -> set[int]:
    size = view.element_size()
    starts = [
        (view.storage_offset() + row * view.stride(0) + column * view.stride(1)) * size
        for row in range(view.shape[0])
        for column in range(view.shape[1])
    ]
    return {start + byte for start in starts for byte in range(size)}


@pytest.mark.parametrize("seed", range(200))
def test_last_writers_are_those_of_sets_of_bytes(seed: int) -> None:
    draw = random.Random(seed)
    memory = torch.zeros(64, dtype=torch.complex64)
    read = some_view(memory, draw)
    views = [some_view(memory, draw) for _ in range(draw.randint(1, 6))]
    writes = [Write(op(index), Region(view), False) for index, view in enumerate(views)]
    left = bytes_of(read)
    expected = []
    for index in reversed(range(len(views))):
        if left & bytes_of(views[index]):
            expected.insert(0, index)
        left -= bytes_of(views[index])
    found, old = last_writers(Region(read), writes, -1)
    assert ([write.record.index for write in found], old) == (expected, bool(left))


def test_columns_of_a_tensor_of_96_megabytes_are_told_apart() -> None:
    def forward(x: Tensor) -> Tensor:
        table = torch.zeros(12_000_000, 2)
        table[:, 0].add_(x[0])
        table[:, 1].mul_(x[1])
        return table[:5, 0] + 1

    trace = run(forward, torch.ones(2), save="none")
    assert edges(trace)["add.1"] == ["getitem.5"]
    assert edges(trace)["getitem.5"] == ["add_.1"]
