"""Which joins bring branches together; what each tensor has passed is worked out here by hand, or op by op."""

from __future__ import annotations

from columns import load
from hypothesis import given
from hypothesis import strategies as st
from recorder import Recorder

from tl_viz._apart import apart_of
from tl_viz._display import Stroke


def fc(run, name, *parents):
    """Append an op with a parameter of its own."""
    return run.op("linear", *parents, params=[(f"{name}.weight", (8, 8))])


def told(run, *results):
    """What a picture says of joins, with every op drawn."""
    return run.done(*results).draw(collapse="none").scene.joins


def test_a_sum_around_layers_joins_and_an_activation_does_not():
    run = Recorder()
    x = fc(run, "stem", run.input())
    y = run.op("mul", x, run.op("sigmoid", x))
    assert told(run, run.op("add", x, fc(run, "fc", y))) == ("add",)


def test_a_product_of_two_layers_joins_and_one_of_two_halves_does_not():
    run = Recorder()
    x = run.input()
    y = run.op("mul", run.op("relu", fc(run, "gate", x)), fc(run, "up", x))
    one, other = run.op("chunk", fc(run, "both", y), count=2)
    assert told(run, run.op("imul", run.op("relu", one), other)) == ("mul",)


def test_a_rotation_is_of_one_branch():
    run = Recorder()
    query = fc(run, "query", run.input())
    angles = run.op("mul", run.op("arange"), run.op("exp", run.op("arange")))
    half, other = run.op("chunk", query, count=2)
    turned = run.op("cat", run.op("neg", other), half)
    y = run.op("add", run.op("mul", query, run.op("cos", angles)), run.op("mul", turned, run.op("sin", angles)))
    assert told(run, y) == ("no branches",)


def test_numbers_that_are_given_are_branches_and_indices_and_masks_are_none():
    for dtype, apart in (("float32", True), ("bfloat16", True), ("complex64", True), ("int64", False), ("bool", False)):
        run = Recorder()
        x, other = fc(run, "fc", run.input(address="x")), run.input(address="other", dtype=dtype)
        assert told(run, run.op("add", x, other)) == (("add",) if apart else ("no branches",))


def test_tokens_and_places_are_branches():
    run = Recorder()
    tokens, places = run.input(address="tokens", dtype="int64"), run.op("arange")
    assert told(run, run.op("add", fc(run, "tokens", tokens), fc(run, "places", places))) == ("add",)


def test_a_parameter_in_another_form_is_no_branch():
    run = Recorder()
    scale = run.op("exp", run.op("float", params=[("scale", (8,))]))
    weight = run.op("mul", scale, run.op("abs", params=[("weight", (8,))]))
    bias = run.op("cat", run.buffer("zeros"), params=[("bias", (8,))])
    y = run.op("addcmul", run.op("neg", run.input()), weight, bias)
    assert told(run, y) == ("no branches",)


def test_a_weight_that_the_input_decides_is_a_branch():
    for function in ("conv1d", "linear", "mul"):
        run = Recorder()
        x = run.input()
        picked = run.op("index_select", run.op("argmax", x), params=[("kernels", (4, 8))])
        assert told(run, run.op(function, fc(run, "fc", x), picked)) == (function,)


def test_a_table_of_places_that_the_model_keeps_is_looked_up():
    run = Recorder()
    places = run.op("embedding", run.buffer("position_ids"), params=[("places.weight", (9, 8))])
    assert told(run, run.op("add", fc(run, "fc", run.input()), places)) == ("add",)


def test_a_list_of_what_all_rounds_gave_is_of_one_branch():
    run = Recorder()
    state, x = run.op("zeros"), run.input((2, 30, 8))
    states = []
    for _ in range(30):
        state = run.layer("cell", "Cell", "addmm", run.op("__getitem__", x), state, size=(8, 8))
        states.append(state)
    trace = run.done(run.op("stack", *states))
    for view in ("rolled", "unrolled"):
        drawing = trace.draw(view=view, collapse="none")
        assert [node.joins for node in drawing.scene.nodes() if node.rows[0].text == "stack"] == ["branch"]


def test_a_tensor_in_the_size_of_another_has_passed_nothing():
    run = Recorder()
    x = fc(run, "fc", run.input())
    zeros = run.op("where", run.op("new_zeros", x), run.op("ge", run.op("new_ones", x)))
    assert told(run, run.op("add", fc(run, "fc2", x), zeros)) == ("no branches",)


def test_a_fused_cell_joins_its_state_even_where_that_is_zeros():
    run = Recorder()
    x = run.input()
    y = run.op("lstm", x, run.op("zeros"), params=[("cell.weight", (8, 8))])
    assert told(run, y) == ("input with state",)


def test_attention_of_one_projection_joins():
    run = Recorder()
    q, k, v = run.op("split", fc(run, "qkv", run.input()), count=3)
    y = run.op("scaled_dot_product_attention", q, k, v)
    q, k, v = run.op("split", fc(run, "qkv2", y), count=3)
    y = run.op("matmul", run.op("softmax", run.op("matmul", q, k)), v)
    assert told(run, y) == ("attention, attention matmul ×2",)


def test_a_product_of_what_reads_no_input_does_not():
    run = Recorder()
    angles = run.op("matmul", run.op("arange"), run.op("exp", run.op("arange")))
    y = run.op("sub", fc(run, "fc", run.input()), angles)
    assert told(run, y) == ("no branches",)


def test_what_a_loop_carries_meets_what_is_new():
    network = load("mamba")  # in each of six scans: state = decay[t] * state + new[t], and state @ other[t]
    rounds = [op for op in network.joins if network.rounds[op] == 12]
    assert [network.functions[op] for op in rounds] == ["mul", "add", "matmul"] * 6
    assert network.apart.issuperset(rounds)  # though the decay and what is new have passed the same


def test_what_is_carried_is_a_branch_if_it_has_passed_anything():
    run = Recorder()
    x = fc(run, "fc", run.input())
    state = run.op("mul", run.op("exp", x), run.op("neg", x))
    later = run.op("add", state, run.op("abs", x))
    mask = run.op("setitem", run.op("zeros"), run.op("ones"))
    ops = list(run.done(run.op("where", later, mask)).ops)
    place = {op.label: at for at, op in enumerate(ops)}
    at = {op.func_name: place[op.label] for op in ops if op.kind == "op"}
    joins = {number: 1 for name, number in at.items() if name in {"mul", "add", "setitem", "where"}}
    assert apart_of(ops, joins, place, ()) == set()
    assert apart_of(ops, joins, place, {at["mul"], at["setitem"]}) == {at["mul"], at["add"]}


def test_an_op_joins_branches_if_one_of_its_passes_does():
    run = Recorder()
    state, x = run.op("zeros"), run.input((2, 30, 8))
    for _ in range(30):
        now = run.op("__getitem__", x)
        state = run.layer("cell", "Cell", "addmm", now, state, size=(8, 8))
    ops = list(run.done(state).ops)
    cell = next(op for op in ops if op.func_name == "addmm")
    assert cell.num_passes == 30  # in the first of them the state is zeros
    place = {op.layer_label: at for at, op in enumerate(ops)}
    assert apart_of(ops, {place[cell.layer_label]: 30}, place, ()) == {place[cell.layer_label]}


def test_without_parameters_every_join_counts():
    run = Recorder()
    x = run.input()
    assert told(run, run.op("mul", x, run.op("sigmoid", x))) == ("mul",)


def test_without_inputs_all_is_computed_from_what_the_model_makes():
    run = Recorder()
    x = fc(run, "fc", run.op("randn"))
    assert told(run, run.op("add", run.op("mul", x, run.op("exp", x)), fc(run, "fc2", x))) == ("add",)


def test_a_part_has_the_branches_of_the_whole():
    run = Recorder()
    x = fc(run, "stem", run.input())
    with run.module("part", "Part"):
        y = run.op("mul", x, run.op("sigmoid", x))
        y = run.op("relu", run.op("add", x, fc(run, "part.fc", y)))
    drawing = run.done(run.op("neg", y)).draw(module="part", collapse="none")
    assert drawing.scene.joins == ("add",)
    assert [(node.rows[0].text, node.joins) for node in drawing.scene.nodes() if node.joins] == [
        ("mul", "branch"), ("add", "branches"),
    ]  # fmt: skip


def test_bars_are_dark_or_pale():
    run = Recorder()
    x = fc(run, "stem", run.input())
    y = run.op("mul", x, run.op("sigmoid", x))
    drawing = run.done(run.op("add", x, fc(run, "fc", y))).draw(collapse="none")
    assert [(node.rows[0].text, node.joins) for node in drawing.scene.nodes() if node.joins] == [
        ("mul", "branch"), ("add", "branches"),
    ]  # fmt: skip
    bars = {group.key: group.shapes for group in drawing._display.groups if group.kind == "node"}
    tones = [[shape.colour for shape in bars[key] if isinstance(shape, Stroke)] for key in bars]
    assert [tone for tone in tones if tone] == [["#b8c2cc"], ["#52606d"]]
    assert (
        "no branches: a tensor's own parts or sums, masks, parameters</text>" in drawing.svg
    )  # the sign in the legend
    assert drawing.dot.count("arrowhead=teenormal") == 2  # at the sum alone


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["matmul", "add", "new_zeros", "lstm", "embedding"]),
            st.booleans(),
            st.lists(st.integers(0, 9), max_size=3),
        ),
        max_size=30,
    ),
    st.lists(st.sampled_from(["float32", "int64", "buffer"]), max_size=3),
)
def test_as_sets_say(calls, sources):
    run = Recorder()
    made = [
        run.buffer(f"held.{at}") if kind == "buffer" else run.input(address=f"x{at}", dtype=kind)
        for at, kind in enumerate(sources)
    ]
    for at, (function, learned, reads) in enumerate(calls):
        parents = [made[-1 - back % len(made)] for back in reads] if made else []
        made.append(run.op(function, *parents, params=[(f"w{at}", (2,))] if learned else ()))
    ops = list(run.done(*made[-1:]).ops)
    place = {op.label: at for at, op in enumerate(ops)}
    joins = {at: 1 for at, op in enumerate(ops) if len(op.parents) > 1}

    if not any(op.params for op in ops):
        assert apart_of(ops, joins, place, ()) == joins.keys()
        return
    passed, held, expected = [], [], set()
    for at, op in enumerate(ops):
        parents = [place[name] for name in op.parents]
        read = [] if op.func_name == "new_zeros" else [passed[one] for one in parents if passed[one]]
        only_held = all(held[one] for one in parents)
        if at in joins and (op.func_name == "lstm" or (len(read) if op.func_name == "matmul" else len({*read})) > 1):
            expected.add(at)
        own = {at} if op.kind == "input" and op.dtype == "float32" else set()
        own |= {at} if op.params and (op.func_name == "embedding" or not only_held) else set()
        passed.append(frozenset(own.union(*read)))
        from_held = op.func_name != "embedding" and only_held and bool(parents or op.params)
        held.append(op.kind == "buffer" or (op.kind == "op" and from_held))
    assert apart_of(ops, joins, place, ()) == expected
