"""Where most parameters are said to be. The expected numbers are those of the layers, multiplied by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from columns import DEFAULTS, load, names
from recorder import Recorder

from tl_viz._display import Bar, Words
from tl_viz._draw import picture


def heavy(drawing):
    return drawing.scene.heavy


@pytest.mark.parametrize(
    ("name", "said"),
    [
        # fc holds 2,049,000 of 25,557,032; layer4 14,964,736, layer3 7,098,368
        ("resnet50", "layer4 (Bottleneck ×3) 15M (59%) · layer3 (Bottleneck ×6) 7.1M (28%)"),
        # the blocks hold 87 % together, so that their parts are told of: 74,176 and 37,248 in each of 12
        ("gpt2-12", "mlp of all 12 blocks 890k (58%) · attn of all 12 blocks 447k (29%)"),
        ("gpt2-48", "mlp of all 48 blocks 3.56M (64%) · attn of all 48 blocks 1.79M (32%)"),
        ("densenet121", "denseblock3 2.84M (36%) · denseblock4 2.16M (27%) · classifier 1.02M (13%)"),
        ("unet", "middle 886k (46%) · up.0…3, join.0…3 763k (39%)"),
        ("lstm", "lstm 58.4k (94%)"),
        # what the module around the experts holds more is 512 in the router
        ("moe", "experts of all 4 layers 590k (84%)"),
        ("mamba", "mixer of all 6 blocks 177k (85%)"),
        # a module around the stack of blocks says no more than the stack; a loop no more than the cell in it
        ("vit", "mlp of all 12 blocks 3.55M (62%) · attn of all 12 blocks 1.78M (31%)"),
        ("gru-500", "cell 1.25k (95%)"),
    ],
)
def test_known_networks(name, said):
    assert heavy(picture(load(name), DEFAULTS)) == said


def network(sizes, module="Linear"):
    """Linear layers one after the other, each with so many parameters."""
    run = Recorder()
    x = run.input("x")
    for number, size in enumerate(sizes):
        with run.module(f"l{number}", module):
            x = run.op("linear", x, params=[(f"l{number}.weight", (size,))])
    return run.done(x)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((), ""),
        ((7,), ""),  # one box holds them all, and is coloured
        ((90, 10), "l0 90 (90%)"),
        ((50, 10, 40), "l0 50 (50%) · l2 40 (40%)"),
        ((25, 25, 25, 25), "l0 25 (25%) · l1 25 (25%) · l2 25 (25%)"),  # three are named
        ((79, 3, 3, 3, 3, 3, 3, 3), "l0 79 (79%)"),  # what holds less than a twentieth is not
    ],
)
def test_boxes_are_named_until_they_hold_most(sizes, said):
    assert heavy(network(sizes).draw(fold_repeats=False, collapse="none")) == said


@pytest.mark.parametrize("frames", [True, False])
@pytest.mark.parametrize("mode", ["none", "auto", "max"])
@pytest.mark.parametrize("name", names())
def test_what_is_named_is_drawn_and_holds_no_more_than_there_is(name, mode, frames):
    drawing = picture(load(name), replace(DEFAULTS, collapse=mode, show_containers=frames))
    said = heavy(drawing)
    shares = [int(part.rpartition("(")[2].rstrip("%)")) for part in said.split(" · ")] if said else []
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 101
    titles = {node.rows[0].text for node in drawing.scene.nodes()} | {
        box.title[0].text for box in drawing.scene.boxes() if box.title
    }
    for part in said.split(" · ") if said else ():
        words = part.rpartition(" (")[0].rpartition(" ")[0].partition(" (")[0].partition(" of all ")[0]
        assert any(words.endswith(title) for title in titles), part


def test_the_line_stands_under_the_title_with_the_sign_of_parameters():
    drawing = picture(load("resnet50"), DEFAULTS)
    group = next(group for group in drawing._display.groups if group.key == "heavy")
    box, words = group.shapes
    assert isinstance(box, Bar)
    assert box.fill == DEFAULTS.theme.learned[0]
    assert isinstance(words, Words)
    assert words.text == "most params: layer4 (Bottleneck ×3) 15M (59%) · layer3 (Bottleneck ×6) 7.1M (28%)"
    above, below = (
        next(group for group in drawing._display.groups if group.key == key).shapes[-1].y for key in ("made", "joins")
    )
    assert above < words.y < below
    assert words.text in drawing.dot
