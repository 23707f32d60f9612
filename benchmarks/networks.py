"""The networks that are measured: random weights, one thread, inputs from one seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A model with its inputs."""

    name: str
    model: nn.Module
    args: tuple[object, ...] = ()
    kwargs: dict[str, object] | None = None

    def run(self) -> object:
        """Run one plain forward pass."""
        return self.model(*self.args, **(self.kwargs or {}))


class Loop(nn.Module):
    """A GRU cell and five more calls a step, and one call at the end: `6 * steps + 1` operations."""

    def __init__(self, steps: int, width: int = 32) -> None:
        super().__init__()
        self.steps = steps
        self.cell = nn.GRUCell(width, width)
        self.head = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        for step in range(self.steps):
            h = self.cell(x[:, step], h)
            gate = torch.sigmoid(h)
            h = torch.tanh(h) * gate + h
        return self.head(h)


def mlp() -> Network:
    """Twenty linear layers and activations: 40 operations."""
    layers = [layer for _ in range(20) for layer in (nn.Linear(64, 64), nn.ReLU())]
    return Network(name="MLP, 40 ops", model=nn.Sequential(*layers), args=(torch.randn(8, 64),))


def resnet18() -> Network:
    """Torchvision's resnet18 on one image of 224 x 224."""
    from torchvision.models import resnet18 as build

    return Network(name="resnet18", model=build(), args=(torch.randn(1, 3, 224, 224),))


def gpt2() -> Network:
    """GPT-2 small of transformers on 128 tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tokens = torch.randint(0, 50257, (1, 128))
    return Network(name="GPT-2 small", model=GPT2LMHeadModel(GPT2Config()), kwargs={"input_ids": tokens})


def loop(steps: int) -> Network:
    """Build the recurrent loop of so many steps."""
    inputs = (torch.randn(4, steps, 32), torch.zeros(4, 32))
    return Network(name=f"loop, {6 * steps + 1:,} ops", model=Loop(steps), args=inputs)


BUILDERS: dict[str, Callable[[], Network]] = {
    "mlp": mlp,
    "resnet18": resnet18,
    "gpt2": gpt2,
    "loop500": partial(loop, 500),
    "loop17000": partial(loop, 17_000),
}


def build(name: str) -> Network:
    """Build a network, in evaluation mode, the same each time."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = BUILDERS[name]()
    network.model.eval()
    return network
