"""What joins are for: gates, routers, experts. The expected ops are named by hand."""

from __future__ import annotations

from nets import carrying
from recorder import Recorder
from said import rows_of


def fc(run, name, *parents):
    """Append an op with a parameter of its own."""
    return run.op("linear", *parents, params=[(f"{name}.weight", (8, 8))])


def told(run, result):
    """What a picture says of joins, with every op drawn."""
    return run.done(result).draw(collapse="none").scene.joins


def test_an_activation_of_another_branch_is_a_gate():
    for activation in ("silu", "sigmoid", "gelu", "hardsigmoid", "tanh"):
        run = Recorder()
        x = run.input()
        opened = run.op("transpose", run.op("to", run.op(activation, fc(run, "gate", x))))
        drawing = run.done(run.op("mul", fc(run, "up", x), opened)).draw(collapse="none")
        assert drawing.scene.joins == (f"mul by {activation}",)
        assert rows_of(drawing, "mul") == [["mul", f"by {activation}", "(1, 8)"]]


def test_an_activation_that_others_read_is_no_gate():
    run = Recorder()
    x = run.input()
    y = run.op("silu", fc(run, "conv", x))
    assert told(run, run.op("add", run.op("mul", y, fc(run, "up", x)), fc(run, "fc", y))) == ("mul, add",)
    run = Recorder()
    x = run.input()
    y = run.op("view", run.op("silu", fc(run, "conv", x)))
    assert told(run, run.op("add", run.op("mul", y, fc(run, "up", x)), fc(run, "fc", y))) == ("mul, add",)


def test_a_sum_is_no_gate_and_no_product_of_one_branch_is():
    run = Recorder()
    x = run.input()
    assert told(run, run.op("add", run.op("silu", fc(run, "gate", x)), fc(run, "up", x))) == ("add",)
    run = Recorder()
    x = fc(run, "fc", run.input())
    for _ in range(2):
        x = run.op("mul", x, run.op("sigmoid", run.op("mul", x)))  # by a number
        x = run.op("mul", run.op("tanh", run.op("softplus", run.op("view", x))), x)
    assert told(run, x) == ("no branches",)


def test_halves_that_one_layer_projects_are_a_gate():
    run = Recorder()
    one, other = run.op("chunk", fc(run, "both", run.op("relu", run.input())), count=2)
    assert told(run, run.op("mul", one, run.op("sigmoid", other))) == ("mul by sigmoid",)


def test_two_gates_of_one_tensor_are_gates():
    run = Recorder()
    x = fc(run, "fc", run.input())
    y = run.op("mul", run.op("sigmoid", fc(run, "a", x)), run.op("tanh", fc(run, "b", x)))
    assert told(run, y) == ("mul by sigmoid",)


def test_without_parameters_nothing_is_a_gate():
    run = Recorder()
    x = run.input()
    assert told(run, run.op("mul", x, run.op("sigmoid", x))) == ("mul",)


def mixture(run, x, *, pick="getitem"):
    """Append a router that chooses two of eight experts, the product with their weights, and that with the router's."""
    values, indices = run.op("topk", run.op("softmax", fc(run, "router", x)), count=2)
    scale = run.op("div_", values, run.op("sum", values))
    weight = run.op("transpose", run.op(pick, run.op("reshape", indices), params=[("experts.up", (8, 8, 8))]))
    y = run.op("squeeze", run.op("bmm", weight, run.op("unsqueeze", x)))
    return run.op("mul", y, run.op("unsqueeze", scale))


def test_experts_are_chosen_and_weighed():
    for pick in ("getitem", "index_select"):
        run = Recorder()
        drawing = run.done(mixture(run, run.op("relu", run.input()), pick=pick)).draw(collapse="none")
        assert drawing.scene.joins == ("bmm with chosen experts, mul by router weights",)
        (bmm,), (mul,) = rows_of(drawing, "bmm"), rows_of(drawing, "mul")
        assert "with chosen experts" in bmm[1]
        assert mul[1] == "by router weights"


def test_a_part_of_a_parameter_that_no_choice_picks_is_no_expert():
    run = Recorder()
    x = run.op("relu", run.input())
    weight = run.op("getitem", run.op("argmax", x), params=[("table", (8, 8, 8))])
    assert told(run, run.op("bmm", weight, run.op("unsqueeze", x))) == ("bmm",)


def test_a_part_has_the_purposes_of_the_whole():
    run = Recorder()
    x = fc(run, "stem", run.input())
    with run.module("part", "Part"):
        y = run.op("mul", run.op("silu", fc(run, "part.gate", x)), fc(run, "part.up", x))
    assert run.done(run.op("neg", y)).draw(module="part", collapse="none").scene.joins == ("mul by silu",)


def boxed(*, angle=True, several=True, meet=False, give=True):
    """A closed module that two branches enter, or one, each multiplied with an angle or not; and their sum, if they meet there."""
    run = Recorder()
    x = run.input()
    q, turn = fc(run, "q", x), run.op("cos", run.op("arange"))
    k = fc(run, "k", x) if several else q
    turn = turn if several else q
    with run.module("box", "Box"):
        q = run.op("mul", run.op("exp", q), turn) if angle else run.op("exp", q)
        k = run.op("sub", run.op("log", k), turn) if angle else run.op("log", k)
        if meet:
            q = run.op("add", q, k)
    outputs = [run.op("relu", q), run.op("neg", k)] if give else [run.op("relu", q)]
    return " ".join(rows_of(run.done(*outputs).draw(depth=1, collapse="max"), "box")[0])


def test_a_closed_box_says_that_no_branches_join_inside():
    said = "no branches join inside"
    assert said in boxed()
    assert said not in boxed(angle=False)  # no tensors meet at all
    assert said not in boxed(several=False)  # one enters
    assert said not in boxed(give=False)  # one leaves
    text = boxed(meet=True)
    assert said not in text
    assert "joins: add" in text


def test_in_a_loop_the_input_meets_the_state():
    drawing = carrying(20, read=True).draw(collapse="none")
    assert drawing.scene.joins == ("addmm, matmul in each of 20 rounds of Cell",)
    said = [row.text for node in drawing.scene.nodes() for row in node.rows if "input with state" in row.text]
    assert len(said) == 2


def test_a_module_of_one_op_keeps_its_name_in_a_loop():
    run = Recorder()
    x, state = run.input((2, 20, 8)), run.op("zeros", shape=(2, 8))
    for _ in range(20):
        state = run.layer("cell", "GRUCell", "gru_cell", run.op("__getitem__", x), state, size=(48, 8))
    drawing = run.done(state).draw(collapse="none")
    assert drawing.scene.joins == ("GRUCell in each of 20 rounds",)
    assert rows_of(drawing, "cell")[0][1] == "GRUCell · input with state"


def test_what_a_router_does_with_its_own_weights_joins_nothing():
    run = Recorder()
    values, _ = run.op("topk", run.op("softmax", fc(run, "router", run.input())), count=2)
    assert told(run, run.op("mul", values, run.op("rsqrt", run.op("sum", values)))) == ("no branches",)


def test_in_a_long_list_what_is_known_is_named():
    run = Recorder()
    x = y = run.input()
    with run.module("mix", "Mix"):
        for at, function in enumerate(("add", "sub", "div", "add")):
            x = run.op(function, fc(run, f"mix.{at}", x), x)
        x = run.op("mul", x, run.op("silu", fc(run, "mix.gate", y)))
    assert told(run, x) == ("mul by silu and 4 more in Mix",)
