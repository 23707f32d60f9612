"""Which tensor goes where: the names of arguments at the tips of arrows, and the names of inputs and outputs."""

from __future__ import annotations

from itertools import product

import pytest
from quality import all_faults, texts_on_texts
from recorder import Recorder
from sourced import here

from tl_viz._display import Words

DIRECTIONS = ["topdown", "bottomup", "leftright", "rightleft"]


def slots(drawing):
    """Source and target of every named argument -> its name."""
    return {
        (edge.source, target): slot
        for edge in drawing.scene.edges
        for target, slot in zip(edge.targets, edge.slots, strict=bool(edge.slots))
        if slot
    }


def binary(function, **more):
    """`function(exp(x), relu(x))`."""
    run = Recorder()
    x = run.input()
    one, other = run.op("exp", x), run.op("relu", x)
    return run.done(run.op(function, one, other, **more)), one, other


@pytest.mark.parametrize("function", ["sub", "__sub__", "div_", "matmul", "pow", "lt", "some_kernel"])
def test_arguments_are_counted_where_their_order_matters(function):
    trace, _, _ = binary(function)
    assert list(slots(trace.draw()).values()) == ["1", "2"]
    assert {pair[0]: slot for pair, slot in slots(trace.draw()).items()} == {"exp_1_1": "1", "relu_1_2": "2"}


@pytest.mark.parametrize("function", ["add", "mul_", "__mul__", "maximum", "eq", "__and__"])
def test_arguments_that_may_change_places_are_not_counted(function):
    assert slots(binary(function)[0].draw()) == {}


def test_the_number_is_the_place_in_the_call_not_among_the_tensors():
    run = Recorder()
    x = run.input()
    mask, other = run.op("gt", x), run.op("relu", x)
    trace = run.done(run.op("where", mask, other, args=(mask, 0.5, other)))
    assert list(slots(trace.draw()).values()) == ["1", "3"]


def test_tensors_of_a_list_are_counted_and_keywords_have_letters():
    run = Recorder()
    x = run.input()
    one, other, index = run.op("exp", x), run.op("relu", x), run.op("argmax", x)
    y = run.op("cat", one, other, args=([one, other], 1))
    trace = run.done(run.op("gather", y, index, args=(y, 1), kw={"index": index}))
    assert slots(trace.draw()) == {
        ("exp_1_1", "cat_1_4"): "1",
        ("relu_1_2", "cat_1_4"): "2",
        ("cat_1_4", "gather_1_5"): "1",
        ("argmax_1_3", "gather_1_5"): "i",
    }


def test_attention_has_the_letters_that_people_use():
    run = Recorder()
    x = run.input()
    q, k, v, mask = (run.op(name, x) for name in ("exp", "relu", "tanh", "le"))
    trace = run.done(
        run.op("scaled_dot_product_attention", q, k, v, mask, args=(q, k, v), kw={"attn_mask": mask, "dropout_p": 0.0})
    )
    assert list(slots(trace.draw()).values()) == ["q", "k", "v", "m"]


def test_the_same_tensor_twice_has_both_numbers_and_a_lone_line_has_none():
    run = Recorder()
    x = run.input()
    one, other = run.op("exp", x), run.op("relu", x)
    y = run.op("lerp", one, other, args=(one, other, one))
    trace = run.done(run.op("sub", y, args=(y, y)))
    assert slots(trace.draw()) == {("exp_1_1", "lerp_1_3"): "1,3", ("relu_1_2", "lerp_1_3"): "2"}


def test_a_long_list_is_not_numbered():
    run = Recorder()
    x = run.input()
    parts = [run.op(name, x) for name in ("exp", "relu", "tanh", "log", "abs")]
    assert slots(run.done(run.op("cat", *parts, args=(parts,))).draw()) == {}


def test_what_a_loop_carries_has_the_place_that_it_goes_to():
    run = Recorder()
    x = run.input()
    h = run.op("zeros", x)
    for _ in range(3):
        h = run.layer("cell", "Cell", "sub", run.op("getitem", x), h)
    drawing = run.done(h).draw()
    carried = next(edge for edge in drawing.scene.edges if edge.role == "loop")
    assert carried.slots == ("2",)


def test_what_a_loop_begins_with_and_carries_is_one_argument_also_where_the_order_does_not_matter():
    run = Recorder()
    x = run.input((3, 8))
    h = run.op("zeros", x)
    for step in range(3):
        h = run.op("mul", run.op("__getitem__", x, args=(x, step), frames=here()), h, frames=here())
    drawing = run.done(h).draw(collapse="none", fold_repeats=False)
    # a slice, the zeros, and what is carried
    assert sorted(slot for edge in drawing.scene.edges for slot in edge.slots if slot) == ["1", "2", "2"]


@pytest.mark.parametrize(("direction", "function"), [*product(DIRECTIONS, ["sub", "where"])])
def test_the_name_stands_inside_of_the_node_at_the_tip_of_its_arrow(direction, function):
    trace, _, _ = binary(function)
    drawing = trace.draw(direction=direction)
    tips = {
        (drawing.scene.edges[line.edge].source): line.points[-1]
        for line in drawing.geometry.lines
        if drawing.scene.edges[line.edge].slots
    }
    said = {
        words.text: (words.x + words.width / 2 - 16, words.y - 16 - 24 - 2 * 18)
        for group in drawing._display.groups
        if group.kind == "slot"
        for words in group.shapes
        if isinstance(words, Words)
    }
    assert sorted(said) == ["1", "2"]
    for source, number in (("exp_1_1", "1"), ("relu_1_2", "2")):
        assert abs(said[number][0] - tips[source][0]) < 12
        assert abs(said[number][1] - tips[source][1]) < 12
    assert texts_on_texts(drawing._display) == []
    assert all_faults(drawing.scene, drawing.geometry) == []


def test_inputs_and_outputs_have_the_names_of_the_call():
    run = Recorder()
    ids, mask = run.input(address="input_ids"), run.input(address="mask")
    y = run.op("mul", ids, mask)
    drawing = run.done(**{"logits": y, "hidden.0": run.op("relu", y)}).draw()
    said = [[row.text for row in node.rows] for node in drawing.scene.nodes() if node.role in {"input", "output"}]
    assert said == [
        ["input_ids", "input", "(1, 8)"],
        ["mask", "input", "(1, 8)"],
        ["output.logits", "(1, 8)"],
        ["output.hidden.0", "(1, 8)"],
    ]


def test_an_output_without_a_path_has_its_label():
    drawing = Recorder().done().draw()
    assert list(drawing.scene.nodes()) == []
    run = Recorder()
    nodes = list(run.done(run.op("relu", run.input())).draw().scene.nodes())
    assert nodes[-1].rows[0].text == "output_1"


def test_a_function_that_reads_parameters_names_them():
    run = Recorder()
    y = run.op("add", run.input(), params=[("pos_embed", (1, 8))])
    node = next(node for node in run.done(y).draw().scene.nodes() if node.learned)
    assert [row.text for row in node.rows] == ["add pos_embed", "parameter (1, 8)", "(1, 8) · 8 params"]


def test_a_few_copies_are_named_one_by_one():
    run = Recorder()
    x = run.input()
    parts = [run.layer(name, "Linear", "linear", x, size=(8, 8)) for name in ("query", "key", "value")]
    drawing = run.done(run.op("scaled_dot_product_attention", *parts)).draw(collapse="none", fold_repeats=True)
    assert [node.rows[0].text for node in drawing.scene.nodes() if node.copies == 3] == ["query, key, value"]


def test_a_short_keyword_is_written_whole():
    run = Recorder()
    x, ends, other = run.input(), run.input(address="ends"), run.input(address="other")
    y = run.op("_grouped_mm", x, ends, args=(x,), kw={"offs": ends})
    trace = run.done(run.op("gather", y, other, args=(y, 1), kw={"index": other}))
    slots = {slot for edge in trace.draw().scene.edges for slot in edge.slots}
    assert slots == {"1", "offs", "i"}
