"""Networks of timm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import timm
import torch

if TYPE_CHECKING:
    from collections.abc import Callable

Built = tuple[torch.nn.Module, tuple[object, ...], dict[str, object]]


def image_model(name: str, *, sized: bool = False) -> Callable[[tuple[int, ...]], Built]:
    """Return a recipe; `sized` networks have to know the image size when they are built."""

    def recipe(size: tuple[int, ...]) -> Built:
        options = {"img_size": size[-1]} if sized else {}
        return timm.create_model(name, num_classes=10, **options), (torch.randn(size),), {}

    return recipe


TIMM = {
    "mixer_s32_224": image_model("mixer_s32_224", sized=True),
    "coatnet_nano_rw_224": image_model("coatnet_nano_rw_224", sized=True),
    "xcit_nano_12_p16_224": image_model("xcit_nano_12_p16_224", sized=True),
    "levit_128s": image_model("levit_128s", sized=True),
    "mobilevit_xxs": image_model("mobilevit_xxs"),
    "ghostnet_050": image_model("ghostnet_050"),
    "res2net50_14w_8s": image_model("res2net50_14w_8s"),
    "repvgg_a0": image_model("repvgg_a0"),
    "halonet26t": image_model("halonet26t"),
    "convnextv2_atto": image_model("convnextv2_atto"),
}
