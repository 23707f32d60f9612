"""The trace as a whole: what it says of the run, what it computes when, and when it is gone."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest
from scripted_run import Run, Tensor, user_frames

from tl_core import ArtifactError, MissingDependencyError, PayloadUnavailableError, extension, load


class Value:
    """Stands for a tensor."""


def model(run, x):
    return run("relu", run.linear("fc", x), payload=Value())


def play(**info):
    run = Run()
    run.register("fc", "Linear", param=True)
    return run.play(model, run.input(), **info)


def test_facts_of_the_run():
    trace = play()
    assert (trace.name, trace.backend, trace.model_class_name, trace.outcome) == ("net_1", "numpy", "Net", "complete")
    assert (trace.is_stopped, trace.stop_reason, trace.annotations) == (False, "", {})
    assert trace.inputs == (trace.ops[0],)
    assert trace.outputs == (trace.ops[-1],)
    assert trace.options.recurrence_detection is True
    assert (trace.provenance.backend, trace.provenance.param_source, trace.provenance.loaded) == (
        "numpy", "native-module", False,
    )  # fmt: skip
    assert trace.autograd.grad_enabled is True
    assert trace.autograd.ops == ()
    assert repr(trace.autograd) == "<autograd: on, 0 ops require a gradient>"


def test_a_stopped_run_says_why():
    trace = play(outcome="stopped", stop_reason="relu_1_2 was reached")
    assert (trace.is_stopped, trace.stop_reason) == (True, "relu_1_2 was reached")


def test_verification_is_a_plain_yes_or_no():
    assert (play().capture_verified, play().capture_verification_reason) == (True, "provenance_complete")
    run = Run()

    def with_gaps(run, x):
        run.builder.gap("unseen_write", "x moved without a call", x.index)
        run.builder.gap("owner_thread_tripwire_changed", "a thread appeared", -1)
        return run("relu", x)

    trace = run.play(with_gaps, run.input())
    assert (trace.capture_verified, trace.capture_verification_reason) == (False, "unseen_write")
    assert [gap.message for gap in trace.gaps] == ["x moved without a call", "a thread appeared"]


def test_repr_fits_on_a_screen():
    assert repr(play()) == "\n".join(
        [
            "Trace net_1 of Net (numpy 1.0)",
            "  inputs    x: float32[2, 3]",
            "  outputs   float32[2, 3]",
            "  graph     2 ops, 1 input, 1 output",
            "  model     2 modules, 16 parameters (64 bytes)",
            "  saved     1 of 4 values (24 bytes)",
            "  capture   verified: every tensor read has a recorded source",
            "  look at   trace['relu_1_2:1'].out, trace['fc'], trace.summary()",
        ]
    )


def test_gaps_and_reads_say_what_and_where():
    def model(run, x):
        y = run("sum", x)
        run.builder.gap("unseen_write", "x moved", 1, user_frames())
        run.builder.gap("shadow_diagnostic_mode", "it was armed", -1)
        bool(Tensor(run, y, True))
        return y

    run = Run()
    trace = run.play(model, run.input())
    line = model.__code__.co_firstlineno
    assert [repr(gap) for gap in trace.gaps] == [
        f"<gap unseen_write at op 1 (test_trace.py:{line + 2} in model): x moved>",
        "<gap shadow_diagnostic_mode: it was armed>",
    ]
    assert [repr(read) for read in trace.reads] == [f"<read of op 1 as bool True (test_trace.py:{line + 4} in model)>"]


def test_repr_of_a_loop_with_gaps():
    def looped(run, *inputs):
        x = inputs[0]
        for _ in range(3):
            x = run("sin", x)
        run.builder.gap("unseen_write", "x moved", -1)

    run = Run()
    text = repr(run.play(looped, *[run.input(f"x{number}") for number in range(6)], outcome="failed"))
    assert text.splitlines() == [
        "Trace net_1 of Net (numpy 1.0, failed)",
        "  inputs    x0: float32[2, 3], x1: float32[2, 3], x2: float32[2, 3], x3: float32[2, 3], and 2 more",
        "  outputs   none",
        "  graph     3 ops, 1 layer with up to 3 passes, 6 inputs",
        "  model     1 module, 0 parameters (0 bytes)",
        "  saved     0 of 9 values",
        "  capture   not verified: unseen_write (1 gap; see trace.gaps)",
        "  look at   trace['sin_1_1:2'].out, trace.summary()",
    ]
    assert max(map(len, text.splitlines())) <= 100


def test_long_lines_of_the_repr_are_cut():
    run = Run()
    trace = run.play(lambda run, *inputs: inputs[0], *[run.input("a_long_name_of_an_argument" * 2) for _ in range(3)])
    line = repr(trace).splitlines()[1]
    assert len(line) == 100
    assert line.endswith("...")


def test_html_is_the_summary():
    html = play()._repr_html_()
    assert html.lstrip().startswith("<")
    assert "Linear" in html


def test_empty_trace():
    trace = Run().finish()
    assert "  graph     0 ops" in repr(trace).splitlines()
    assert (len(trace), list(trace), len(trace.layers)) == (0, [], 0)
    assert trace.conditionals == ()


def test_a_saved_trace_keeps_its_layers(tmp_path):
    """Two calls on one line: the columns that told them apart are not stored, so the layers are."""
    run = Run()
    trace = run.play(lambda run, x: run("relu", run("relu", x)), run.input())
    assert trace.save(tmp_path / "net.tlspec", "audit") == tmp_path / "net.tlspec"
    loaded = load(tmp_path / "net.tlspec")
    assert loaded.ops.keys() == trace.ops.keys() == ["input_1:1", "relu_1_1:1", "relu_2_2:1", "output_1:1"]
    assert repr(loaded).splitlines()[0] == "Trace net_1 of Net (numpy 1.0, loaded)"


# what is computed when


def derived(trace):
    """Names of the tables that exist."""
    state = trace._state
    return {
        name for name in ("_edges", "_grouping", "_labels", "_distances", "_cost") if getattr(state, name) is not None
    }


def test_nothing_is_derived_before_it_is_asked_for():
    trace = play()
    assert derived(trace) == set()
    _ = trace.ops[2].shape, trace["fc"].class_name, trace.ops[2].out, len(trace), trace.capture_verified
    assert derived(trace) == set()
    assert trace.ops[2].label == "relu_1_2:1"
    assert derived(trace) == {"_grouping", "_labels"}  # a label needs neither edges nor distances
    _ = trace.ops[2].children
    assert derived(trace) == {"_grouping", "_labels", "_edges"}
    _ = trace.ops[2].distance.max_to_output
    assert derived(trace) == {"_grouping", "_labels", "_edges", "_distances"}


def test_a_table_is_derived_once():
    trace = play()
    first = trace._state.labels, trace._state.edges, trace._state.grouping, trace._state.distances, trace.cost
    _ = repr(trace), trace.ops[1].label, trace.ops[1].distance.min_from_input, trace.graph.num_edges
    again = trace._state.labels, trace._state.edges, trace._state.grouping, trace._state.distances, trace.cost
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_a_view_is_one_object_as_long_as_it_is_held():
    trace = play()
    op = trace.ops[1]
    assert trace.ops["linear_1_1:1"] is op
    assert trace["linear_1_1"].ops[0] is op
    assert trace["fc"].ops[0] is op
    watched = weakref.ref(op)
    del op
    assert watched() is None


# lifetime


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def read_everything(trace):
    for op in trace:
        _ = op.label, op.parents, op.children, op.ancestors(), op.distance.min_from_input, repr(op), op.call, op.source
    for layer in trace.layers:
        _ = layer.parents, layer.children, repr(layer)
    for module in trace.modules:
        _ = module.ops, module.calls, repr(module)
    _ = repr(trace), str(trace.summary()), trace.cost.flops if False else trace.cost.param_count
    _ = trace.graph.between(0, -1), trace.conditionals, list(trace.params), list(trace.buffers)


@pytest.mark.usefixtures("no_collector")
def test_a_dropped_trace_is_gone_at_once_with_its_values():
    trace = play()
    read_everything(trace)
    value, whole, state = weakref.ref(trace.ops[2].out), weakref.ref(trace), weakref.ref(trace._state)
    del trace
    assert (whole(), state(), value()) == (None, None, None)


@pytest.mark.usefixtures("no_collector")
def test_an_op_keeps_what_it_needs_alive_and_no_longer():
    trace = play()
    op = trace.ops[2]
    value = weakref.ref(op.out)
    del trace
    assert op.out is value()
    assert op.parents == ("linear_1_1:1",)
    del op
    assert value() is None


@pytest.mark.usefixtures("no_collector")
def test_cleanup_frees_values_that_others_hold_ops_of():
    trace = play()
    op = trace.ops[2]
    value = weakref.ref(op.out)
    trace.cleanup()
    assert value() is None
    trace.cleanup()
    assert repr(trace) == "<Trace: cleaned up>"
    for read in (
        lambda: trace.name, lambda: trace.inputs, lambda: trace[0], lambda: len(trace), lambda: trace.summary(),
        lambda: trace.cost, lambda: trace.capture_verified, lambda: op.label, lambda: op.out, lambda: op.children,
        lambda: trace.annotations, lambda: list(trace.ops),
    ):  # fmt: skip
        with pytest.raises(PayloadUnavailableError) as caught:
            read()
        assert caught.value.code == "trace_cleaned_up"
    assert str(caught.value) == (
        "This trace was cleaned up; it holds nothing any more.\n"
        "  What to do: trace the model again, and read what you need before trace.cleanup()"
    )


# other distributions


def test_an_extension_that_is_missing_says_how_to_get_it():
    with pytest.raises(MissingDependencyError) as caught:
        extension("tl_absent")
    assert caught.value.code == "missing_dependency"
    assert str(caught.value) == "This needs tl-absent, which is not installed.\n  What to do: pip install tl-absent"
    with pytest.raises(ImportError):
        extension("tl_absent")


def test_an_extension_that_is_broken_shows_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "tl_broken.py").write_text("import module_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="module_that_is_not_there") as caught:
        extension("tl_broken")
    assert not isinstance(caught.value, MissingDependencyError)


def test_draw_asks_the_drawing_package(tmp_path, monkeypatch):
    (tmp_path / "tl_viz.py").write_text("def draw(trace, *args, **options):\n    return trace, args, options\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "tl_viz", raising=False)
    trace = play()
    assert trace.draw("out.svg", view="rolled") == (trace, ("out.svg",), {"view": "rolled"})
    __import__("sys").modules.pop("tl_viz")


def test_membership_agrees_with_lookup():
    trace = play()
    assert [key in trace for key in ("relu_1", "relu_1_2:1", "fc", "fc:1", "", 0, -1)] == [True] * 7
    assert [key in trace for key in ("relu_9", "relu_1_2:2", "fc.weight", 99)] == [False] * 4


def test_a_copy_is_the_trace_itself():
    trace = play()
    assert copy.copy(trace) is trace
    assert copy.deepcopy([trace])[0] is trace


def test_a_trace_is_not_pickled():
    with pytest.raises(ArtifactError, match=r"trace\.save\(path\)") as caught:
        pickle.dumps(play())
    assert caught.value.code == "pickle_unsupported"
