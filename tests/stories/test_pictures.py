"""Pictures of real traces: what capture says is what the picture shows."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import torchlens as tl


class Coder(nn.Module):
    """An encoder, and a decoder whose first layer does not fit."""

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(width, 2), nn.ReLU())

    def forward(self, query: torch.Tensor, mask: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        hidden = self.encoder(query)
        hidden = hidden - hidden.mean()
        if mask is not None:
            hidden = torch.where(mask, hidden, 0.0)
        return {"logits": self.decoder(hidden), "hidden": hidden}


def texts(drawing: tl.Drawing, role: str) -> list[list[str]]:
    return [[row.text for row in node.rows] for node in drawing.scene.nodes() if node.role == role]


def test_inputs_and_outputs_have_the_names_of_the_forward() -> None:
    drawing = tl.trace(Coder(width=8), (torch.ones(2, 4), torch.ones(2, 8) > 0)).draw()
    assert texts(drawing, "input") == [["query", "input", "(2, 4)"], ["mask", "input", "(2, 8)"]]
    assert texts(drawing, "output") == [["output.logits", "(2, 2)"], ["output.hidden", "(2, 8)"]]


def test_the_order_of_arguments_can_be_read() -> None:
    trace = tl.trace(Coder(width=8), (torch.ones(2, 4), torch.ones(2, 8) > 0))
    said = {
        (edge.source, target): slot
        for edge in trace.draw().scene.edges
        for target, slot in zip(edge.targets, edge.slots, strict=bool(edge.slots))
        if slot
    }
    assert said == {
        ("relu_1_2", "sub_1_4"): "1",
        ("mean_1_3", "sub_1_4"): "2",
        ("input_2", "where_1_5"): "1",
        ("sub_1_4", "where_1_5"): "2",
    }


def test_a_failed_run_shows_where_it_failed() -> None:
    with pytest.raises(RuntimeError) as caught:
        tl.trace(Coder(width=7), torch.ones(2, 4))
    drawing = caught.value.partial_trace.draw()
    ((title, where, message),) = texts(drawing, "stop")
    assert (title, where) == ("RuntimeError", "the run ended in decoder.0 · Linear")
    assert message.endswith("(2x8 and 7x2)")
    assert drawing.notes[0].startswith("the run failed in decoder.0: RuntimeError: ")
    assert "the run failed" in drawing.svg


def test_a_failed_run_says_so_from_a_bundle_too(tmp_path) -> None:
    with pytest.raises(RuntimeError) as caught:
        tl.trace(Coder(width=7), torch.ones(2, 4))
    caught.value.partial_trace.save(tmp_path / "failed.tlspec")
    loaded = tl.load(tmp_path / "failed.tlspec").draw()
    assert loaded.svg == caught.value.partial_trace.draw().svg


def test_a_limit_of_the_planner_stands_where_it_used_to() -> None:
    from torchlens._visualization.collapse_optimizer import COLLAPSE_OPTIMIZER_MAX_OPS

    assert COLLAPSE_OPTIMIZER_MAX_OPS == 2_000
