"""The three networks of the demo, built from random weights: nothing is downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoNetwork:
    """One network of the demo."""

    name: str
    """Its short name, also the name of the files written for it."""
    story: str
    """One line for the reader: what it is and what it is given."""
    site: str
    """The label of the activation that the demo looks up."""
    build: Callable[[], tuple[nn.Module, Tensor]]
    """Makes the model in evaluation mode and one batch of inputs."""


class SentenceReader(nn.Module):
    """Reads a sentence one token at a time with a GRU cell and scores it."""

    def __init__(self, *, tokens: int = 1000, width: int = 64, classes: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.cell = nn.GRUCell(width, width)
        self.score = nn.Linear(width, classes)

    def forward(self, sentence: Tensor) -> Tensor:
        """Return class scores of shape `(batch, classes)` for token numbers of shape `(batch, time)`."""
        vectors = self.embedding(sentence)
        state = vectors.new_zeros(sentence.shape[0], self.cell.hidden_size)
        for time in range(sentence.shape[1]):
            state = self.cell(vectors[:, time], state)
        return self.score(torch.tanh(state))


def convolutional() -> tuple[nn.Module, Tensor]:
    """Return torchvision's resnet18 and one image of shape `(1, 3, 224, 224)`."""
    # torchvision takes seconds to import; the other commands do without.
    from torchvision.models import resnet18  # noqa: PLC0415

    return resnet18(weights=None).eval(), torch.rand(1, 3, 224, 224)


def transformer() -> tuple[nn.Module, Tensor]:
    """Return GPT-2 small and 16 token numbers of shape `(1, 16)`."""
    # transformers takes seconds to import; the other commands do without.
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415

    config = GPT2Config()
    return GPT2LMHeadModel(config).eval(), torch.randint(config.vocab_size, (1, 16))


def recurrent() -> tuple[nn.Module, Tensor]:
    """Return a recurrent reader and two sentences of 12 tokens, shape `(2, 12)`."""
    return SentenceReader().eval(), torch.randint(1000, (2, 12))


NETWORKS = (
    DemoNetwork(
        name="resnet18",
        story="a convolutional network of torchvision, given one 224 x 224 image",
        site="conv2d_1_1:1",
        build=convolutional,
    ),
    DemoNetwork(
        name="gpt2",
        story="GPT-2 small of transformers, given 16 tokens",
        site="scaleddotproductattention_1:1",
        build=transformer,
    ),
    DemoNetwork(
        name="reader",
        story="a GRU cell in a Python loop, given two sentences of 12 tokens",
        site="grucell_1:12",
        build=recurrent,
    ),
)
