"""Ten small networks of different kinds, each with inputs on which nothing is degenerate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    model: nn.Module
    args: tuple[Any, ...]


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.first(x)) * 0.5
        gate = torch.sigmoid(self.second(hidden))
        return torch.softmax(self.third(hidden - gate), dim=1)


class Residual(nn.Module):
    """Convolutions, batch norms that write their statistics, in-place activations, a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(8), nn.BatchNorm2d(8)
        self.conv = nn.Conv2d(8, 8, 3, stride=1, padding=1)
        self.act = nn.ReLU(inplace=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.act(self.norm1(self.stem(x)))
        x = self.act(self.norm2(self.conv(x)) + x)
        return self.head(F.max_pool2d(x, 2).mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(4, 6), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.tanh(x[:, 0, :1].expand(-1, 6))
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
        return self.head(state)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).flatten(1)


class Language(nn.Module):
    """Embeddings, a causal mask, tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(20, 8), nn.Embedding(6, 8)
        self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.register_buffer("mask", torch.tril(torch.ones(6, 6, dtype=torch.bool)))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        scores = self.query(x) @ self.key(x).transpose(1, 2) / 8**0.5
        scores = scores.masked_fill(~self.mask[: ids.shape[1], : ids.shape[1]], float("-inf"))
        x = x + torch.softmax(scores, dim=-1) @ self.value(x)
        return x @ self.tokens.weight.T


class Skip(nn.Module):
    """Down, up, and a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up, self.out = nn.Conv2d(2, 4, 3, 2, 1), nn.ConvTranspose2d(4, 2, 2, 2), nn.Conv2d(4, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        small = F.gelu(self.down(x))
        return self.out(torch.cat([x, self.up(small)], dim=1))


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.across, self.along = nn.Parameter(torch.randn(5, 5)), nn.Parameter(torch.randn(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + torch.einsum("btc,ts->bsc", x, self.across)
        x = F.layer_norm(x, (4,))
        return torch.einsum("btc,cd->btd", x, self.along).permute(0, 2, 1).reshape(x.shape[0], -1)


class Stochastic(nn.Module):
    """Dropout and noise."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 12), nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 0.1 * torch.randn_like(x)
        x = F.dropout(torch.tanh(self.inner(x)), 0.3, self.training)
        return self.outer(x).sub(torch.rand(4)).chunk(2, dim=1)[0]


class Writer(nn.Module):
    """Writes through views, into slices, into a buffer and with `out=`."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2.0
        y[:, :2].mul_(3.0)
        y.view(-1)[4:7].add_(x.view(-1)[4:7])
        table = torch.zeros(x.shape[0], 3)
        table[:, 0] = y[:, 0]
        table[:, 1:] = y[:, 2:4] - x[:, 1:3]
        self.seen.add_(1.0)
        total = torch.empty(x.shape[0], 3)
        torch.sub(table, y[:, :3], out=total)
        return (total / self.seen).cumsum(dim=1)


class Multiple(nn.Module):
    """Several inputs, several outputs, calls with several results."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden, (last, cell) = self.lstm(torch.stack([x, y], dim=1).div(2.0))
        best, where = self.head(hidden).max(dim=2)
        left, right = torch.split(last[0] - cell[0], [2, 3], dim=1)
        return {"best": best, "where": where, "left": left.pow(2), "right": right.exp()}


BUILDERS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]]]] = {
    "mlp": (Mlp, lambda: (torch.randn(3, 8),)),
    "residual": (Residual, lambda: (torch.randn(2, 3, 8, 8),)),
    "recurrent": (Recurrent, lambda: (torch.randn(2, 5, 4),)),
    "attention": (Attention, lambda: (torch.randn(2, 4, 8),)),
    "language": (Language, lambda: (torch.randint(0, 20, (2, 6)),)),
    "skip": (Skip, lambda: (torch.randn(1, 2, 6, 6),)),
    "mixer": (Mixer, lambda: (torch.randn(2, 5, 4),)),
    "stochastic": (Stochastic, lambda: (torch.randn(4, 6),)),
    "writer": (Writer, lambda: (torch.randn(3, 4),)),
    "multiple": (Multiple, lambda: (torch.randn(2, 4), torch.randn(2, 4))),
}


def build(name: str) -> Case:
    """A network in training mode, the same each time."""
    torch.manual_seed(3)
    model, inputs = BUILDERS[name]
    return Case(model=model(), args=inputs())
