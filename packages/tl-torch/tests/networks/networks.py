"""The sixty networks that have to be traced without an error or a warning.

Weights are random and come from a configuration, so nothing is downloaded. A name leaves this list only with a
reason and a count in `WITHDRAWN`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Library = Literal["torchvision", "timm", "transformers"]


@dataclass(frozen=True, slots=True)
class Network:
    """One network of the list."""

    name: str
    library: Library
    size: tuple[int, ...]
    """Shape of the main input: an image batch, a clip, a waveform, or tokens."""
    mode: Literal["eval", "train"]
    values: bool
    """Whether every payload is compared with what a dispatch-level recording sees."""


EVERY_VALUE = True

NETWORKS = (
    # Classification, from torchvision
    Network("alexnet", "torchvision", (1, 3, 64, 64), "train", EVERY_VALUE),
    Network("vgg11_bn", "torchvision", (2, 3, 32, 32), "train", False),
    Network("resnet18", "torchvision", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("resnet50", "torchvision", (2, 3, 64, 64), "train", EVERY_VALUE),
    Network("densenet121", "torchvision", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("inception_v3", "torchvision", (2, 3, 128, 128), "train", False),
    Network("googlenet", "torchvision", (2, 3, 64, 64), "train", EVERY_VALUE),
    Network("mobilenet_v3_small", "torchvision", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("efficientnet_b0", "torchvision", (2, 3, 64, 64), "train", EVERY_VALUE),
    Network("shufflenet_v2_x0_5", "torchvision", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("squeezenet1_1", "torchvision", (1, 3, 64, 64), "eval", False),
    Network("regnet_y_400mf", "torchvision", (1, 3, 64, 64), "eval", False),
    Network("convnext_tiny", "torchvision", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("vit_b_32", "torchvision", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("swin_t", "torchvision", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("swin_v2_t", "torchvision", (1, 3, 64, 64), "train", False),
    Network("maxvit_t", "torchvision", (1, 3, 64, 64), "eval", EVERY_VALUE),
    # Detection, segmentation, video and optical flow, from torchvision
    Network("fasterrcnn_mobilenet_v3_large_320_fpn", "torchvision", (3, 96, 96), "eval", EVERY_VALUE),
    Network("retinanet_resnet50_fpn", "torchvision", (3, 64, 64), "eval", False),
    Network("ssdlite320_mobilenet_v3_large", "torchvision", (3, 96, 96), "eval", False),
    Network("maskrcnn_resnet50_fpn", "torchvision", (3, 64, 64), "train", False),
    Network("deeplabv3_mobilenet_v3_large", "torchvision", (2, 3, 64, 64), "eval", False),
    Network("lraspp_mobilenet_v3_large", "torchvision", (2, 3, 64, 64), "train", EVERY_VALUE),
    Network("r3d_18", "torchvision", (1, 3, 4, 32, 32), "eval", EVERY_VALUE),
    Network("mvit_v2_s", "torchvision", (1, 3, 4, 32, 32), "eval", False),
    Network("raft_small", "torchvision", (1, 3, 128, 128), "eval", False),
    # Images, from timm
    Network("mixer_s32_224", "timm", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("coatnet_nano_rw_224", "timm", (1, 3, 64, 64), "eval", False),
    Network("xcit_nano_12_p16_224", "timm", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("levit_128s", "timm", (2, 3, 64, 64), "eval", False),
    Network("mobilevit_xxs", "timm", (1, 3, 64, 64), "eval", EVERY_VALUE),
    Network("ghostnet_050", "timm", (1, 3, 64, 64), "eval", False),
    Network("res2net50_14w_8s", "timm", (2, 3, 64, 64), "train", False),
    Network("repvgg_a0", "timm", (1, 3, 64, 64), "eval", False),
    Network("halonet26t", "timm", (1, 3, 256, 256), "eval", False),
    Network("convnextv2_atto", "timm", (1, 3, 64, 64), "eval", False),
    # Text, from transformers
    Network("gpt2", "transformers", (2, 12), "eval", EVERY_VALUE),
    Network("llama", "transformers", (2, 12), "train", EVERY_VALUE),
    Network("mistral", "transformers", (1, 12), "eval", False),
    Network("gemma2", "transformers", (1, 12), "eval", EVERY_VALUE),
    Network("mixtral", "transformers", (1, 8), "eval", EVERY_VALUE),
    Network("mamba", "transformers", (1, 10), "eval", EVERY_VALUE),
    Network("rwkv", "transformers", (1, 8), "eval", EVERY_VALUE),
    Network("bert", "transformers", (2, 12), "train", EVERY_VALUE),
    Network("albert", "transformers", (1, 12), "eval", EVERY_VALUE),
    Network("deberta_v2", "transformers", (1, 12), "eval", False),
    Network("longformer", "transformers", (1, 16), "eval", False),
    Network("xlnet", "transformers", (1, 12), "eval", False),
    Network("t5", "transformers", (2, 10), "train", EVERY_VALUE),
    Network("bart", "transformers", (1, 10), "eval", EVERY_VALUE),
    # Speech, images, both together and time series, from transformers
    Network("whisper", "transformers", (1, 80, 64), "eval", EVERY_VALUE),
    Network("wav2vec2", "transformers", (1, 3200), "train", False),
    Network("speecht5", "transformers", (1, 10), "eval", False),
    Network("encodec", "transformers", (1, 1, 1280), "eval", False),
    Network("clip", "transformers", (1, 3, 32, 32), "eval", EVERY_VALUE),
    Network("detr", "transformers", (1, 3, 64, 64), "eval", False),
    Network("segformer", "transformers", (1, 3, 64, 64), "eval", False),
    Network("llava", "transformers", (1, 3, 32, 32), "eval", False),
    Network("perceiver", "transformers", (1, 16), "eval", False),
    Network("time_series_transformer", "transformers", (2, 17), "train", False),
)

WITHDRAWN: dict[str, str] = {}
"""Names that left the list, each with its reason."""
