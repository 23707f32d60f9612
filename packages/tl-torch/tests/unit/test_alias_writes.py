"""Parents under in-place writes through views: who wrote last what is read.

A reader lists the op that made the tensor it reads, unless all of what it reads was overwritten since, and then
each later op whose write the reader can see, oldest first.
"""

from __future__ import annotations

import torch
from graphs import edges, graph, named, run
from torch import Tensor, nn

import tl_torch as tl

X = torch.arange(4.0)
M = torch.arange(12.0).reshape(3, 4)


def test_write_to_one_half_is_no_parent_of_the_other() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[:2].add_(1)
        return a[2:] + 0

    assert graph(forward, X) == {
        "input.1": [],
        "mul.1": ["input.1"],
        "getitem.1": ["mul.1"],
        "add_.1": ["getitem.1"],
        "getitem.2": ["mul.1"],
        "add.1": ["getitem.2"],
        "output.1": ["add.1"],
    }


def test_write_that_covers_what_is_read_is_the_only_parent() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[:2].add_(1)
        return a[:2] + 0

    assert graph(forward, X)["getitem.2"] == ["add_.1"]


def test_write_inside_what_is_read_comes_after_the_base() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        a[1:3].add_(1)
        return a[:2] + 0, a * 3

    parents = graph(forward, X)
    assert parents["getitem.2"] == ["mul.1", "add_.1"]
    assert parents["mul.2"] == ["mul.1", "add_.1"]


def test_two_writes_that_together_cover_everything() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[:2].add_(1)
        a[2:].mul_(3)
        return a + 0

    assert graph(forward, X)["add.1"] == ["add_.1", "mul_.1"]


def test_chain_of_writes_to_one_place_leaves_the_last_one() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[:2].add_(1)
        a[:2].mul_(3)
        return a + 0

    parents = graph(forward, X)
    assert parents["getitem.2"] == ["add_.1"]
    assert parents["mul_.1"] == ["getitem.2"]
    assert parents["add.1"] == ["mul.1", "mul_.1"]


def test_overlapping_writes_are_listed_oldest_first() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[:3].add_(1)
        a[2:].mul_(3)
        return a + 0

    parents = graph(forward, X)
    assert parents["getitem.2"] == ["mul.1", "add_.1"]
    assert parents["add.1"] == ["add_.1", "mul_.1"]


def test_write_to_the_base_reaches_a_view_taken_before() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        left, right = a[:2], a[2:]
        a.add_(1)
        return left + 0, right * 1

    parents = graph(forward, X)
    assert parents["add_.1"] == ["mul.1"]
    assert parents["add.1"] == ["add_.1"]
    assert parents["mul.2"] == ["add_.1"]


def test_write_to_one_view_reaches_another_that_overlaps() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        left, middle, right = a[:2], a[1:3], a[2:]
        middle.add_(1)
        return left + 0, right + 0

    parents = graph(forward, X)
    assert parents["add.1"] == ["getitem.1", "add_.1"]
    assert parents["add.2"] == ["getitem.3", "add_.1"]


def test_view_that_was_written_in_place_has_the_write_as_its_producer() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        left = a[:2]
        left.add_(1)
        return left * 3

    assert graph(forward, X)["mul.2"] == ["add_.1"]


def test_column_writes_are_no_parents_of_other_columns() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        a[:, 0].add_(1)
        return a[:, 1] + 0, a[:, :1] + 0

    parents = graph(forward, M)
    assert parents["getitem.2"] == ["mul.1"]
    assert parents["getitem.3"] == ["add_.1"]


def test_steps_that_interleave_do_not_overlap() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a = x * 2
        a[::2].add_(1)
        return a[1::2] + 0, a[::2] + 0, a + 0

    parents = graph(forward, torch.arange(6.0))
    assert parents["getitem.2"] == ["mul.1"]
    assert parents["getitem.3"] == ["add_.1"]
    assert parents["add.3"] == ["mul.1", "add_.1"]


def test_write_through_a_transposed_view() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        a.t()[1].add_(1)
        return a[:, 1] + 0, a[:, 2:] + 0

    parents = graph(forward, M)
    assert parents["add_.1"] == ["getitem.1"]
    assert parents["getitem.2"] == ["add_.1"]
    assert parents["getitem.3"] == ["mul.1"]


def test_write_through_a_reshaped_view() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        a.view(-1)[4:8].zero_()
        return a[1] + 0, a[0] + 0

    parents = graph(forward, M)
    assert parents["getitem.2"] == ["zero_.1"]
    assert parents["getitem.3"] == ["mul.1"]


def test_reshape_that_copies_cuts_the_tie() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        copy = a.t().reshape(-1)
        copy.add_(1)
        return a + 0

    assert graph(forward, M)["add.1"] == ["mul.1"]


def test_write_through_an_expanded_base() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        wide = a.expand(3, 4)
        a[0].add_(1)
        return wide + 0, wide[:, 1:] + 0

    parents = graph(forward, X)
    assert parents["add.1"] == ["expand.1", "add_.1"]
    assert parents["getitem.2"] == ["expand.1"]


def test_write_through_as_strided() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        torch.as_strided(a, (2,), (2,), 1).mul_(5)
        return a[1] + 0, a[2] + 0

    parents = graph(forward, X)
    assert parents["getitem.1"] == ["mul_.1"]
    assert parents["getitem.2"] == ["mul.1"]


def test_writes_to_the_results_of_split() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        a = x * 2
        first, second = torch.split(a, 2)
        second.add_(1)
        return first + 0, a + 0

    with torch.no_grad():
        parents = graph(forward, X)
    assert parents["add_.1"] == ["split.2"]
    assert parents["add.1"] == ["split.1"]
    assert parents["add.2"] == ["mul.1", "add_.1"]


def test_writes_to_the_results_of_unbind() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        for row in a.unbind():
            row.add_(1)
        return a + 0

    parents = graph(forward, M)
    assert parents["add_.2"] == ["unbind.2"]
    assert parents["add.1"] == ["add_.1", "add_.2", "add_.3"]


def test_write_into_the_input_itself() -> None:
    def forward(x: Tensor) -> Tensor:
        x[1:].add_(1)
        return x + 0

    trace = run(forward, torch.arange(4.0))
    assert edges(trace)["add.1"] == ["input.1", "add_.1"]
    assert named(trace)["input.1"].out.tolist() == [0, 1, 2, 3], "as it came in"


def test_write_into_two_inputs_that_share_memory() -> None:
    def forward(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x.add_(1)
        return x + 0, y + 0

    memory = torch.arange(6.0)
    parents = graph(forward, memory[:4], memory[2:])
    assert parents["add.1"] == ["add_.1"]
    assert parents["add.2"] == ["input.2", "add_.1"]


def test_in_place_operators() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        part = a[:2]
        part += 1
        a *= 3
        return part - a[2:]

    parents = graph(forward, X)
    assert parents["add_.1"] == ["getitem.1"]
    assert parents["mul_.1"] == ["mul.1", "add_.1"]
    assert parents["getitem.2"] == ["mul_.1"]
    assert parents["sub.1"] == ["mul_.1", "getitem.2"]


def test_a_tensor_read_twice_is_one_parent() -> None:
    assert graph(lambda x: x + x, X)["add.1"] == ["input.1"]


def test_an_unchanged_return_is_an_op_and_the_parent_of_later_readers() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        b = a.contiguous()
        assert b is a
        return a + 0

    parents = graph(forward, X)
    assert parents["contiguous.1"] == ["mul.1"]
    assert parents["add.1"] == ["contiguous.1"]


def test_dropout_in_evaluation_is_an_op() -> None:
    drop = torch.nn.Dropout(0.5).eval()
    assert graph(lambda x: drop(x * 2) + 0, X)["add.1"] == ["dropout.1"]


def test_memory_that_is_used_again_brings_no_false_parents() -> None:
    def forward(x: Tensor) -> Tensor:
        total = x * 0
        for _ in range(30):
            scratch = torch.zeros(64)
            scratch[1:].add_(1)
            del scratch
            fresh = torch.ones(64)
            total = total + fresh[:4]
        return total

    parents = graph(forward, X)
    reads = [parents[name] for name in parents if name.startswith("getitem.")]
    sources = {source.split(".")[0] for read in reads for source in read}
    assert sources == {"ones"}


def test_writes_under_no_grad_and_in_inference_mode() -> None:
    def forward(x: Tensor) -> Tensor:
        a = x * 2
        a[:2].add_(1)
        return a[2:] + a[:2]

    expected = {
        "input.1": [],
        "mul.1": ["input.1"],
        "getitem.1": ["mul.1"],
        "add_.1": ["getitem.1"],
        "getitem.2": ["mul.1"],
        "getitem.3": ["add_.1"],
        "add.1": ["getitem.2", "getitem.3"],
        "output.1": ["add.1"],
    }
    with torch.no_grad():
        assert graph(forward, X) == expected
    with torch.inference_mode():
        assert graph(forward, torch.arange(4.0)) == expected


def test_a_view_without_gradients_of_a_parameter_that_is_written() -> None:
    class Trains(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                self.weight[0].add_(1)
            return x @ self.weight

    trace = tl.trace(Trains(), torch.ones(2, 3))
    assert [op.func_name for op in trace.ops if op.kind == "op"] == ["getitem", "add_", "matmul"]
    assert trace["matmul_1"].ops[0].out.tolist() == [[4.0, 4.0, 4.0]] * 2


def test_as_strided_sees_what_was_written_around_its_argument() -> None:
    def forward(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = x * 2  # 0 2 4 6
        first = y[:1]
        y[3] = x[1]
        y[2:3].add_(5)
        early = torch.as_strided(first, (2,), (1,), 1) + 0
        y[1].neg_()
        return early, first.as_strided((2,), (2,), 1) + 0, first.as_strided(size=(1,), stride=(1,)) + 0

    trace = run(forward, torch.arange(4.0))
    parents = edges(trace)
    assert [op.out.tolist() for op in trace.outputs] == [[2, 9], [-2, 1], [0]]
    assert parents["as_strided.1"] == ["getitem.1", "mul.1", "add_.1"]
    assert parents["as_strided.2"] == ["getitem.1", "setitem.1", "neg_.1"]
    assert parents["as_strided.3"] == ["getitem.1"]
