"""The selector algebra, its refusals, and what it means on a finished trace."""

import functools

import pytest

from tl_core import (
    ArgumentTypeError,
    ConfigurationError,
    FieldUnavailableError,
    Op,
    OpContext,
    Selector,
    func,
    in_module,
    label,
    label_contains,
    module,
    where,
)

# The residual network of conftest, by index:
# 0 input x · 1 linear (stem) · 2 linear 3 relu_ 4 add (blocks.0) · 5 linear 6 relu_ 7 add (blocks.1) · 8 linear (head)
# · 9 output


def found(trace, selector):
    return [op.index for op in trace.find(selector)]


@pytest.mark.parametrize(
    ("selector", "indices"),
    [
        (func("linear"), [1, 2, 5, 8]),
        (func("relu"), [3, 6]),
        (func("relu_"), [3, 6]),
        (func("add_"), []),
        (func("conv2d"), []),
        (module("stem"), [1]),
        (module("blocks.0"), [4]),
        (module("blocks"), [7]),
        (module(""), [8]),
        (module("blocks.0:1"), [4]),
        (module("blocks.0:2"), []),
        (module("spare"), []),
        (in_module("blocks"), [2, 3, 4, 5, 6, 7]),
        (in_module("blocks.1:1"), [5, 6, 7]),
        (in_module("blocks.1.act"), [6]),
        (in_module(""), [1, 2, 3, 4, 5, 6, 7, 8]),
        (label("linear_1_1"), [1]),
        (label("linear_1_1:1"), [1]),
        (label("linear_1"), [1]),
        (label("linear_1:1"), [1]),
        (label("input_1"), [0]),
        (label("linear_9_9"), []),
        (label_contains("relu"), [3, 6]),
        (where(lambda op: op.shape == (2, 3)), [8, 9]),
        (where(lambda op: None), []),
        (func("linear") & in_module("blocks"), [2, 5]),
        (module("stem") | module("head"), [1, 8]),
        (~in_module(""), [0, 9]),
        (func("linear") & ~in_module("blocks"), [1, 8]),
        (~(func("linear") | func("relu")) & in_module("blocks"), [4, 7]),
    ],
    ids=repr,
)
def test_find_means_what_it_says(residual_trace, selector, indices):
    assert found(residual_trace, selector) == indices


def test_find_gives_the_views_of_the_trace(residual_trace):
    (op,) = residual_trace.find(module("stem"))
    assert op is residual_trace.ops[1]


def test_names_of_labels_find_the_function(run):
    x = run.source("input", "x", (1,))
    run.op("batch_norm", [x], (1,))
    run.op("batch_norm_", [x], (1,))
    trace = run.finish()
    assert found(trace, func("batchnorm")) == [1, 2]
    assert found(trace, func("batch_norm")) == [1, 2]
    assert found(trace, func("batch_norm_")) == [2]


def test_a_shared_module_is_found_by_every_address(run):
    run.module("a", "Linear").aliases += ("b",)
    x = run.source("input", "x", (1,))
    with run.inside("a") as call:
        y = run.op("linear", [x], (1,))
    run.returns(call, y)
    trace = run.finish()
    for selector in (module("a"), module("b"), module("b:1"), in_module("b"), in_module("a:1")):
        assert found(trace, selector) == [1], selector


def test_a_module_that_returns_its_input_has_it_as_output(run):
    run.module("skip", "Identity")
    x = run.source("input", "x", (1,))
    with run.inside("skip") as call:
        pass
    run.returns(call, x)
    run.op("relu", [x], (1,))
    trace = run.finish()
    assert found(trace, module("skip")) == [0]
    assert found(trace, in_module("skip")) == []


def test_sources_read_inside_a_module_are_not_executed_there(run):
    run.module("bn", "BatchNorm2d")
    x = run.source("input", "x", (1,))
    with run.inside("bn"):
        mean = run.source("buffer", "bn.running_mean", (1,))
        run.op("batch_norm", [x, mean], (1,))
    trace = run.finish()
    assert found(trace, in_module("bn")) == [2]


def test_later_passes_of_a_module_are_told_apart(run):
    run.module("cell", "Cell")
    h = run.source("input", "x", (1,))
    for _ in range(3):
        with run.inside("cell") as call:
            h = run.op("tanh", [h], (1,))
        run.returns(call, h)
    trace = run.finish()
    assert found(trace, module("cell")) == [1, 2, 3]
    assert found(trace, module("cell:2")) == [2]
    assert found(trace, in_module("cell:3")) == [3]


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (func("relu"), "func('relu')"),
        (module("a.0:2"), "module('a.0:2')"),
        (in_module("a"), "in_module('a')"),
        (label("x_1"), "label('x_1')"),
        (label_contains("x"), "label_contains('x')"),
        (where(len, name_hint="big ones"), "where(big ones)"),
        (where(len), "where(len)"),
        (where(functools.partial(len)), "where(partial)"),
        (func("a") & func("b"), "func('a') & func('b')"),
        (func("a") | func("b"), "func('a') | func('b')"),
        ((func("a") | func("b")) & func("c"), "(func('a') | func('b')) & func('c')"),
        (func("a") & (func("b") | func("c")), "func('a') & (func('b') | func('c'))"),
        (~func("a"), "~func('a')"),
        (~(func("a") & func("b")), "~(func('a') & func('b'))"),
        (~~func("a"), "func('a')"),
    ],
)
def test_repr_is_the_code_that_makes_it(selector, text):
    assert repr(selector) == text


def test_equal_selectors_are_equal_and_hash_alike():
    assert func("a") & ~module("b") == func("a") & ~module("b")
    assert len({func("a"), func("a"), module("a")}) == 2


def test_selectors_are_frozen():
    with pytest.raises(AttributeError):
        func("a").name = "b"  # type: ignore[misc]


@pytest.mark.parametrize("make", [func, module, in_module, label, label_contains])
def test_text_is_asked_for(make):
    with pytest.raises(ArgumentTypeError) as refused:
        make(3)
    assert refused.value.code == "selector_argument_invalid"
    assert "as a text, and was given 3 (int)" in str(refused.value)
    assert f'{make.__name__}("...")' in refused.value.remedy


@pytest.mark.parametrize("make", [func, label, label_contains])
def test_empty_text_is_refused(make):
    with pytest.raises(ConfigurationError, match=r"was given an empty \w+, which selects nothing"):
        make("")


@pytest.mark.parametrize("given", [3, "relu", func("relu")])
def test_where_takes_a_function(given):
    with pytest.raises(ArgumentTypeError, match=r"where\(\) takes a function of an op") as refused:
        where(given)
    assert refused.value.remedy == "tl.where(lambda op: op.shape[-1] == 10)"


@pytest.mark.parametrize("wrong", [lambda a, b: a and b, lambda a, b: a or b, lambda a, b: not a])
def test_python_words_do_not_combine_selectors(wrong):
    with pytest.raises(ArgumentTypeError) as refused:
        wrong(func("a"), func("b"))
    assert refused.value.code == "selector_truth_value"
    assert str(refused.value) == (
        "`func('a')` has no truth value: `and`, `or` and `not` cannot combine selectors.\n"
        "  What to do: use `a & b`, `a | b` and `~a`"
    )


@pytest.mark.parametrize(
    ("combine", "shown", "remedy"),
    [
        (
            lambda: func("a") & "b",
            "`&` combines func('a') with another selector, and was given 'b' (str).",
            "tl.func('b')",
        ),
        (
            lambda: "b" | func("a"),
            "`|` combines func('a') with another selector, and was given 'b' (str).",
            "tl.label('b')",
        ),
        (
            lambda: None & func("a"),
            "`&` combines func('a') with another selector, and was given None (NoneType).",
            "tl.in",
        ),
        (
            lambda: func("a") | len,
            "was given <built-in function len> (builtin_function_or_method).",
            "tl.where(function)",
        ),
    ],
)
def test_only_selectors_combine(combine, shown, remedy):
    with pytest.raises(TypeError) as caught:
        combine()
    assert isinstance(caught.value, ArgumentTypeError)
    assert caught.value.code == "selector_argument_invalid"
    assert shown in str(caught.value)
    assert remedy in caught.value.remedy


def test_thousands_of_selectors_combine(residual_trace):
    many = func("nothing")
    for number in range(4000):
        many = many | label(f"nothing_{number}")
    assert found(residual_trace, many) == []
    assert repr(many).endswith("label('nothing_3998') | label('nothing_3999')")
    everything = residual_trace.find(~many)
    assert len(everything) == len(residual_trace)
    for _ in range(4000):
        many = many & func("relu") | func("add")
    assert residual_trace.find(many) == residual_trace.find(func("add"))


def test_repr_of_a_long_combination_keeps_its_brackets():
    a, b, c, d = map(func, "abcd")
    assert repr((a | b) & c | d) == "(func('a') | func('b')) & func('c') | func('d')"
    assert repr(a & (b | c) & d) == "func('a') & (func('b') | func('c')) & func('d')"


def test_the_set_of_selectors_is_closed(residual_trace):
    class Mine(Selector):
        pass

    with pytest.raises(ArgumentTypeError, match="Mine is not a selector of TorchLens; the set of selectors is closed"):
        residual_trace.find(func("a") & Mine())


@pytest.mark.parametrize(
    ("given", "shown", "remedy"),
    [
        (
            "relu",
            "'relu' (str)",
            "trace.find(tl.func('relu')) for the function",
        ),
        (
            "blocks.0",
            "'blocks.0' (str)",
            "trace.find(tl.in_module('blocks.0')) for every op inside the module, "
            "trace.find(tl.module('blocks.0')) for what it returns",
        ),
        ("relu_1_3", "'relu_1_3' (str)", "trace['relu_1_3'] for the label"),
        (
            "blocks",
            "'blocks' (str)",
            "trace.find(tl.in_module('blocks')) for every op inside the module, "
            "trace.find(tl.module('blocks')) for what it returns",
        ),
        (
            "blocks.7",
            "'blocks.7' (str)",
            "closest: tl.in_module('blocks.1'), tl.in_module('blocks.0'); "
            "trace.find(tl.label_contains('blocks.7')) for a part of a label",
        ),
        ("zzz", "'zzz' (str)", "trace.find(tl.label_contains('zzz')) for a part of a label"),
        (
            len,
            "<built-in function len> (builtin_function_or_method)",
            "trace.find(tl.where(lambda op: ...)) for a function of an op",
        ),
        (3, "3 (int)", 'trace.find(tl.func("relu") & tl.in_module("layer1"))'),
    ],
)
def test_find_takes_a_selector(residual_trace, given, shown, remedy):
    with pytest.raises(ArgumentTypeError) as refused:
        residual_trace.find(given)
    assert refused.value.code == "selector_invalid"
    assert refused.value.problem == f"find() takes a selector, and was given {shown}."
    assert refused.value.remedy == remedy


@pytest.mark.parametrize("answer", [1, 0, "yes", [], 1.0])
def test_a_predicate_answers_with_a_bool(residual_trace, answer):
    with pytest.raises(ArgumentTypeError) as refused:
        residual_trace.find(where(lambda op: answer, name_hint="mine"))
    assert refused.value.code == "predicate_return_invalid"
    assert str(refused.value) == (
        f"The predicate where(mine) returned {answer!r} ({type(answer).__name__}) for op 0 (input, shape (2, 10)); "
        "it must return True, False or None.\n  What to do: wrap the result in bool(...)"
    )
    assert refused.value.fields["op"] == 0


def test_a_predicate_may_raise_its_own_error(residual_trace):
    with pytest.raises(ZeroDivisionError):
        residual_trace.find(where(lambda op: 1 / 0 > 0))


def test_context_says_everything_that_is_known_of_an_op(run):
    run.module("layer1", "Block")
    run.module("layer1.0", "Linear")
    weight = run.param("layer1.0.weight", (4, 4))
    x = run.source("input", "x", (2, 4), "bfloat16")
    with run.inside(""), run.inside("layer1"), run.inside("layer1.0"):
        _, second = run.outputs("split_", [x], [(2, 1), (2, 3)], [weight], "bfloat16")
    context = OpContext(second)
    assert context.index == 2
    assert context.kind == "op"
    assert context.func_name == "split_"
    assert context.type == "split"
    assert context.is_inplace is True
    assert context.module == "layer1.0"
    assert context.module_class == "Linear"
    assert context.modules == ("layer1:1", "layer1.0:1")
    assert context.shape == (2, 3)
    assert context.dtype == "bfloat16"
    assert context.device == "cpu"
    assert context.requires_grad is True
    assert context.output_index == 1
    assert context.func_call_id == 1
    assert context.parent_indices == (0,)
    assert context.address == ""
    assert repr(context) == "<OpContext 2: split_ bfloat16[2, 3] in layer1.0>"
    source = OpContext(x)
    assert (source.func_name, source.type, source.is_inplace, source.module, source.module_class) == (
        "input",
        "input",
        False,
        "",
        "",
    )
    assert (source.modules, source.func_call_id, source.address) == ((), 0, "x")


def test_context_is_read_only_and_says_what_it_has(run):
    context = OpContext(run.source("input", "x", (2, 4)))
    with pytest.raises(FieldUnavailableError) as refused:
        context.shape = (1,)  # type: ignore[misc]
    assert refused.value.code == "op_context_read_only"
    assert str(refused.value) == (
        "What a predicate sees of an op is read-only; 'shape' cannot be set.\n"
        "  What to do: return True or False from the predicate, and keep notes in a variable of your own"
    )


@pytest.mark.parametrize("field", ["label", "out", "children", "pass_number", "payload", "nonsense"])
def test_a_live_predicate_is_refused_what_is_not_known_yet(run, field):
    context = OpContext(run.source("input", "x", (2, 4)))
    with pytest.raises(FieldUnavailableError) as refused:
        getattr(context, field)
    assert refused.value.code == "live_field_unavailable"
    assert isinstance(refused.value, AttributeError)
    assert str(refused.value) == (
        f"A predicate sees no {field!r} while a run is recorded: labels, values and what comes later are not known "
        "yet. It sees index, kind, func_name, type, func_call_id, output_index, is_inplace, shape, dtype, device, "
        "requires_grad, parent_indices, module, module_class, modules, address.\n"
        f"  What to do: ask the finished trace: trace = tl.trace(model, x); "
        f"trace.find(tl.where(lambda op: op.{field} ...))"
    )
    assert refused.value.fields["field"] == field


def test_a_predicate_of_find_sees_the_finished_op(residual_trace):
    seen = []
    residual_trace.find(where(lambda op: seen.append(op)))
    assert seen == list(residual_trace.ops)
    assert found(residual_trace, where(lambda op: op.label.startswith("add") and op.children == ("linear_4_8:1",))) == [
        7
    ]
    assert set(dir(OpContext)) - {"__getattr__"} <= set(dir(Op))
