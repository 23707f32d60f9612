"""Which copies of a stack and which rounds of a loop a line comes from and goes to."""

from __future__ import annotations

import pytest
from columns import DEFAULTS, load
from nets import dense, recurrent, transformer
from recorder import Recorder, padded
from sourced import here

from tl_viz._display import Words
from tl_viz._draw import picture
from tl_viz._ends import place_ends
from tl_viz._layout import Rect, Room, Wish
from tl_viz._layout.geometry import Geometry, Line
from tl_viz._scene import Box, Edge, Node, Scene, TextRow
from tl_viz._write.pdf import to_pdf


def ends(drawing):
    """Source and target of every line with a text at its end -> that text."""
    return {
        (edge.source, target): text
        for edge in drawing.scene.edges
        for target, text in zip(edge.targets, edge.ends, strict=bool(edge.ends))
        if text
    }


def blocks(run, x, number, *more, name="h"):
    """`number` blocks in a row, each of which also reads `more`; returns what each of them gives."""
    given = []
    for index in range(number):
        at = f"{name}.{index}"
        with run.module(at, "Block"):
            y = run.layer(f"{at}.fc", "Linear", "linear", x, size=(8, 8))
            y = run.op("relu", y)
            for other in more:
                y = run.op("mul", y, other)
        x = y
        given.append(x)
    return given


def test_a_plain_chain_says_nothing():
    run = Recorder()
    given = blocks(run, run.op("exp", run.input()), 5)
    assert ends(run.done(run.op("tanh", given[-1])).draw()) == {}


def test_a_stack_of_other_sizes_says_what_its_last_copy_gives():
    """The picture shows the first of three blocks, which gives 8 numbers; the third gives 32."""
    run = Recorder()
    x = run.op("exp", run.input())
    for index, width in enumerate((8, 16, 32)):
        at = f"h.{index}"
        with run.module(at, "Block"):
            x = run.layer(f"{at}.fc", "Linear", "linear", x, shape=(1, width), size=(width, 8))
            x = run.op("relu", x, shape=(1, width))
    assert list(ends(run.done(run.op("tanh", x, shape=(1, 32))).draw()).values()) == ["last (1, 32)"]


def test_what_every_copy_reads_is_the_same_for_all():
    run = Recorder()
    x = run.input()
    scale = run.op("sigmoid", x)
    given = blocks(run, run.op("exp", x), 5, scale)
    assert list(ends(run.done(run.op("tanh", given[-1])).draw()).values()) == ["same for all 5"]


def test_what_all_copies_give_says_how_many():
    run = Recorder()
    given = blocks(run, run.op("exp", run.input()), 5)
    trace = run.done(run.op("stack", *given))
    assert list(ends(trace.draw()).values()) == ["5 tensors"]


def test_copies_in_pairs_say_in_which_order():
    for order, text in ((1, "one per copy"), (-1, "×4, in reverse")):
        run = Recorder()
        given = blocks(run, run.op("exp", run.input()), 4, name="down")
        x = run.op("tanh", given[-1])
        for index, skip in enumerate(given[::order]):
            at = f"up.{index}"
            with run.module(at, "Up"):
                x = run.op("cat", run.layer(f"{at}.fc", "Linear", "linear", x, size=(8, 8)), skip)
                x = run.op("sigmoid", x)
        assert list(ends(run.done(run.op("sqrt", x)).draw()).values()) == [text]


def test_a_loop_says_which_round_it_begins_and_ends_with():
    assert list(ends(recurrent(20).draw()).values()) == [
        "same for all 20",  # the slices are no layer of the loop: the recorder knows no lines of code
        "one per round",
        "first round",
        "last round",
    ]


def test_a_loop_whose_rounds_are_all_read_says_all():
    run = Recorder()
    x = run.input((2, 6, 8))
    h = run.op("zeros", x, shape=(2, 16))
    every = []
    for _ in range(6):
        now = run.op("__getitem__", x, shape=(2, 8))
        h = run.layer("cell", "GRUCell", "gru_cell", now, h, shape=(2, 16), size=(48, 24))
        every.append(h)
    found = ends(run.done(run.op("stack", *every, shape=(2, 6, 16))).draw())
    assert list(found.values()) == ["same for all 6", "one per round", "first round", "6 tensors, all rounds"]


def test_layers_that_read_all_before_read_the_input_of_their_block_each():
    assert set(ends(dense((6,)).draw()).values()) == {"6 tensors", "1…6 tensors, all before"}


def test_what_leaves_the_network_is_counted_by_tensors():
    """Twelve layers give a key and a value each."""
    assert "24 tensors, all 12 copies" in ends(transformer(12, cache=True).draw()).values()


def test_outputs_of_one_call_are_no_copies_that_read():
    run = Recorder()
    x = run.op("exp", run.input())
    parts = run.op("unbind", x, count=3)
    assert not any("same for" in text for text in ends(run.done(run.op("cat", *parts)).draw()).values())


def test_unrolled_pictures_and_open_stacks_say_nothing():
    assert ends(recurrent(6).draw(view="unrolled", fold_repeats=False)) == {}
    assert ends(dense((6,)).draw(fold_repeats=False)) == {}


def test_a_stack_in_a_stack_is_entered_by_each_of_its_own_copies():
    """Three layers with three equal projections each: what enters the first layer is read by each of its three, not by 3 of 9."""
    run = Recorder()
    x = run.input()
    for layer in range(3):
        with run.module(f"h.{layer}", "Layer"):
            parts = [run.layer(f"h.{layer}.{name}", "Linear", "linear", x, size=(8, 8)) for name in ("q", "k", "v")]
            x = run.op("attention", *parts)
            x = run.op("add", x, run.op("exp", x))
    said = ends(run.done(run.op("relu", x)).draw())
    assert sorted(said.values()) == ["3 tensors", "same for all 3"]


def test_what_the_last_of_a_stack_gives_is_said_once():
    run = Recorder()
    x = run.input()
    for index, size in enumerate((8, 16, 32)):
        with run.module(f"h.{index}", "Layer"):
            y = run.layer(f"h.{index}.a", "Linear", "linear", x, size=(size, size), shape=(1, size))
            x = run.op("tanh", run.op("exp", y, shape=(1, size)), shape=(1, size))
    y = run.op("cat", run.op("sin", x), run.op("sqrt", x))
    assert list(ends(run.done(y).draw()).values()).count("last (1, 32)") == 1


def parts(run, x, number):
    """`number` parts of a tensor, each turned round."""
    return [run.op("transpose", run.op("getitem", x, args=(x, at)), shape=(8,)) for at in range(number)]


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda run, x: parts(run, x, 4), ["4 parts"]),
        (lambda run, x: parts(run, x, 1), []),
        (lambda run, x: [run.op("reshape", parts(run, x, 1)[0]), run.op("neg", x)], []),
        (lambda run, x: [*parts(run, x, 2), x], []),  # the whole tensor, too
        (lambda run, x: [*parts(run, x, 2), *parts(run, run.op("sin", x), 2)], []),
        (lambda run, x: [run.op("transpose", x), run.op("reshape", x)], []),  # not parts, but all of it
    ],
)
def test_a_line_says_how_many_parts_of_a_tensor_meet(read, said):
    run = Recorder()
    x = run.op("exp", padded(run, run.input()))
    assert list(ends(run.done(run.op("cat", *read(run, x))).draw(collapse=0.01)).values()) == said


def test_the_text_stands_in_every_format():
    drawing = recurrent(20).draw()
    words = [shape.text for group in drawing._display.groups for shape in group.shapes if isinstance(shape, Words)]
    assert {"one per round", "first round", "last round"} <= set(words)
    assert "last round" in drawing.svg
    assert b"(last round) Tj" in to_pdf(drawing._display)


def test_the_gallery_names_what_its_lines_mean():
    def said(name):
        return sorted(ends(picture(load(name), DEFAULTS)).values())

    assert said("unet") == ["last (1, 128, 4, 4)", "last (1, 16, 64, 64)", "×4, in reverse"]
    assert said("swin") == ["4 parts"]
    assert said("gpt2-12") == []
    # a key and a value of each layer go in, are joined with the new ones, and leave
    assert said("gpt2-12-cache") == [
        "12 tensors, all keys", "12 tensors, all values", "own keys", "own values", "same for all 12",
    ]  # fmt: skip
    assert said("densenet121") == ["1…6 tensors, all before", "6 tensors"]
    assert said("gru-500") == ["every round", "first round", "last round"]


def beside(*others, arrow=False):
    """Left end and middle of a text of 50 × 8 at a line from (100, 0) down to (100, 100), among other lines."""
    lines = ((100, 0, 100, 100), *others)
    drawn = tuple(Line(at, line, arrow or not at) for at, line in enumerate(lines))
    room = Room(Geometry(300, 120, {}, {}, drawn, ()), [], [])
    x, y = room.place(Wish((((100, 0), (100, 100)),), 50, 8))
    return x, y + 4


def test_a_text_stands_on_the_side_without_another_line():
    # 4.5 away from its line, on the right, it ends at 154.5: nearer than 10 to a line at 160, not to one at 165
    assert beside() == (104.5, 95)
    assert beside((165, 0, 165, 100)) == (104.5, 95)
    assert beside((160, 0, 160, 100)) == (45.5, 95)


@pytest.mark.parametrize(("copies", "left"), [(1, 44.5), (3, 64.5)])
def test_a_text_does_not_lie_on_the_sheets_of_a_stack(copies, left):
    # the box ends at 56 and at 30, its sheets 4 farther; beside the reader it stands under the box, or beyond the sheets
    box = Node(key="n", role="op", rows=(TextRow(text="n"),), width=56, height=30, copies=copies)
    reader = Node(key="m", role="op", rows=(TextRow(text="m"),), width=20, height=30)
    edge = Edge(source="n", targets=("m",), ends=("all 3",))
    scene = Scene(root=Box(key="", role="root", title=(), children=(box, reader)), edges=(edge,))
    rects = {"n": Rect(0, 0, 56, 30), "m": Rect(18, 42, 20, 30)}
    ((_, _, x, _),) = place_ends(scene, Geometry(200, 72, rects, {}, (Line(0, (28, 30, 28, 42), True),), ()))
    assert x == left


def test_tensors_of_the_first_round_are_counted_with_those_of_every_round():
    run = Recorder()
    with run.module("start", "Start"):
        x = run.op("exp", run.input())
        h, step, scale = run.op("tanh", x), run.op("neg", x), run.op("abs", x)
    for _ in range(4):
        h = run.op("lerp", h, step, scale, frames=here())
    drawing = run.done(h).draw(depth=1, collapse="max", fold_repeats=False)
    # what the loop begins with, and two that each round reads
    assert [text for text in ends(drawing).values() if "tensors" in text] == ["3 tensors"]


def test_there_is_room_for_a_text_between_a_stack_and_the_bar_of_what_reads_it():
    run = Recorder()
    x = run.input()
    parts = [run.layer(f"p.{index}", "Linear", "linear", x, size=(8, 8)) for index in range(3)]
    drawing = run.done(run.op("attention", *parts)).draw(fold_repeats=True)
    ((key, text, _, base),) = [end for end in place_ends(drawing.scene, drawing.geometry) if "tensors" in end[1]]
    assert text == "3 tensors"
    above = drawing.geometry.rects[next(edge.source for edge in drawing.scene.edges if key in edge.targets)]
    assert base - 9 * 0.76 >= above.y + above.height + 4
    assert base <= drawing.geometry.rects[key].y - 2.5  # the bar is 5 thick, half of it above the edge


def test_a_text_keeps_away_from_the_arrowhead_of_another_line():
    # the head at (168, 95) begins at 162, which is nearer than 10 to 154.5
    line = (168, 0, 168, 95)
    assert beside(line) == (104.5, 95)
    assert beside(line, arrow=True) == (45.5, 95)
