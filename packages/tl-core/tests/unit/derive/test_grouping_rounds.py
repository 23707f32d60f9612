"""Layers: framework functions below one line, outputs, periods, and whatever loops do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_run import Run, labels, passes

from tl_core._chain import period


def attention(run, x):
    """What one line of the user's code makes a framework function do: all calls have that line as their site."""
    site = ((attention.__code__, 0),)
    split = run("linear", x, params=(run.param("in_proj"),), frames=site)
    parts = [run("getitem", split, frames=site) for _ in range(3)]
    q, k, v = [run("view", part, frames=site) for part in parts]
    scores = run("matmul", q, k, frames=site)
    return run("matmul", scores, v, frames=site)


def test_calls_of_a_framework_function_below_one_line_are_told_apart():
    run = Run()
    assert set(passes(run.play(attention, run.input())).values()) == {1}


def test_a_framework_function_in_a_loop_folds_call_by_call():
    def model(run, x):
        for _ in range(3):
            x = attention(run, x)
        return x

    run = Run()
    found = passes(run.play(model, run.input()))
    assert len(found) == 9
    assert set(found.values()) == {3}


def test_outputs_of_one_call_are_layers_by_position():
    def model(run, x):
        for _ in range(2):
            a, b = run("chunk", x, count=2)
            x = run("mul", a, b)
        return x

    run = Run()
    trace = run.play(model, run.input())
    assert labels(trace) == [
        "chunk_1_1:1", "chunk_2_2:1", "mul_1_3:1", "chunk_1_1:2", "chunk_2_2:2", "mul_1_3:2",
    ]  # fmt: skip
    assert [op.func_call_id for op in trace.ops if op.kind == "op"] == [1, 1, 2, 3, 3, 4]
    assert [op.output_index for op in trace.ops if op.kind == "op"] == [0, 1, 0, 0, 1, 0]


def test_without_call_sites_a_plain_repetition_folds_and_equal_blocks_do_not():
    def plain(run, x):
        for _ in range(3):
            x = run("sin", run("relu", x, frames=()), frames=())
        return x

    def blocks(run, x):
        for number in range(3):
            weight = (run.param(f"w{number}"),)
            x = run("relu", run("linear", x, params=weight, frames=()), frames=())
        return x

    run = Run()
    assert passes(run.play(plain, run.input())) == {"relu_1_1": 3, "sin_1_2": 3}
    run = Run()
    assert set(passes(run.play(blocks, run.input())).values()) == {1}


def test_a_second_read_of_a_buffer_is_its_second_pass():
    def model(run, x):
        first = run.buffer("bn.mean")
        written = run("batch_norm", x, first)
        second = run.buffer("bn.mean", written)
        other = run.buffer("bn.var")
        return run("add", second, other)

    run = Run()
    trace = run.play(model, run.input())
    found = [op.label for op in trace.ops if op.is_buffer]
    assert found == ["buffer_1:1", "buffer_1:2", "buffer_2:1"]
    assert trace.ops["buffer_1:2"].parents == ("batchnorm_1_1:1",)


def test_stored_groups_are_kept():
    def model(run, x):
        return run("relu", run("relu", x))

    run = Run()
    trace = run.play(model, run.input(), loaded=True, groups=((0, 1), (1, 1), (1, 2), (2, 1)))
    assert [op.label for op in trace.ops] == ["input_1:1", "relu_1_1:1", "relu_1_1:2", "output_1:1"]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("a", 1),
        ("aaaa", 1),
        ("abab", 2),
        ("ababa", 2),
        ("aba", 3),  # one round and a half is no repetition
        ("abcab", 5),
        ("aabaab", 3),
        ("tluugggvt", 9),
    ],
)
def test_the_period_of_calls_below_one_line(tokens, expected):
    assert period(list(tokens)) == expected


@given(st.text("ab", min_size=1, max_size=6), st.integers(2, 5), st.integers(0, 5))
def test_a_period_is_found_whatever_is_repeated(word, times, rest):
    """Slow and obvious: the smallest p with t[i] == t[i - p], that fits at least twice."""
    tokens = list(word * times + word[: rest % len(word)])
    fits = [p for p in range(1, len(tokens) // 2 + 1) if all(tokens[i] == tokens[i - p] for i in range(p, len(tokens)))]
    assert period(tokens) == fits[0]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_passes_of_nested_loops_add_up(rounds):
    def model(run, x):
        for inner in rounds:
            for _ in range(inner):
                x = run("relu", x)
            x = run("sin", x)
        return x

    run = Run()
    assert passes(run.play(model, run.input())) == {"relu_1_1": sum(rounds), "sin_1_2": len(rounds)}


CODE = compile("f()", "net.py", "exec")
SITES = tuple(((CODE, 2 * number),) for number in range(40))
"""Call sites of one function of the user."""


@st.composite
def bodies(draw, depth=2):
    """Statements: `v[w] = f(v[r], ...)`, or a loop over statements. Each `f` gets a line of its own by `numbered`."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        if depth and draw(st.booleans()):
            found.append((draw(st.integers(1, 3)), draw(bodies(depth=depth - 1))))
        else:
            reads = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
            found.append((reads, draw(st.integers(0, 2))))
    return found


def numbered(body, counter):
    return [
        (head, numbered(rest, counter)) if isinstance(head, int) else (head, rest, next(counter)) for head, rest in body
    ]


def execute(run, body, values, counts):
    for statement in body:
        if len(statement) == 2:
            for _ in range(statement[0]):
                execute(run, statement[1], values, counts)
        else:
            reads, target, line = statement
            values[target] = run(f"f{line}", *[values[read] for read in reads], frames=SITES[line])
            counts[line] = counts.get(line, 0) + 1


@given(bodies())
def test_whatever_loops_do_with_their_variables_each_line_is_one_layer(body):
    program = numbered(body, iter(range(40)))
    counts = {}

    def model(run, x):
        values = [x, x, x]
        execute(run, program, values, counts)
        return tuple(values)

    run = Run(keep_orphans=True)
    trace = run.play(model, run.input())
    assert {layer.func_name: layer.num_passes for layer in trace.layers if layer.kind == "op"} == {
        f"f{line}": count for line, count in counts.items()
    }


@given(bodies(), st.sets(st.integers(0, 39)))
def test_layers_are_numbered_without_holes_and_hold_equal_calls(body, weighted):
    """Lines in `weighted` read another parameter each time."""
    program = numbered(body, iter(range(40)))

    def weigh(run, block, values):
        for statement in block:
            if len(statement) == 2:
                for _ in range(statement[0]):
                    weigh(run, statement[1], values)
            else:
                reads, target, line = statement
                params = (run.param(f"w{len(run.builder.ops)}"),) if line in weighted else ()
                parents = [values[read] for read in reads]
                values[target] = run(f"f{line}", *parents, frames=SITES[line], params=params)

    def model(run, x):
        values = [x, x, x]
        weigh(run, program, values)
        return tuple(values)

    run = Run(keep_orphans=True)
    trace = run.play(model, run.input())
    assert len(set(trace.layers.keys())) == len(trace.layers)
    assert len(set(trace.ops.keys())) == len(trace.ops)
    for layer in trace.layers:
        assert [op.pass_number for op in layer.ops] == list(range(1, layer.num_passes + 1))
        assert len({(op.func_name, op.module, op.params) for op in layer.ops}) == 1
        assert layer.num_passes == 1 or not layer.params
