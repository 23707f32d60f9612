"""Draws the gallery: twelve networks as `draw()` shows them by default, into `docs/gallery/`, with a page beside them.

Run `python docs/gallery.py` in an environment with the `networks` group; `python docs/gallery.py unet moe` draws only those.
No weights are loaded: sizes are small, structures are those of the libraries.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import timm
import torch
import torchvision
import transformers
from torch import nn

import tl_torch as tl

FOLDER = Path(__file__).with_name("gallery")

Inputs = torch.Tensor | dict[str, object]
"""What a model is called with: one tensor, or arguments by name."""


class DoubleConv(nn.Module):
    """Two convolutions with their norms."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width_out, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(width_out)
        self.conv2 = nn.Conv2d(width_out, width_out, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(width_out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(x)))


class UNet(nn.Module):
    """Four steps down, four up, with a skip between equal sizes."""

    def __init__(self) -> None:
        super().__init__()
        widths = [16, 32, 64, 128]
        self.down = nn.ModuleList(DoubleConv(a, b) for a, b in zip([3, *widths], widths, strict=False))
        self.pool = nn.MaxPool2d(2)
        self.middle = DoubleConv(128, 256)
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, 2) for width in reversed(widths))
        self.join = nn.ModuleList(DoubleConv(2 * width, width) for width in reversed(widths))
        self.head = nn.Conv2d(16, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for up, join, skip in zip(self.up, self.join, reversed(skips), strict=True):
            x = join(torch.cat([skip, up(x)], 1))
        return self.head(x)


class Tagger(nn.Module):
    """Embedding, LSTM of two layers, classifier on the last step."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.lstm = nn.LSTM(32, 64, 2, batch_first=True)
        self.head = nn.Linear(64, 5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.embed(tokens))
        return self.head(states[:, -1])


class GruLoop(nn.Module):
    """A GRU cell in a Python loop over the steps of its input."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = x.new_zeros(x.shape[0], 16)
        for step in range(x.shape[1]):
            h = self.cell(x[:, step], h)
        return self.head(h)


def _tokens(length: int, vocabulary: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, (1, length))


def _gpt2(layers: int, *, cache: bool) -> tuple[nn.Module, Inputs]:
    """Return the model and its tokens; with a cache, four new ones and the keys and values of sixteen before."""
    config = transformers.GPT2Config(
        n_layer=layers, n_embd=96, n_head=4, vocab_size=1000, bos_token_id=0, eos_token_id=0, use_cache=cache
    )
    model, tokens = transformers.GPT2LMHeadModel(config).eval(), _tokens(16, 1000)
    if not cache:
        return model, tokens
    with torch.no_grad():
        past = model(tokens).past_key_values
    return model, {"input_ids": _tokens(4, 1000), "past_key_values": past}


def _moe() -> tuple[nn.Module, torch.Tensor]:
    config = transformers.MixtralConfig(
        vocab_size=500, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=8, use_cache=False, experts_implementation="batched_mm",
    )  # fmt: skip
    return transformers.MixtralForCausalLM(config), _tokens(12, 500)


def _mamba() -> tuple[nn.Module, torch.Tensor]:
    config = transformers.MambaConfig(
        vocab_size=500, hidden_size=64, state_size=8, num_hidden_layers=6, use_cache=False
    )
    return transformers.MambaForCausalLM(config), _tokens(12, 500)


NETWORKS = {
    "resnet50": ("ResNet-50", lambda: (torchvision.models.resnet50(), torch.randn(1, 3, 64, 64))),
    "densenet121": ("DenseNet-121", lambda: (torchvision.models.densenet121(), torch.randn(1, 3, 64, 64))),
    "gpt2-12": ("GPT-2, 12 layers", lambda: _gpt2(12, cache=False)),
    "gpt2-48": ("GPT-2, 48 layers", lambda: _gpt2(48, cache=False)),
    "gpt2-12-cache": ("GPT-2, 12 layers, with the keys and values of earlier tokens", lambda: _gpt2(12, cache=True)),
    "vit": ("ViT", lambda: (timm.create_model("vit_tiny_patch16_224"), torch.randn(1, 3, 224, 224))),
    "swin": ("Swin", lambda: (torchvision.models.swin_t(), torch.randn(1, 3, 64, 64))),
    "unet": ("U-Net", lambda: (UNet(), torch.randn(1, 3, 64, 64))),
    "lstm": ("LSTM", lambda: (Tagger(), _tokens(20, 100))),
    "gru-500": ("GRU loop of 500 steps", lambda: (GruLoop(), torch.randn(2, 500, 8))),
    "moe": ("Mixture of experts (Mixtral, experts batched)", _moe),
    "mamba": ("Mamba", _mamba),
}
"""Name of the file -> what it shows, and a function that makes the model and its input."""


LEGEND = """\
What `trace.draw()` shows by default. Made by `python docs/gallery.py`; the networks have small sizes and random weights.
Each picture has a legend of its signs; this table is the long version.

| Sign | What it means |
|---|---|
| `Bottleneck ×3, ×4, ×6, ×3 · 25.6M params in all`, `GRUCell ×500 rounds, same weights` | the line under the title: the blocks that the \
network is made of, and how many stand in each row. Blocks inside of blocks are not named; where there are no blocks, layers are counted |
| `most params: layer4 (Bottleneck ×3) 15M (59%) · layer3 (Bottleneck ×6) 7.1M (28%)` | the boxes and frames that hold most of the parameters, all copies together; where \
one frame or stack holds nearly all, what stands in it |
| `branches join: add_ in each Bottleneck` | the line below: where tensors meet that have passed different parameters, or come from different \
inputs; each in the innermost module or function that is drawn around it, as a frame or as a box. Attention and products of two tensors \
count always, as does what a loop carries where it meets what is new |
| `cat at the end of each _DenseBlock` | the last op of each |
| `mul by silu`, `bmm with chosen experts`, `mul by router weights` | what a join is for: a product with an activation that nothing else reads, as in `silu(gate) * up`; one with the weights of the experts that were chosen (`topk`), and one with the weights of the router. The box says so, too, and in a loop `input with state` |
| `no branches join inside` | a closed box that several tensors enter and leave, and in which no branches join |
| `attention matmul ×2` | the two products of attention that is written out, with a softmax between them |
| `cat in all but the first _DenseLayer of each _DenseBlock` | in these modules and \
in no others |
| `in each of the 4 steps of up.0…3, join.0…3`, `2 before its loop, 3 in each of 12 rounds, 2 after it` | of a row of several modules that is drawn once; before \
a loop, in it and after it. A network without a place where branches join has `no branches` |
| tinted box | holds parameters; how many stands in it. Inputs and outputs are round |
| `add pos_embed`, `parameter (1, 197, 192)` | an op that reads a parameter itself, and the shape of that parameter; one that reads \
several of one owner has the name of the owner: `qkv`, and `linear` below it |
| `Conv2d · 3×3`, `top 2 of 8` | what the arguments of a call say about its size |
| dark bar, pale bar | branches join; tensors of one branch meet, as in activations, norms and rotations, or pieces of one tensor, or one meets a mask or a parameter. Two or more tensors arrive: on several lines, on one line that carries several, or as pieces of one tensor that the box takes \
itself (`getitem ×4 → cat`). Parameters, buffers, constants and one tensor read twice do not count |
| `joins: add_ ×4` | a closed box says which ops join branches inside of it, in one copy. It has a dark bar where two tensors enter it as well |
| `joins: cat ×12 of 13`, `joins in all but the first` | some lists hold one tensor, which joins nothing: one of 13 in a closed box; \
that of the first copy of a stack |
| `+` in a corner | a closed box: a module, or several ops, with more inside than is drawn |
| `Conv2d ×2, BatchNorm2d ×2, relu ×2`, `mul ×2, pow, mean, add and 3 more` | what a closed box holds: first what has \
parameters, then attention, products of matrices, what joins two tensors, and the rest; views and casts come last. `and 3 more` are \
three more calls, so that the numbers add up |
| `apply_rotary_pos_emb()` | what a function of the code computed, as a closed box or as a frame |
| `Sequential of Bottleneck ×3` | a frame whose class says nothing: what it holds |
| `like features.1.0`, `and roll ×2, add, masked_fill ×2 and 22 more` | a closed box that holds the same modules as an open one above, \
and few other ops: those that it has beyond that one, or does without |
| `Bottleneck ×4, first differs` | a closed box of blocks of one class, of which the first has another form than the others |
| purple stack, `×12 own weights` | equal neighbours, drawn once; each has weights of its own |
| `≈×6 own weights, each reads all before`, `128…448 params ×6` | neighbours that are equal up to sizes: what the first has, \
and what the last has; every one of these reads the outputs of all before it |
| `112k params ×12 blocks · 1.34M in all`, `147k params ×4 layers`, `384 params ×12`, `20 ops ×12` | so many in one copy, 12 times \
because there are 12 copies; in all copies together. A frame says what the copies are, where their class is named so. A number \
without `×` counts everything |
| `(1, 4, 12, 16), (1, 2, 12, 16)` | shapes of the tensors that leave a closed box, where they are not all the same |
| `×500 rounds, same weights` | a loop, with the same weights in each round; orange lines lead to the next round, `t` is the number of the round |
| `MixtralExperts · 8 experts` | a module of experts whose weights stand in one tensor each: how many there are, where the sizes agree with \
the number that the run chooses from (`top 2 of 8`) |
| `lstm()` | an op in the frame of a module of the same name |
| `= transformer.wte.weight` | reads a parameter of another module, which is counted there |
| `view → Conv1D → view`, `split → view → transpose` | views that lead to an op, or follow it, drawn in its box; the op stands in its place |
| `2: getitem [1] → transpose`, `parameter: expand` | views that lead to an op of several tensors: \
which argument they prepare, or a parameter; `1: getitem [tensor] of the parameter`: the line numbered 1 brings what is taken of it. Views that follow the op have a line of their own |
| `getitem [:, -1]`, `getitem [tensor]` | the part that is taken: by place, or by a tensor of places or of truth values |
| `3 outputs`, `split 2/3`, `topk values` | one call with several outputs: all of them, or the one that the box stands for |
| `3 tensors`, `12 tensors, all rounds`, `12 tensors, all keys` at a line | one line carries so many to its box; which, where that is not \
one of each copy or output that it comes from: of every round, or all inputs or outputs of one name |
| `4 parts` at a line | the box takes so many parts of the one tensor, and these meet |
| `1…6 tensors, all before` | each copy reads the outputs of all copies before it: the first one tensor, the last six |
| other purple words at a line: `last round`, `first round`, `every round`, `same for all 12`, `own keys`, \
`×4, in reverse`, `last (1, 128, 4, 4)` | which copies or rounds give or read the tensor where it is not simply \
the last and the first, and what the last gives where its size is another; `same for all 12`: the same enters every copy; `own keys`: every copy reads \
a tensor of its own, of the inputs of that name; `in reverse` pairs the last copy of one stack with the first of the other |
| bridge | two lines that cross; lines that join have no bridge |
| small numbers at the tips of lines | which argument of the op a tensor is, where the order matters; `q`, `k`, `v`, and `m` for \
the mask, in attention; `q,k` and `2,3` where one line carries several |
| dashed box, `that no output depends on` | ops whose results reach no output in this run |
| `reads no input value`, `makes the mask` | made from sizes alone, or from nothing: positions, tables, masks; lines that would only carry a size are \
not drawn |

An op is one call of a function: one with several outputs counts once, a call in a loop counts every time, and inputs, outputs and
buffers do not count. An item is one box; items are counted as they are drawn, inputs and outputs among them.
"""


def trace(name: str) -> tl.Trace:
    """Return the trace of a network of the gallery."""
    torch.manual_seed(0)
    model, inputs = NETWORKS[name][1]()
    given, named = ((), inputs) if isinstance(inputs, dict) else (inputs, None)
    return tl.trace(model.eval(), given, named, save="none", name=name)


def main(names: list[str]) -> None:
    """Draw the named networks, or all, and write the page when all were drawn."""
    FOLDER.mkdir(exist_ok=True)
    page = [
        "# Gallery\n",
        LEGEND,
    ]
    for name in names or NETWORKS:
        recorded = trace(name)
        start = time.perf_counter()
        drawing = recorded.draw()
        drawing.save(FOLDER / f"{name}.svg")
        took = time.perf_counter() - start
        print(f"{name}: {drawing.notes[0]}, {took:.3f} s")
        page += [
            f"## {NETWORKS[name][0]}\n",
            f"{drawing.notes[0].partition(' · ')[0]}.\n",
            f"![{NETWORKS[name][0]}](gallery/{name}.svg)\n",
        ]
    if not names:
        FOLDER.with_suffix(".md").write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
