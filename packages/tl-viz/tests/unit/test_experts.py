"""A module of experts says how many there are, where sizes and the run tell."""

from __future__ import annotations

import pytest
from columns import DEFAULTS, load
from recorder import Recorder
from said import titles

from tl_viz._draw import picture


def routed(class_name="MixExperts", sizes=((8, 4, 6), (8, 6, 4)), chosen=8):
    """A choice of two out of some, and a module with parameters of these sizes."""
    run = Recorder()
    x = run.input()
    run_scores = run.op("softmax", x, shape=(1, chosen))
    best = run.op("topk", run_scores, shape=(1, 2), args=(run_scores, 2))
    with run.module("experts", class_name):
        for number, size in enumerate(sizes):
            x = run.op("bmm", x, best, params=[(f"experts.w{number}", size)])
        x = run.op("relu", x)
    return titles(run.done(x).draw(collapse="none", fold_repeats=False), 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "experts MixExperts · 8 experts"),
        ({"class_name": "Mixture"}, "experts Mixture"),  # a class that does not say so
        ({"sizes": ((8, 4, 6), (4, 6, 4))}, "experts MixExperts"),  # sizes that do not agree
        ({"sizes": ((8, 4, 6),)}, "experts MixExperts"),  # of one tensor it is not plain
        ({"chosen": 4}, "experts MixExperts"),  # no op chooses among eight
    ],
)
def test_experts_are_counted_where_everything_agrees(given, said):
    assert routed(**given) == [said]


def test_the_gallery_says_how_many():
    found = titles(picture(load("moe"), DEFAULTS), 2)
    assert "experts MixtralExperts · 8 experts" in found


def test_the_line_under_the_title_says_how_many_too():
    assert picture(load("moe"), DEFAULTS).scene.made == (
        "MixtralDecoderLayer ×4 · 8 experts in each MixtralExperts · 706k params in all"
    )
