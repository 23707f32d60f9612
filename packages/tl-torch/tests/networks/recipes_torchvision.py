"""Networks of torchvision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torchvision import models
from torchvision.models.maxvit import MaxVit
from torchvision.models.swin_transformer import (
    PatchMergingV2,
    SwinTransformer,
    SwinTransformerBlockV2,
)
from torchvision.models.vision_transformer import VisionTransformer

if TYPE_CHECKING:
    from collections.abc import Callable

Size = tuple[int, ...]
Built = tuple[torch.nn.Module, tuple[object, ...], dict[str, object]]


def image_model(name: str, **options: object) -> Callable[[Size], Built]:
    """Return a recipe for a network that takes one batch of images or clips."""

    def recipe(size: Size) -> Built:
        return models.get_model(name, weights=None, **options), (torch.randn(size),), {}

    return recipe


def vit(size: Size) -> Built:
    model = VisionTransformer(
        image_size=size[-1], patch_size=32, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=128,
        num_classes=10,
    )  # fmt: skip
    return model, (torch.randn(size),), {}


def swin(size: Size) -> Built:
    model = SwinTransformer(
        patch_size=[4, 4], embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=[7, 7], num_classes=10
    )
    return model, (torch.randn(size),), {}


def swin_v2(size: Size) -> Built:
    model = SwinTransformer(
        patch_size=[4, 4], embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=[8, 8], num_classes=10,
        block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2,
    )  # fmt: skip
    return model, (torch.randn(size),), {}


def maxvit(size: Size) -> Built:
    model = MaxVit(
        input_size=size[-2:], stem_channels=16, partition_size=4, block_channels=[16, 32], block_layers=[1, 1],
        head_dim=16, stochastic_depth_prob=0.2, num_classes=10,
    )  # fmt: skip
    return model, (torch.randn(size),), {}


def detector(name: str, **options: object) -> Callable[[Size], Built]:
    """Return a recipe for a network that takes a list of images."""

    def recipe(size: Size) -> Built:
        model = models.get_model(name, weights=None, weights_backbone=None, num_classes=5, **options)
        return model, ([torch.rand(size)],), {}

    return recipe


def detector_in_training(size: Size) -> Built:
    model = models.get_model(
        "maskrcnn_resnet50_fpn", weights=None, weights_backbone=None, num_classes=5,
        min_size=size[-1], max_size=size[-1],
    )  # fmt: skip
    masks = torch.zeros(2, *size[-2:], dtype=torch.uint8)
    masks[0, 4:24, 4:24] = 1
    masks[1, 20:50, 16:56] = 1
    target = {
        "boxes": torch.tensor([[4.0, 4.0, 24.0, 24.0], [16.0, 20.0, 56.0, 50.0]]),
        "labels": torch.tensor([1, 3]),
        "masks": masks,
    }
    return model, ([torch.rand(size)], [target]), {}


def flow(size: Size) -> Built:
    model = models.get_model("raft_small", weights=None)
    return model, (torch.rand(size), torch.rand(size)), {"num_flow_updates": 3}


def segmenter(name: str, **options: object) -> Callable[[Size], Built]:
    return image_model(name, weights_backbone=None, num_classes=5, **options)


def video_transformer(size: Size) -> Built:
    model = models.video.MViT(
        spatial_size=size[-2:], temporal_size=size[-3], residual_pool=True, residual_with_cls_embed=False,
        rel_pos_embed=True, proj_after_attn=True, num_classes=10,
        block_setting=[
            models.video.mvit.MSBlockConfig(
                num_heads=1, input_channels=24, output_channels=48, kernel_q=[3, 3, 3], kernel_kv=[3, 3, 3],
                stride_q=[1, 1, 1], stride_kv=[1, 2, 2],
            ),
            models.video.mvit.MSBlockConfig(
                num_heads=2, input_channels=48, output_channels=48, kernel_q=[3, 3, 3], kernel_kv=[3, 3, 3],
                stride_q=[1, 2, 2], stride_kv=[1, 2, 2],
            ),
        ],
    )  # fmt: skip
    return model, (torch.randn(size),), {}


TORCHVISION: dict[str, Callable[[Size], Built]] = {
    "alexnet": image_model("alexnet", num_classes=10),
    "vgg11_bn": image_model("vgg11_bn", num_classes=10),
    "resnet18": image_model("resnet18", num_classes=10),
    "resnet50": image_model("resnet50", num_classes=10),
    "densenet121": image_model("densenet121", num_classes=10),
    "inception_v3": image_model(
        "inception_v3", num_classes=10, init_weights=False, aux_logits=False, transform_input=True
    ),
    "googlenet": image_model("googlenet", num_classes=10, init_weights=False),
    "mobilenet_v3_small": image_model("mobilenet_v3_small", num_classes=10),
    "efficientnet_b0": image_model("efficientnet_b0", num_classes=10),
    "shufflenet_v2_x0_5": image_model("shufflenet_v2_x0_5", num_classes=10),
    "squeezenet1_1": image_model("squeezenet1_1", num_classes=10),
    "regnet_y_400mf": image_model("regnet_y_400mf", num_classes=10),
    "convnext_tiny": image_model("convnext_tiny", num_classes=10),
    "vit_b_32": vit,
    "swin_t": swin,
    "swin_v2_t": swin_v2,
    "maxvit_t": maxvit,
    "fasterrcnn_mobilenet_v3_large_320_fpn": detector(
        "fasterrcnn_mobilenet_v3_large_320_fpn", min_size=96, max_size=96
    ),
    "retinanet_resnet50_fpn": detector("retinanet_resnet50_fpn", min_size=64, max_size=64),
    "ssdlite320_mobilenet_v3_large": detector("ssdlite320_mobilenet_v3_large"),
    "maskrcnn_resnet50_fpn": detector_in_training,
    "deeplabv3_mobilenet_v3_large": segmenter("deeplabv3_mobilenet_v3_large", aux_loss=True),
    "lraspp_mobilenet_v3_large": segmenter("lraspp_mobilenet_v3_large"),
    "r3d_18": image_model("r3d_18", num_classes=10),
    "mvit_v2_s": video_transformer,
    "raft_small": flow,
}
