"""The options of `draw`, and what it refuses."""

from __future__ import annotations

import inspect
import warnings

import pytest
from nets import chain, recurrent, transformer
from quality import all_faults
from recorder import Recorder

import tl_core
import tl_viz
from tl_core import ArgumentTypeError, ConfigurationError, LookupFailedError, TorchLensWarning, func, label


@pytest.fixture(scope="module")
def trace():
    return transformer(3)


def texts(drawing):
    return [row.text for node in drawing.scene.nodes() for row in node.rows]


REFUSED = [
    ({"collapse": "everything"}, ConfigurationError, "collapse_mode_invalid", "there are 'auto', 'none', 'max'"),
    ({"collapse": 1.5}, ConfigurationError, "collapse_level_invalid", "a number from 0 (nothing closed) to 1"),
    ({"collapse": True}, ConfigurationError, "collapse_level_invalid", "collapse=True"),
    ({"view": "flat"}, ConfigurationError, "view_invalid", "view takes 'rolled' or 'unrolled'"),
    ({"layout": "neato"}, ConfigurationError, "layout_invalid", "layout takes 'auto', 'rank' or 'dot'"),
    ({"direction": "TB"}, ConfigurationError, "direction_invalid", "'topdown', 'bottomup'"),
    ({"depth": 0}, ConfigurationError, "depth_invalid", "a whole number from 1"),
    ({"theme": "pink"}, ConfigurationError, "theme_invalid", "'light', 'dark', 'paper'"),
    ({"intervention_mode": "hook"}, ConfigurationError, "intervention_mode_invalid", "'node_mark' or 'as_node'"),
    ({"code_panel": "all"}, ConfigurationError, "code_panel_invalid", "'forward', 'class', 'init+forward'"),
    ({"show_orphans": 1}, ArgumentTypeError, "show_orphans_invalid", "show_orphans takes True or False"),
    ({"fold_repeats": "yes"}, ArgumentTypeError, "fold_repeats_invalid", "was given 'yes'"),
    ({"label": 3}, ArgumentTypeError, "option_type", "sequence of names"),
    ({"label": ("name", "colour")}, ConfigurationError, "field_unknown", "no attribute 'colour'"),
    ({"highlight": "relu"}, ArgumentTypeError, "option_type", "must be a selector"),
    ({"color_by": "label"}, ConfigurationError, "measure_invalid", "is no number"),
    ({"highlight": func("softmax")}, LookupFailedError, "highlight_empty", "highlight=func('softmax')) means no op"),
    ({"colapse": "max"}, ArgumentTypeError, "unknown_option", "no option 'colapse'. Did you mean 'collapse'?"),
]


@pytest.mark.parametrize(("options", "error", "code", "words"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_bad_option_is_refused_with_its_choices(trace, options, error, code, words):
    with pytest.raises(error) as caught:
        trace.draw(**options)
    assert caught.value.code == code
    assert words in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("colapse", "collapse"), ("colour_by", "color_by"), ("highlights", "highlight"), ("vis_mode", "view"),
        ("vis_call_depth", "depth"), ("rankdir", "direction"), ("labels", "label"), ("zzz", ""),
    ],
)  # fmt: skip
def test_an_unknown_option_names_the_one_that_was_meant(trace, wrong, right):
    with pytest.raises(TypeError) as caught:
        trace.draw(**{wrong: 1})
    told = f"Did you mean {right!r}?" in str(caught.value) or caught.value.remedy == f"write {right}=..."
    assert told is bool(right)
    assert caught.value.remedy.startswith(("write ", "it takes collapse, view, "))


def test_options_that_write_files_lead_to_save(trace):
    with pytest.raises(ArgumentTypeError, match=r"draw\(\.\.\.\)\.save\('network\.svg'\) writes a file"):
        trace.draw(vis_outpath="net")


def test_a_highlight_that_is_not_drawn_is_refused():
    run = Recorder()
    trace = run.done(run.op("batch_norm", run.input(), run.buffer("norm.mean")))
    for options in ({}, {"view": "unrolled"}):
        with pytest.raises(LookupFailedError, match=r"means buffer_1:1, which is not drawn") as caught:
            trace.draw(highlight=label("buffer_1"), **options)
        assert caught.value.code == "highlight_not_drawn"
        assert "show_buffers=True" in caught.value.remedy
    marked = [
        node.role for node in trace.draw(highlight=label("buffer_1"), show_buffers=True).scene.nodes() if node.marked
    ]
    assert marked == ["buffer"]


def test_a_highlight_outside_of_the_module_is_refused(trace):
    with pytest.raises(LookupFailedError, match="which is not drawn"):
        trace.draw(module="transformer.h.1.mlp", highlight=func("embedding"))


def test_only_traces_are_drawn():
    with pytest.raises(ArgumentTypeError, match="was given int, which is no trace"):
        tl_viz.draw(3)


def test_unknown_modules_are_refused(trace):
    with pytest.raises(LookupFailedError):
        trace.draw(module="no.such.module")


@pytest.fixture(scope="module")
def stack():
    """Two numbered layers, the second one called twice, and a module that does nothing."""
    run = Recorder("Sequential")
    x = run.layer("0", "Linear", "linear", run.input(), size=(8, 8))
    y = run.layer("1", "ReLU", "relu", run.layer("1", "ReLU", "relu", x))
    with run.module("2", "Identity"):
        pass
    return run.done(y)


def computed(drawing):
    return [node.rows[0].text for node in drawing.scene.nodes() if node.role == "op"]


def test_a_module_whose_name_is_a_number_is_no_number_of_a_call(stack):
    assert computed(stack.draw(module="0")) == ["linear weight"]
    assert computed(stack.draw(module="1", collapse="none", view="unrolled")) == ["relu", "relu"]
    assert computed(stack.draw(module="1:2", collapse="none")) == ["relu"]


def test_the_model_itself_is_the_whole_picture(stack):
    assert stack.draw(module="").svg == stack.draw().svg


@pytest.mark.parametrize(
    ("module", "kind", "code", "text"),
    [
        (3, ArgumentTypeError, "option_type", "draw(module=3) must be the address of a module."),
        ("9", LookupFailedError, "op_lookup_not_found", "'9' is not the name of one of the 4 modules of this trace."),
        ("1:3", LookupFailedError, "module_call_not_found", "draw(module='1:3'): '1' was called 2 times."),
        ("1:0", LookupFailedError, "module_call_not_found", "draw(module='1:0'): '1' was called 2 times."),
        (
            "2",
            LookupFailedError,
            "module_without_ops",
            "draw(module='2'): no op ran in '2', so there is nothing to draw.",
        ),
    ],
)
def test_modules_that_cannot_be_drawn(stack, module, kind, code, text):
    with pytest.raises(kind) as caught:
        stack.draw(module=module)
    assert caught.value.code == code
    assert caught.value.problem == text


def test_there_are_at_most_twenty_options():
    parameters = inspect.signature(tl_viz.draw).parameters
    assert len(parameters) - 1 <= 20
    documented = inspect.getdoc(tl_viz.draw) or ""
    assert [name for name in parameters if f"    {name}: " not in documented] == []


def test_drawing_neither_warns_nor_writes(trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawing = trace.draw()
    assert drawing._repr_svg_() == drawing.svg
    assert list(tmp_path.iterdir()) == []


def test_repr_says_how_much_it_shows(trace):
    assert repr(trace.draw()).startswith("<Drawing of Decoder: ")


def test_module_draws_only_what_ran_inside(trace):
    drawing = trace.draw(module="transformer.h.1.mlp", collapse="none")
    assert texts(drawing)[::2] != []
    roles = [(node.role, node.rows[0].text) for node in drawing.scene.nodes()]
    assert [text for role, text in roles if role == "op"] == ["c_fc", "act", "c_proj"]
    assert [text for role, text in roles if role == "input"] == ["from transformer.h.1.ln_2"]
    assert [text for role, text in roles if role == "output"] == ["to add in transformer.h.1"]
    assert drawing.collapse_plan.total == 3


def test_what_several_read_outside_of_a_module_names_the_first():
    run = Recorder()
    y = run.layer("stem", "Conv2d", "conv2d", run.input(address="image"), size=(8, 8))
    trace = run.done(run.op("add", run.layer("a", "Linear", "linear", y, size=(8, 8)), run.op("exp", y)))
    ends = [node.rows[0].text for node in trace.draw(module="stem").scene.nodes() if node.role != "op"]
    assert ends == ["from image", "to a +1"]


def test_a_container_that_is_never_called_can_be_drawn(trace):
    drawing = trace.draw(module="transformer.h")
    titles = [[part.text for part in box.title] for box in drawing.scene.boxes()]
    assert ["h.0…2", "Block", "×3 own weights", "12.4k params ×3 blocks · 37.1k in all"] in titles


def test_frames_can_be_left_out(trace):
    drawing = trace.draw(collapse="none", show_containers=False)
    assert list(drawing.scene.boxes()) == []
    assert drawing.collapse_plan.items == len(trace)


def test_labels_take_any_attribute(trace):
    drawing = trace.draw(label=("name", "dtype", "cost.duration"))
    assert "dtype: float32" in texts(drawing)
    assert not any("params" in text for text in texts(drawing))


def test_colour_and_size_follow_a_number(trace):
    numbers = {op.label: float(op.index) for op in trace.ops}
    plain = {node.key: node for node in trace.draw(collapse="none").scene.nodes()}
    nodes = {node.key: node for node in trace.draw(collapse="none", color_by=numbers, size_by=numbers).scene.nodes()}
    first, last = (trace.ops[0].layer_label, trace.ops[-1].layer_label)
    assert nodes[first].tint == tl_viz.LIGHT.scale[0]
    assert nodes[last].tint == tl_viz.LIGHT.scale[1]
    assert nodes[first].width == plain[first].width
    assert nodes[last].width == pytest.approx(2 * plain[last].width, abs=0.2)
    by_function = trace.draw(collapse="none", color_by=lambda op: op.index).scene.nodes()
    assert [node.tint for node in by_function] == [node.tint for node in nodes.values()]


def test_the_legend_says_what_colours_and_sizes_mean(trace):
    notes = trace.draw(color_by="index", size_by="size_bytes").notes
    assert notes[-2].startswith("colour: index from ")
    assert notes[-1].startswith("size: size_bytes up to ")
    assert trace.draw(color_by=lambda op: op.index).notes[-1].startswith("colour: value from ")


def test_highlight_outlines_what_the_selector_means(trace):
    marked = [node for node in trace.draw(highlight=func("scaled_dot_product_attention")).scene.nodes() if node.marked]
    assert len(marked) == 3
    assert all(node.ops == 1 for node in marked)


def test_buffers_are_drawn_on_request():
    run = Recorder()
    mean = run.buffer("norm.mean")
    trace = run.done(run.op("batch_norm", run.input(), mean))
    without, with_buffers = trace.draw(), trace.draw(show_buffers=True)
    assert "not drawn: 1 buffer" in without.notes
    assert [node.role for node in with_buffers.scene.nodes()] == ["buffer", "input", "op", "output"]
    assert without.collapse_plan.total == with_buffers.collapse_plan.total == 4


def test_edits_are_marked_or_drawn_as_nodes():
    run = Recorder()
    x = run.op("relu", run.input(), edited=True)
    trace = run.done(run.op("exp", x))
    marked = [node.rows[0].text for node in trace.draw().scene.nodes() if node.marked]
    assert marked == ["relu"]
    drawing = trace.draw(intervention_mode="as_node")
    roles = [node.role for node in drawing.scene.nodes()]
    assert roles == ["input", "op", "hook", "op", "output"]
    hook = next(node for node in drawing.scene.nodes() if node.role == "hook")
    readers = next(edge.targets for edge in drawing.scene.edges if edge.source == hook.key)
    assert readers == (trace.ops[2].layer_label,)
    assert all_faults(drawing.scene, drawing.geometry) == []


def test_rolled_and_unrolled_count_the_same_ops():
    trace = recurrent(12)
    for view in ("rolled", "unrolled"):
        assert trace.draw(view=view).collapse_plan.total == len(trace)


def test_themes_change_colours_only(trace):
    light, dark = trace.draw(theme="light"), trace.draw(theme="dark")
    assert light.geometry == dark.geometry
    assert tl_viz.DARK.background in dark.svg
    assert trace.draw(theme=tl_viz.PAPER).svg != light.svg


def test_without_dot_our_engine_draws_and_says_so(trace, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.warns(TorchLensWarning, match="dot is not installed here") as caught:
        drawing = trace.draw(layout="dot")
    assert caught[0].message.code == "dot_layout_unavailable"
    assert drawing.notes[-1] == "laid out without dot: dot is not installed here"
    assert drawing.geometry == trace.draw().geometry


def test_a_large_graph_for_graphviz_is_announced(trace, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tl_viz._draw.LARGE_NODES", 5)
    with pytest.warns(TorchLensWarning) as caught:
        drawing = trace.draw(layout="dot")
    assert [one.message.code for one in caught] == ["graphviz_large_graph", "dot_layout_unavailable"]
    assert f"of {drawing.collapse_plan.items} nodes and " in str(caught[0].message)
    assert "can take Graphviz minutes and gigabytes" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace.draw()  # our own engine needs neither


def test_the_core_method_takes_the_same_options(trace):
    assert trace.draw(collapse="max").svg == tl_viz.draw(trace, collapse="max").svg
    assert isinstance(trace.draw(), tl_viz.Drawing)
    assert tl_core.Trace.draw is not tl_viz.draw


def test_a_budget_gives_the_coarsest_picture_and_says_why():
    trace = transformer(12)
    with pytest.warns(TorchLensWarning, match=r"visible ops, at most 21 beside each other") as caught:
        drawing = trace.draw(planner_budget=1.0)
    assert caught[0].message.code == "collapse_budget_fallback"
    assert caught[0].filename == __file__
    assert drawing.collapse_plan.planner == "linear_fallback"
    assert drawing.collapse_plan.items == trace.draw(collapse="max").collapse_plan.items
    assert trace.draw(planner_budget=1e9).collapse_plan.planner == "exact"


def test_under_a_budget_very_large_networks_have_no_plan():
    trace = chain(40_001)
    with pytest.warns(TorchLensWarning, match=r"40,003 ops are more than 40,000") as caught:
        drawing = trace.draw(planner_budget=30_000)
    assert caught[0].message.code == "collapse_pathological_skip"
    with pytest.raises(ConfigurationError) as refused:
        _ = drawing.collapse_plan
    assert refused.value.code == "collapse_plan_unavailable"
    assert "not planned" in repr(drawing)
    assert tl_viz.COLLAPSE_OPTIMIZER_MAX_OPS == 2_000


def test_warnings_point_at_the_line_of_the_user(trace, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.warns(TorchLensWarning) as caught:
        trace.draw(layout="dot")
    assert caught[0].filename == __file__


def test_text_on_strong_colours_is_white(trace):
    drawing = trace.draw(collapse="none", color_by=lambda op: op.index)
    last = next(group for group in drawing._display.groups if group.key == trace.ops[-1].layer_label)
    assert {shape.colour for shape in last.shapes if hasattr(shape, "text")} == {"#ffffff"}


MODES = ["auto", "none", "max", 0.5]


@pytest.mark.parametrize("mode", MODES)
def test_a_run_without_any_op_gives_an_empty_picture(mode):
    drawing = Recorder().done().draw(collapse=mode)
    assert list(drawing.scene.nodes()) == []
    assert drawing.collapse_plan.total == 0
    assert drawing.svg.startswith("<svg")


@pytest.mark.parametrize("mode", MODES)
def test_a_model_that_returns_its_input_is_two_nodes(mode):
    run = Recorder()
    drawing = run.done(run.input()).draw(collapse=mode)
    assert [node.role for node in drawing.scene.nodes()] == ["input", "output"]
    assert all_faults(drawing.scene, drawing.geometry) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_stopped_before_any_output_is_drawn_whole(mode):
    run = Recorder()
    x = run.input()
    for _ in range(3):
        x = run.op("relu", x)
    drawing = run.done().draw(collapse=mode)
    assert sum(node.ops for node in drawing.scene.nodes()) == 4
    assert [node.role for node in drawing.scene.nodes() if node.role == "bundle"] == []


def test_islands_are_counted_or_drawn():
    run = Recorder(keep_orphans=True)
    apart = run.op("exp", run.op("ones"))
    assert apart.index == 1
    trace = run.done(run.op("relu", run.input()))
    without, whole = trace.draw(collapse="none"), trace.draw(collapse="none", show_orphans=True)
    assert "not drawn: 2 ops connected to no input and no output" in without.notes
    assert without.collapse_plan.items == 3
    assert whole.collapse_plan.items == 5
    assert without.collapse_plan.total == whole.collapse_plan.total == 5
    assert all_faults(whole.scene, whole.geometry) == []
    assert trace.draw(show_orphans=True).collapse_plan.items == 5


def test_islands_are_not_mixed_with_what_has_no_effect():
    run = Recorder(keep_orphans=True)
    x = run.input()
    run.op("exp", run.op("ones"))
    run.op("neg", run.op("log", x))
    nodes = list(run.done(run.op("relu", x)).draw(show_orphans=True).scene.nodes())
    assert [node.rows[0].text for node in nodes] == ["x", "ones", "exp", "2 ops", "relu", "output_1"]


def test_a_closed_module_says_what_its_containers_hold():
    run = Recorder()
    x = run.input()
    with run.module("stage", "Stage"):
        with run.module("stage.blocks", "Sequential"):
            for index in range(3):
                x = run.layer(f"stage.blocks.{index}", "Linear", "linear", x, size=(8, 8))
        x = run.op("relu", x)
    for name in ("exp", "log", "neg", "tanh"):
        x = run.op(name, x)
    drawing = run.done(x).draw(collapse="max", fold_repeats=False)
    node = next(node for node in drawing.scene.nodes() if node.ops == 4)
    assert [row.text for row in node.rows][:3] == ["stage", "Stage", "Linear ×3, relu"]
