"""The line under the title says which blocks a network is made of; the expected lines are written down by hand."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from columns import DEFAULTS, load
from recorder import Recorder

from tl_viz._compose.made import made_of
from tl_viz._display import MARGIN
from tl_viz._draw import picture
from tl_viz._read import read
from tl_viz._write.pdf import to_pdf


def made(trace, **options):
    return trace.draw(**options).scene.made


def block(run, address, class_name, x, layers=2, width=8):
    """Run a block of linear layers, each with `width` squared parameters."""
    with run.module(address, class_name):
        for index in range(layers):
            x = run.layer(f"{address}.{index}", "Linear", "linear", x, size=(width, width))
    return x


@pytest.mark.parametrize(
    ("name", "said"),
    [
        # He et al. 2015, table 1, and 25,557,032 parameters
        ("resnet50", "Bottleneck ×3, ×4, ×6, ×3 · 25.6M params in all"),
        # Huang et al. 2016, table 1: four dense blocks and a transition between each two; 7,978,856 parameters
        ("densenet121", "_DenseLayer ×6, ×12, ×24, ×16 · _Transition ×3 · 7.98M params in all"),
        # Liu et al. 2021: Swin-T, patches merged between the stages; 28,288,354 parameters
        ("swin", "SwinTransformerBlock ×2, ×2, ×6, ×2 · PatchMerging ×3 · 28.3M params in all"),
        ("gpt2-12", "GPT2Block ×12 · 1.54M params in all"),
        ("gpt2-48", "GPT2Block ×48 · 5.56M params in all"),
        ("vit", "Block ×12 · 5.72M params in all"),  # 5,717,416
        ("moe", "MixtralDecoderLayer ×4 · 8 experts in each MixtralExperts · 706k params in all"),
        ("mamba", "MambaBlock ×6 · 210k params in all"),
        # down and up there are four, and one in the middle
        ("unet", "DoubleConv ×4, ×1, ×4 · 1.94M params in all"),
        # 3 * 16 * (8 + 16) + 2 * 48 of the cell, 16 * 4 + 4 of the head
        ("gru-500", "GRUCell ×500 rounds, same weights · 1.32k params in all"),
        ("lstm", "LSTM, 2 layers · 61.9k params in all"),
    ],
)
def test_known_networks(name, said):
    assert picture(load(name), DEFAULTS).scene.made == said


def test_stages_are_looked_into_and_blocks_are_not():
    run = Recorder()
    x = run.input()
    for stage, number in enumerate([1, 3, 2]):
        with run.module(f"stages.{stage}", "Stage"):
            for index in range(number):
                at = f"stages.{stage}.blocks.{index}"
                with run.module(at, "Wide"):
                    for part in range(2):
                        x = block(run, f"{at}.parts.{part}", "Part", x)
    # 6 blocks of 2 parts of 2 layers of 64
    assert made(run.done(x)) == "Wide ×1, ×3, ×2 · 1.54k params in all"


def test_blocks_whose_parts_are_layers_with_their_norms_are_no_stages():
    """The first block of a stage has one part more, which does not make it a stage of parts."""
    run = Recorder()
    x = run.input()
    for stage, number in enumerate([1, 1, 4]):
        with run.module(f"s{stage}", "Stage"):
            for index in range(number):
                with run.module(f"s{stage}.b{index}", "Block"):
                    for part in range(3 + (index == 0)):
                        x = block(run, f"s{stage}.b{index}.conv{part}", "ConvNorm", x)
    # 3 * 4 + 3 * 3 parts of 2 layers of 64
    assert made(run.done(x)) == "Block ×1, ×1, ×4 · 2.69k params in all"


def test_an_encoder_and_a_decoder_of_one_class_are_looked_into():
    run = Recorder()
    x = run.input()
    for stack in ("encoder", "decoder"):
        with run.module(stack, "Stack"):
            for index in range(2):
                at = f"{stack}.block.{index}"
                with run.module(at, "Block"):
                    for part in ("attention", "feed"):
                        with run.module(f"{at}.{part}", "Layer"):
                            x = block(run, f"{at}.{part}.inner", "Inner", x)
            x = run.layer(f"{stack}.norm", "LayerNorm", "layer_norm", x, size=(8,))
    # 4 blocks of 2 parts of 2 layers of 64, and 2 norms of 8
    assert made(run.done(x)) == "Block ×2, ×2 · 1.04k params in all"


def test_stages_of_different_blocks_are_looked_into_and_blocks_stand_before_layers():
    run = Recorder()
    x = run.input()
    for stage, (name, number) in enumerate([("Conv", 2), ("Conv", 3), ("Attention", 5)]):
        with run.module(f"stages.{stage}", "Stage"):
            x = block(run, f"stages.{stage}.down", "Down", x)
            for index in range(number):
                x = block(run, f"stages.{stage}.{index}", name, x, layers=3)
    # 10 blocks of 3 layers of 64, and 3 of 2
    assert made(run.done(x)) == "Conv ×2, ×3 · Attention ×5 · Down ×3 · 2.3k params in all"


def test_blocks_that_take_turns_are_counted_together():
    run = Recorder()
    x = run.input()
    for index in range(3):
        x = block(run, f"parts.{2 * index}", "Mix", x)
        x = block(run, f"parts.{2 * index + 1}", "Feed", x, layers=1)
    assert made(run.done(x)) == "Mix ×3 · Feed ×3 · 576 params in all"


def test_a_class_that_stands_inside_of_blocks_too_is_not_named_beside_them():
    run = Recorder()
    x = block(run, "first", "Unit", run.input(), layers=1)
    for index in range(3):
        with run.module(f"blocks.{index}", "Deep"):
            x = block(run, f"blocks.{index}.unit", "Unit", x, layers=1)
    x = block(run, "last", "Unit", x, layers=1)
    assert made(run.done(x)) == "Deep ×3 · 320 params in all"  # there are five units, two of them beside the blocks


def test_without_blocks_layers_are_counted():
    run = Recorder()
    x = run.layer("a", "Linear", "linear", run.input(), size=(8, 8))
    x = run.layer("act", "ReLU", "relu", x)
    x = run.layer("b", "Linear", "linear", x, size=(8, 8))
    x = run.layer("norm", "LayerNorm", "layer_norm", x, size=(8,))
    assert made(run.done(x)) == "Linear ×2 · 136 params in all"


def test_one_of_each_says_only_the_parameters():
    run = Recorder()
    x = run.layer("a", "Linear", "linear", run.input(), size=(8, 8))
    assert made(run.done(run.layer("act", "ReLU", "relu", x))) == "64 params in all"


def test_without_modules_ops_are_counted():
    run = Recorder()
    x = run.op("relu", run.input())
    assert made(run.done(run.op("exp", x))) == "2 ops · no params"
    run = Recorder()
    assert made(run.done(run.op("linear", run.input(), params=[("weight", (8, 8))]))) == "1 op · 64 params in all"


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
def test_a_module_that_runs_again_has_the_same_weights(view):
    run = Recorder()
    x = run.input()
    for _ in range(5):
        x = block(run, "layer", "Layer", x)
    assert made(run.done(x), view=view) == "Layer ×5 rounds, same weights · 128 params in all"


@pytest.mark.parametrize("view", ["rolled", "unrolled"])
def test_several_modules_that_each_run_again(view):
    run = Recorder()
    x = run.input()
    for _ in range(4):
        for index in range(2):
            x = run.layer(f"cells.{index}", "Cell", "gru_cell", x, size=(8, 8))
    assert made(run.done(x), view=view) == "Cell ×2, 4 rounds each, same weights · 128 params in all"


def test_many_kinds_and_many_rows_are_cut():
    run = Recorder()
    x = run.input()
    for kind in "ABCDEF":
        for index in range(2):
            x = block(run, f"{kind}.{index}", kind, x)
    assert made(run.done(x)) == "A ×2 · B ×2 · C ×2 · D ×2 · 2 more kinds · 1.54k params in all"
    run = Recorder()
    x = run.input()
    for row in range(9):
        for index in range(2):
            x = block(run, f"row{row}.{index}", "A", x)
    assert made(run.done(x)) == "A ×18 in 9 groups · 2.3k params in all"


def test_one_module_alone():
    run = Recorder()
    x = block(run, "stem", "Stem", run.input(), layers=1)
    with run.module("body", "Body"):
        for index in range(3):
            x = block(run, f"body.{index}", "Layer", x)
    trace = run.done(x)
    assert made(trace) == "Layer ×3 · 448 params in all"
    assert made(trace, module="body") == "Layer ×3 · 384 params in all"
    assert made(trace, module="stem") == "64 params in all"


def test_the_plan_and_names_of_modules_change_nothing():
    network = load("resnet50")
    lines = {
        picture(network, replace(DEFAULTS, collapse=mode, fold_repeats=mode != "none")).scene.made
        for mode in ("auto", "none", "max")
    }
    calls = [
        replace(call, address="".join(chr(ord(one) + 1) if one > "9" else one for one in call.address))
        for call in network.calls
    ]
    assert lines == {made_of(replace(network, calls=calls))}


def test_a_module_that_reads_parameters_of_another():
    run = Recorder()
    x = run.layer("a", "Linear", "linear", run.input(), size=(8, 8))
    with run.module("b", "Tied"):
        x = run.op("linear", x, params=[("a.weight", (8, 8))])
    assert made(run.done(x), module="b") == "1 op · no params of its own"


def test_parameters_that_no_op_reads_are_told():
    run = Recorder()
    run._param("spare.weight", (3, 5))
    x = run.layer("a", "Linear", "linear", run.input(), size=(8, 8))
    trace = run.done(x)
    assert made(trace) == "64 params read, 15 not read"
    assert made(trace, module="a") == "1 op · 64 params in all"
    assert read(trace, DEFAULTS).unread == 15


def long_line(direction="topdown"):
    run = Recorder()
    x = run.input()
    for kind in ("A<&>Encoder", "BackgroundSeparationBlock", "ChromaticityEstimationBlock"):
        for index in range(2):
            x = block(run, f"{kind[0]}.{index}", kind, x)
    return run.done(x).draw(collapse="max", direction=direction)


@pytest.mark.parametrize("direction", ["topdown", "bottomup", "leftright", "rightleft"])
def test_the_picture_is_wide_enough_and_nothing_lies_on_the_line(direction):
    drawing = long_line(direction)
    said = "A<&>Encoder ×2 · BackgroundSeparationBlock ×2 · ChromaticityEstimationBlock ×2 · 768 params in all"
    (group,) = (group for group in drawing._display.groups if group.key == "made")
    (words,) = group.shapes
    assert words.text == said
    assert words.x == MARGIN
    assert words.x + words.width <= drawing.width - MARGIN
    (title,) = next(group for group in drawing._display.groups if group.key == "title").shapes
    assert title.y + 3 < words.y - words.size * 0.76  # below the title, above the graph
    top = min(rect.y for key, rect in drawing.geometry.rects.items() if key)
    (node,) = [group for group in drawing._display.groups if group.kind == "node"][:1]
    assert node.shapes[-2].y > words.y + 3
    assert top >= 0


def test_the_line_is_in_every_format():
    drawing = long_line()
    tree = ElementTree.fromstring(drawing.svg)
    assert any(
        (text.text or "").startswith("A<&>Encoder ×2 · ") for text in tree.iter("{http://www.w3.org/2000/svg}text")
    )
    assert b"(A<&>Encoder \\3272 \\267 BackgroundSeparationBlock" in to_pdf(drawing._display)  # octal of × and ·
    assert 'label="Net\\lA<&>Encoder ×2 · BackgroundSeparationBlock ×2' in drawing.dot
