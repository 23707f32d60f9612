"""`torchlens show`: every fact of an op, a layer with passes, a module and a call, worked out by hand."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor, nn

import tl_torch
from torchlens._description import LONGEST_LINE, describe, names


class Twice(nn.Module):
    """Applies one linear layer twice: `x @ [[2, 0], [0, 2]]`, and again."""

    def __init__(self) -> None:
        super().__init__()
        self.twice = nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.twice.weight.copy_(2 * torch.eye(2))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.twice(self.twice(x)))


@pytest.fixture(scope="module")
def trace() -> tl_torch.Trace:
    return tl_torch.trace(Twice().eval(), torch.tensor([[1.0, -1.0]]))


def shown(trace: tl_torch.Trace, key: str) -> dict[str, str]:
    heading, *lines = describe(trace, trace[key]).splitlines()
    assert heading == (key or "the model")
    return {line[2:12].strip() or line.strip(): line[14:] for line in lines}


def test_an_op_shows_all_its_facts(trace: tl_torch.Trace) -> None:
    facts = shown(trace, "linear_1_1:2")
    cost, source = facts.pop("cost"), facts.pop("source")
    assert re.fullmatch(r"8 FLOPs, [\d.]+ \S+", cost)
    assert re.fullmatch(r"test_description.py:\d+ in forward", source)
    assert facts == {
        "function": "linear",
        "output": "float32[1, 2], 8 bytes, in memory",
        "pass": "2 of 2",
        "module": "twice:2",
        "parameters": "twice.weight",
        "from": "linear_1_1:1",
        "to": "relu_1_2:1",
        "value": "smallest -4, mean 0, largest 4",
    }


def test_a_layer_with_one_pass_is_shown_as_its_op(trace: tl_torch.Trace) -> None:
    facts = shown(trace, "relu_1_2")
    assert facts["value"] == "smallest 0, mean 2, largest 4"
    assert "pass" not in facts


def test_a_layer_with_several_passes_lists_them(trace: tl_torch.Trace) -> None:
    text = describe(trace, trace["linear_1_1"])
    assert "  passes      2\n" in text
    assert "linear_1_1:1  float32[1, 2], 8 bytes, in memory\n" in text
    assert text.endswith("linear_1_1:2  float32[1, 2], 8 bytes, in memory")


def test_a_module_shows_what_it_owns_and_when_it_ran(trace: tl_torch.Trace) -> None:
    assert shown(trace, "twice") == {
        "class": "Linear",
        "mode": "evaluation",
        "parameters": "4",
        "calls": "twice:1, twice:2",
        "layers": "linear_1_1",
    }


def test_the_model_itself_has_a_name(trace: tl_torch.Trace) -> None:
    assert shown(trace, "")["class"] == "Twice"


def test_a_module_call_shows_what_went_in_and_out(trace: tl_torch.Trace) -> None:
    facts = shown(trace, "twice:2")
    assert facts["inputs"] == facts["ops"].replace(":2", ":1") == "linear_1_1:1"
    assert facts["outputs"] == "linear_1_1:2"


def test_a_value_that_was_not_saved_is_said_to_be_missing() -> None:
    trace = tl_torch.trace(Twice(), torch.ones(1, 2), save="none")
    facts = shown(trace, "relu_1_2:1")
    assert facts["output"] == "float32[1, 2], 8 bytes, not saved"
    assert facts["value"] == "not saved: save='none' keeps no values"


def test_a_dtype_that_numpy_has_not_got_is_shown_without_measures() -> None:
    trace = tl_torch.trace(nn.ReLU(), torch.ones(1, 2, dtype=torch.bfloat16))
    assert "value" not in shown(trace, "relu_1_1:1")


def test_long_lists_fit_on_a_line_and_say_how_many_more() -> None:
    text = names(f"linear_{number}_{number}:1" for number in range(1, 100))
    assert len(text) <= LONGEST_LINE
    assert text.startswith("linear_1_1:1, linear_2_2:1")
    assert re.search(r" and \d+ more$", text)


def test_one_long_name_is_never_cut() -> None:
    assert names(["x" * 200]) == "x" * 200


def test_a_parameter_and_a_buffer_show_who_reads_them() -> None:
    model = nn.Sequential(nn.Linear(2, 3, bias=False), nn.BatchNorm1d(3)).eval()
    model[0].weight.requires_grad_(False)
    trace = tl_torch.trace(model, torch.ones(2, 2))
    assert describe(trace, trace.params["0.weight"]).splitlines() == [
        "0.weight",
        "  kind        parameter",
        "  tensor      float32[3, 2], 24 bytes, 6 scalars, frozen",
        "  module      0",
        "  read by     linear_1_1:1",
    ]
    assert describe(trace, trace.buffers["1.num_batches_tracked"]).splitlines() == [
        "1.num_batches_tracked",
        "  kind        buffer",
        "  tensor      int64[], 8 bytes, 1 scalar",
        "  module      1",
        "  read by     none",
    ]
