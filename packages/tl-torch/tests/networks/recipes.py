"""How each network of the list is built, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from recipes_timm import TIMM
from recipes_torchvision import TORCHVISION
from recipes_transformers import TRANSFORMERS

if TYPE_CHECKING:
    from networks import Network

SEED = 7


@dataclass(frozen=True, slots=True)
class Case:
    """A network ready to run."""

    model: torch.nn.Module
    args: tuple[object, ...] = ()
    kwargs: dict[str, object] = field(default_factory=dict)


Recipe = Callable[[tuple[int, ...]], tuple[torch.nn.Module, tuple[object, ...], dict[str, object]]]

RECIPES: dict[str, dict[str, Recipe]] = {
    "torchvision": TORCHVISION,
    "timm": TIMM,
    "transformers": TRANSFORMERS,
}


def build(network: Network) -> Case:
    """Build a network with weights and inputs that are the same every time."""
    torch.manual_seed(SEED)
    model, args, kwargs = RECIPES[network.library][network.name](network.size)
    return Case(model.train(network.mode == "train"), args, kwargs)
