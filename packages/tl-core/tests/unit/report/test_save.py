"""`save=`: what is accepted, what is kept, and what is said about it."""

import re
import warnings

import pytest

from tl_core import (
    ArgumentTypeError,
    ConfigurationError,
    DivergenceError,
    LiveNames,
    TorchLensWarning,
    func,
    in_module,
    label,
    label_contains,
    module,
    save_policy,
    where,
)


def kept(new_run, residual_of, save, like=None):
    """Indices that a run of the residual network keeps. (Its own payload of the stem is not the policy's.)"""
    run = new_run(policy=save_policy(save, like))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        residual_of(run)
    return run.saved()


@pytest.mark.parametrize(
    ("save", "indices"),
    [
        ("all", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        (func("relu"), [1, 3, 6]),
        (module("blocks.0"), [1, 4]),
        (module("blocks.1"), [1, 7]),
        (module(""), [1, 8]),
        (in_module("blocks.1:1"), [1, 5, 6, 7]),
        (lambda op: op.shape == (2, 3), [1, 8, 9]),
        (where(lambda op: op.kind == "input"), [0, 1]),
        ([module("stem"), func("add"), lambda op: op.kind == "output"], [1, 4, 7, 9]),
        ((func("add"), module("head")), [1, 4, 7, 8]),
        (func("linear") & ~in_module("blocks"), [1, 8]),
        (func("linear") & ~module("blocks.0.fc"), [1, 5, 8]),
        (module("blocks.1") & module("blocks"), [1, 7]),
        (module("blocks") & ~module("blocks.1") | func("relu"), None),
    ],
    ids=repr,
)
def test_what_is_kept(new_run, residual_of, save, indices):
    if indices is None:  # add 7 leaves blocks.1 first and then blocks: dropped again, the relus stay
        indices = [1, 3, 6]
    assert kept(new_run, residual_of, save) == indices


def test_thousands_of_selectors_choose_what_is_kept(new_run, residual_of):
    save = func("relu")
    for number in range(4000):
        save = save | func(f"nothing_{number}")
    assert kept(new_run, residual_of, save) == [1, 3, 6]
    for _ in range(4000):
        save = save & func("relu")
    assert kept(new_run, residual_of, save | func("add")) == kept(new_run, residual_of, func("relu") | func("add"))


def test_nothing_is_kept(new_run):
    for save in ("none", []):
        policy = save_policy(save)
        assert policy.mode == "none"
        run = new_run(policy=policy)
        run.source("input", "x", (1,))
        run.finish()
        assert run.saved() == []


def test_modes():
    assert save_policy("all").mode == "all"
    assert save_policy("none").mode == "none"
    assert save_policy(func("a")).mode == "some"
    assert not save_policy(func("a")).needs_exit
    assert save_policy(func("a") & ~module("b")).needs_exit


def test_all_and_none_answer_too(new_run):
    op = new_run().source("input", "x", (1,))
    assert save_policy("all").wants(op) is True
    assert save_policy("none").wants(op) is False
    call = new_run().builder.enter(new_run().modules[""])
    assert save_policy("all").at_exit(op, call, saved=True) is True
    assert save_policy("none").at_exit(op, call, saved=False) is False


def test_a_dropped_module_output_can_be_kept_again_further_out(new_run, residual_of):
    # op 7 leaves blocks.1 (dropped), then blocks (kept again)
    save = (func("add") & ~module("blocks.1")) | module("blocks")
    assert kept(new_run, residual_of, save) == [1, 4, 7]


def test_sources_read_inside_a_module_are_not_kept_as_its_ops(new_run):
    run = new_run(policy=save_policy(in_module("bn")))
    run.module("bn", "BatchNorm2d")
    x = run.source("input", "x", (1,))
    with run.inside("bn"):
        mean = run.source("buffer", "bn.running_mean", (1,))
        run.op("batch_norm", [x, mean], (1,))
    run.finish()
    assert run.saved() == [2]


def test_outputs_of_different_modules_are_told_apart(new_run, residual_of):
    # the whole residual sum 7 leaves blocks.1 and blocks; 4 leaves blocks.0 only
    save = module("blocks.0") & ~module("blocks") | module("blocks.1") & module("blocks.0")
    assert kept(new_run, residual_of, save) == [1, 4]


def test_a_predicate_is_asked_once_for_each_op(new_run, residual_of):
    asked = []

    def predicate(op):
        asked.append(op.index)
        return True

    kept(new_run, residual_of, where(predicate) & ~module("blocks.0"))
    assert asked == list(range(10))


def test_predicate_errors_reach_the_user(new_run):
    policy = save_policy(lambda op: op.shape[5] == 1)
    with pytest.raises(IndexError):
        policy.wants(new_run().source("input", "x", (1,)))
    policy = save_policy(lambda op: 3)
    with pytest.raises(ArgumentTypeError) as refused:
        policy.wants(new_run().source("input", "x", (1,)))
    assert refused.value.code == "predicate_return_invalid"


@pytest.mark.parametrize(
    ("save", "given"),
    [
        (None, "None"),
        (True, "True"),
        (3, "3 (int)"),
        ({}, "{} (dict)"),
        ("", "''"),
        (["all"], "'all' inside ['all'] (list)"),
        ([func("a"), 3], "3 (int) inside [func('a'), 3] (list)"),
        ([func("a"), [func("b")]], "[func('b')] (list) inside [func('a'), [func('b')]] (list)"),
        (int, "<class 'int'> (type)"),
        ("x" * 0 or b"relu", "b'relu' (bytes)"),
    ],
)
def test_anything_else_is_refused_before_the_run(save, given):
    with pytest.raises(ArgumentTypeError) as refused:
        save_policy(save)
    assert refused.value.code == "save_invalid"
    assert refused.value.problem == f"save= was given {given}, which selects no ops."
    assert refused.value.remedy.startswith('save="all" or "none"; a selector such as tl.func("relu")')
    assert isinstance(refused.value, (TypeError, ValueError))


def test_long_values_are_shortened_in_messages():
    with pytest.raises(ArgumentTypeError) as refused:
        save_policy(dict.fromkeys(range(1000)))
    assert len(refused.value.problem) < 120


@pytest.mark.parametrize("make", [func, module, in_module, label, label_contains, where])
def test_a_constructor_that_was_not_called_is_refused(make):
    with pytest.raises(ArgumentTypeError) as refused:
        save_policy(make)
    assert refused.value.problem == f"save= was given the function tl.{make.__name__} itself, not what it makes."
    assert refused.value.remedy == f'call it: save=tl.{make.__name__}("...")'


def test_like_is_a_trace():
    with pytest.raises(ArgumentTypeError) as refused:
        save_policy("all", like="net_1")
    assert refused.value.code == "like_invalid"
    assert refused.value.problem == "like= takes an earlier trace of the model, and was given 'net_1'."


EARLIER = "first = tl.trace(model, x); tl.trace(model, x, save={0}, like=first)"
NAMES = LiveNames(
    modules=lambda: ["layer1", "layer1.conv1", "layer2", "gelu", "relu_1"], functions=lambda: ["relu", "gelu", "conv2d"]
)


@pytest.mark.parametrize(
    ("save", "spelled"),
    [
        ("linear_1_1", "'linear_1_1'"),
        (label("relu_1_3"), "'relu_1_3'"),
        (label_contains("conv"), "tl.label_contains('conv')"),
        ([func("a"), "x_1_1"], "'x_1_1'"),
        (func("a") & ~label("x_1_1"), "'x_1_1'"),
    ],
)
@pytest.mark.parametrize("names", [None, NAMES])
def test_a_label_needs_an_earlier_trace(save, spelled, names):
    with pytest.raises(ConfigurationError) as refused:
        save_policy(save, names=names)
    assert refused.value.code == "live_label_needs_like"
    assert refused.value.problem == (
        f"save={spelled} names ops by label, and labels are given when a run is over, so this run cannot know them."
    )
    assert refused.value.remedy == (
        f"trace once, then name the trace: {EARLIER.format(spelled)}. A function or a module needs no earlier trace: "
        "save=tl.func('relu'), save=tl.in_module('layer1')"
    )


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        (
            "layer1",
            "'layer1' is a module: save=tl.in_module('layer1') means every op inside it, "
            "save=tl.module('layer1') what it returns",
        ),
        ("relu", "'relu' is a function: save=tl.func('relu')"),
        (
            "gelu",
            "'gelu' is a module: save=tl.in_module('gelu') means every op inside it, save=tl.module('gelu') what it "
            "returns; 'gelu' is a function: save=tl.func('gelu')",
        ),
        (
            "relu_1",
            "'relu_1' is a module: save=tl.in_module('relu_1') means every op inside it, save=tl.module('relu_1') what "
            "it returns",
        ),
        ("layer3", "closest: save=tl.in_module('layer2'), save=tl.in_module('layer1')"),
        ("conv2", "closest: save=tl.func('conv2d')"),
        (
            "layer1.conv",
            "closest: save=tl.in_module('layer1.conv1'), save=tl.in_module('layer1')",
        ),
    ],
)
def test_a_name_that_is_no_label_is_told_as_what_it_is(text, ways):
    for save in (text, [text]):
        with pytest.raises(ConfigurationError) as refused:
            save_policy(save, names=NAMES)
        assert refused.value.code == "live_label_needs_like"
        assert refused.value.remedy == f"{ways}. A label needs an earlier trace: {EARLIER.format(repr(text))}"


@pytest.mark.parametrize(
    ("save", "indices"),
    [
        ("linear_2_2", [1, 2]),
        ("linear_2_2:1", [1, 2]),
        ("linear_3", [1, 5]),
        ("input_1", [0, 1]),
        ("output_1", [1, 9]),
        (label_contains("add"), [1, 4, 7]),
        (["relu_1_3", label("add_2_7")], [1, 3, 7]),
        (label("add_1_4") | label("add_2_7") & ~module("blocks"), [1, 4]),
    ],
    ids=repr,
)
def test_a_label_names_the_site_of_an_earlier_trace(new_run, residual_of, save, indices):
    first = residual_of(new_run())
    assert kept(new_run, residual_of, save, like=first) == indices


@pytest.mark.parametrize(
    ("save", "problem", "remedy"),
    [
        (
            "linear_2_9",
            "The trace 'net_1' given as like= has no op or layer 'linear_2_9'.",
            r"closest labels: linear_\d_\d.*",
        ),
        (
            "add",
            "The trace 'net_1' given as like= has no op or layer 'add'.",
            r"'add' is a function: save=tl.func\('add'\)",
        ),
        (
            "blocks.0",
            "The trace 'net_1' given as like= has no op or layer 'blocks.0'.",
            r"'blocks.0' is a module: save=tl.in_module\('blocks.0'\) means every op inside it, "
            r"save=tl.module\('blocks.0'\) what it returns",
        ),
        (label_contains("conv"), "No label of the trace 'net_1' contains 'conv'.", "trace.layers lists every label"),
        ("zzz", "The trace 'net_1' given as like= has no op or layer 'zzz'.", "trace.layers lists every label"),
    ],
)
def test_an_unknown_label_is_refused_with_a_way_out(residual_trace, save, problem, remedy):
    with pytest.raises(ConfigurationError) as refused:
        save_policy(save, like=residual_trace)
    assert refused.value.code == "unknown_label"
    assert refused.value.problem == problem
    assert re.fullmatch(remedy, refused.value.remedy)


def loop(run, steps, size=4, dead_ends=False):
    """A cell that is called `steps` times: linear, split in two, relu; the head last."""
    run.module("cell", "Cell")
    run.module("head", "Linear")
    h = run.source("input", "x", (1, size))
    with run.inside(""):
        for _ in range(steps):
            with run.inside("cell") as call:
                if dead_ends:
                    run.op("split", [run.op("zeros", [], (1,))], (1,))
                left, right = run.outputs("split", [h], [(1, size), (1, 1)])
                h = run.op("relu", [left, right], (1, size))
            run.returns(call, h)
        with run.inside("head") as call:
            out = run.op("linear", [h], (1, 2))
        run.returns(call, out)
    run.source("output", "", (1, 2), parents=[out])
    passes = [(layer, number) for number in range(1, steps + 1) for layer in (1, 2, 3)]
    return run.finish(groups=((0, 1), *passes, (4, 1), (5, 1)))


def test_sites_are_told_apart_by_call_order_pass_and_output(new_run):
    first = loop(new_run(), 3)
    assert [op.label for op in first.ops][1:4] == ["split_1_1:1", "split_2_2:1", "relu_1_3:1"]
    run = new_run(policy=save_policy(["split_2_2:2", "relu_1_3:3"], like=first))
    loop(run, 3)
    assert run.saved() == [5, 9]


def test_all_passes_of_a_layer(new_run):
    first = loop(new_run(), 3)
    run = new_run(policy=save_policy("relu_1_3", like=first))
    loop(run, 3)
    assert run.saved() == [3, 6, 9]


def test_dead_ends_that_the_earlier_trace_dropped_still_count(new_run):
    first = loop(new_run(), 2, dead_ends=True)
    assert [op.func_name for op in first.ops] == [
        "input",
        "split",
        "split",
        "relu",
        "split",
        "split",
        "relu",
        "linear",
        "output",
    ]
    run = new_run(policy=save_policy("split_1_1:2", like=first))
    named = []
    wants = run.policy.wants
    run._ask = lambda op: (named.append((op.shape, op.module.number)) if wants(op) else None) or op
    loop(run, 2, dead_ends=True)
    assert named == [((1, 4), 2)]


def test_a_site_that_is_not_reached_is_a_divergence(new_run):
    first = loop(new_run(), 3)
    run = new_run(policy=save_policy(["relu_1_3:3", "linear_1_4"], like=first))
    with pytest.raises(DivergenceError) as refused:
        loop(run, 2)
    assert refused.value.code == "like_diverged"
    assert refused.value.problem == (
        "The run parted from the trace 'net_1' given as like=:\n    relu_1_3:3 in cell:3 was not reached\n"
        "    op 7 is split_1_1:3 in cell:3 with shape (1, 4) there, and linear_1_4:1 in head:1 with shape (1, 2) here"
    )
    assert "give that trace as like=" in refused.value.remedy


def test_another_shape_is_a_divergence(new_run):
    first = loop(new_run(), 2)
    run = new_run(policy=save_policy("relu_1_3:1", like=first))
    with pytest.raises(DivergenceError) as refused:
        loop(run, 2, size=5)
    assert refused.value.fields["problems"] == ("relu_1_3:1 has shape (1, 4) there and came with (1, 5)",)


def test_many_divergences_are_counted(new_run):
    first = loop(new_run(), 20)
    run = new_run(policy=save_policy("relu_1_3", like=first))
    with pytest.raises(DivergenceError, match="and 11 more"):
        loop(run, 1)


def test_a_stopped_run_need_not_reach_every_site(new_run):
    first = loop(new_run(), 3)
    run = new_run(policy=save_policy(["relu_1_3:1", "relu_1_3:3"], like=first))
    run.module("cell", "Cell")
    h = run.source("input", "x", (1, 4))
    with run.inside(""), run.inside("cell"):
        left, right = run.outputs("split", [h], [(1, 4), (1, 1)])
        run.op("relu", [left, right], (1, 4))
    with pytest.warns(TorchLensWarning, match="relu_1_3:3"):
        run.finish(outcome="stopped")
    assert run.saved() == [3]


@pytest.mark.parametrize(
    ("save", "text"),
    [
        (
            func("liner"),
            "save=func('liner') matched none of the 10 ops of 'net_1'; no value was saved for it. "
            "No function 'liner' ran; closest: linear.",
        ),
        (
            module("blocks.9"),
            "save=module('blocks.9') matched none of the 10 ops of 'net_1'; no value was saved for it. "
            "The model has no module 'blocks.9'; closest: blocks.1, blocks.0, blocks.",
        ),
        (
            in_module("spare"),
            "save=in_module('spare') matched none of the 10 ops of 'net_1'; no value was saved for it. "
            "The module 'spare' was not called.",
        ),
        (
            module("blocks.0:2"),
            "save=module('blocks.0:2') matched none of the 10 ops of 'net_1'; no value was saved for it. "
            "The module 'blocks.0' was called once.",
        ),
        (
            func("relu") & func("linear"),
            "save=func('relu') & func('linear') matched none of the 10 ops of 'net_1'; no value was saved for it.",
        ),
        (
            func("zzz") & module("head"),
            "save=func('zzz') & module('head') matched none of the 10 ops of 'net_1'; no value was saved for it. "
            "No function 'zzz' ran.",
        ),
        (
            where(lambda op: False, name_hint="never"),
            "save=where(never) matched none of the 10 ops of 'net_1'; no value was saved for it.",
        ),
        (
            func("add") & ~in_module("blocks") | module("head") & ~module(""),
            "save=func('add') & ~in_module('blocks') | module('head') & ~module('') matched none of the 10 ops of "
            "'net_1'; no value was saved for it.",
        ),
    ],
)
def test_a_selector_that_matched_nothing_is_said(new_run, residual_of, save, text):
    run = new_run(policy=save_policy(save))
    with pytest.warns(TorchLensWarning) as said:
        residual_of(run)
    (warning,) = said
    assert str(warning.message) == text
    assert warning.message.code == "selector_matched_nothing"
    assert warning.filename == __file__.replace("test_save.py", "conftest.py")  # the line that called the library


def test_only_the_selectors_without_a_match_are_named(new_run, residual_of):
    run = new_run(policy=save_policy([func("linear"), func("gelu"), lambda op: None]))
    with pytest.warns(TorchLensWarning) as said:
        residual_of(run)
    assert [str(warning.message).partition(" matched")[0] for warning in said] == [
        "save=func('gelu')",
        "save=where(<lambda>)",
    ]
