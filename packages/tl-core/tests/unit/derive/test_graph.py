"""Parents, children, cones, paths and distances, against a slow reading of the definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_run import Run

from tl_core import ConfigurationError, LookupFailedError, OpRecord
from tl_core._edge import FEW, Edges


@pytest.fixture
def trace():
    """x -> a -> b -> d, a -> c -> e -> d, with a side branch f and a free factory z -> d."""

    def model(run, x):
        a = run("a", x)
        b = run("b", a)
        c = run("c", a)
        e = run("e", c)
        run("f", c)
        z = run("z")
        return run("d", b, e, z)

    run = Run()
    return run.play(model, run.input())


def names(ops):
    """Types of ops: this trace has each once."""
    return [op.type for op in ops]


def test_parents_and_children(trace):
    assert trace["d_1"].ops[0].parents == ("b_1_2:1", "e_1_4:1", "z_1_6:1")
    assert trace["a_1"].ops[0].children == ("b_1_2:1", "c_1_3:1")
    assert names(trace.graph.parents("d_1:1")) == ["b", "e", "z"]
    assert names(trace.graph.children("c_1:1")) == ["e", "f"]
    assert trace.graph.num_edges == 9
    assert repr(trace.graph) == "<Graph: 9 nodes, 9 edges>"


def test_ancestors_descendants_and_cone(trace):
    assert trace["e_1"].ops[0].ancestors() == ("input_1:1", "a_1_1:1", "c_1_3:1")
    assert trace["c_1"].ops[0].descendants() == ("e_1_4:1", "f_1_5:1", "d_1_7:1", "output_1:1")
    assert names(trace.graph.ancestors("c_1:1")) == ["input", "a"]
    assert names(trace.graph.descendants("b_1:1")) == ["d", "output"]
    assert names(trace.graph.cone("e_1:1")) == ["input", "a", "c", "e", "d", "output"]


def test_between(trace):
    graph = trace.graph
    assert names(graph.between("a_1:1", "d_1:1")) == ["a", "b", "c", "e", "d"]
    assert names(graph.between("a_1:1", "d_1:1", paths="shortest")) == ["a", "b", "d"]
    assert names(graph.between("c_1", "d_1")) == ["c", "e", "d"]  # a layer with one pass is an op
    assert names(graph.between(0, -1, "shortest")) == ["input", "a", "b", "d", "output"]
    assert names(graph.between(trace.ops[3], trace.ops[3])) == ["c"]
    assert names(graph.between(trace.ops[3], trace.ops[3], "shortest")) == ["c"]
    assert graph.between("d_1:1", "a_1:1") == ()
    assert graph.between("f_1:1", "d_1:1") == ()
    assert graph.between("f_1:1", "d_1:1", "shortest") == ()


def test_distances(trace):
    found = {
        op.type: (
            op.distance.min_from_input, op.distance.max_from_input, op.distance.min_to_output, op.distance.max_to_output,
        )
        for op in trace.ops
    }  # fmt: skip
    assert found == {
        "input": (0, 0, 4, 5),
        "a": (1, 1, 3, 4),
        "b": (2, 2, 2, 2),
        "c": (2, 2, 3, 3),
        "e": (3, 3, 2, 2),
        "f": (3, 3, None, None),
        "z": (None, None, 2, 2),
        "d": (3, 4, 1, 1),
        "output": (4, 5, 0, 0),
    }
    assert repr(trace.ops[1].distance) == "<distance: from input 1..1, to output 3..4>"


def test_distances_can_be_left_out():
    run = Run(compute_input_output_distances=False)
    trace = run.play(lambda run, x: run("relu", x), run.input())
    assert trace.ops[1].distance.min_from_input is None
    assert trace.ops[1].distance.max_to_output is None


def test_refusals(trace):
    with pytest.raises(ConfigurationError, match="paths='longest' is not known") as caught:
        trace.graph.between(0, -1, "longest")
    assert caught.value.code == "paths_unknown"
    with pytest.raises(LookupFailedError, match="'' stands for 7 ops, and a path needs one"):
        trace.graph.parents("")


@st.composite
def programs(draw):
    """For each op after the inputs, the ops that it reads; and which ops are returned."""
    count = draw(st.integers(1, 12))
    reads = [draw(st.lists(st.integers(0, index + 1), max_size=3, unique=True)) for index in range(count)]
    returned = draw(st.lists(st.integers(0, count + 1), min_size=1, max_size=2, unique=True))
    return reads, returned


def simple_paths(parents, start, end):
    """Every path, by trying all."""
    if start == end:
        return [[end]]
    return [[*path, end] for parent in parents[end] for path in simple_paths(parents, start, parent)]


@given(programs())
def test_all_queries_follow_from_the_paths(program):
    reads, returned = program

    def model(run, a, b):
        made = [a, b]
        for sources in reads:
            made.append(run("f", *[made[source] for source in sources]))
        return tuple(made[index] for index in returned)

    run = Run(keep_orphans=True)
    trace = run.play(model, run.input("a"), run.input("b"))
    parents = [[], [], *reads, *[[index] for index in returned]]
    total = len(parents)
    outputs = range(total - len(returned), total)
    paths = {(s, e): simple_paths(parents, s, e) for s in range(total) for e in range(total)}
    for one in range(total):
        op = trace.ops[one]
        index_of = trace.ops.keys().index
        assert [index_of(label) for label in op.parents] == parents[one]
        assert [index_of(label) for label in op.children] == [c for c in range(total) if one in parents[c]]
        assert [index_of(label) for label in op.ancestors()] == [o for o in range(total) if o != one and paths[o, one]]
        down = [o for o in range(total) if o != one and paths[one, o]]
        assert [index_of(label) for label in op.descendants()] == down
        up = [len(path) - 1 for origin in (0, 1) for path in paths[origin, one]]
        assert (op.distance.min_from_input, op.distance.max_from_input) == (
            min(up, default=None),
            max(up, default=None),
        )
        out = [len(path) - 1 for end in outputs for path in paths[one, end]]
        assert (op.distance.min_to_output, op.distance.max_to_output) == (
            min(out, default=None),
            max(out, default=None),
        )
        for other in range(total):
            on_paths = sorted({step for path in paths[one, other] for step in path})
            assert [found.index for found in trace.graph.between(one, other)] == on_paths
            shortest = [found.index for found in trace.graph.between(one, other, "shortest")]
            if on_paths:
                assert shortest in paths[one, other]
                assert len(shortest) == min(map(len, paths[one, other]))
            else:
                assert shortest == []


@pytest.mark.parametrize("count", [FEW - 1, FEW, FEW + 500])
def test_small_and_large_graphs_have_the_same_edges(count):
    """Op `i` reads ops `i - 1` and `i // 2`, so op `p` is read by `p + 1`, `2p` and `2p + 1`."""
    ops = [OpRecord(0, "input", None, 0, (), (), "f", "cpu", False, None, None, "x", None)]
    for index in range(1, count):
        read = tuple(dict.fromkeys((index - 1, index // 2)))
        ops.append(OpRecord(index, "op", None, 0, read, (), "f", "cpu", False, None, None, "", None))
    edges = Edges(ops)
    for op in (0, 1, 2, 7, 400, count // 2 - 1, count - 1):
        readers = {op + 1, 2 * op, 2 * op + 1}
        assert edges.children(op) == sorted(reader for reader in readers if op < reader < count)
        assert edges.parents(op) == list(ops[op].parents)
