"""Which ops are passes of one layer. Every expectation is what a reader of the model's source would say."""

from __future__ import annotations

from scripted_run import Run, labels, passes


def test_a_loop_without_modules_folds():
    def model(run, x):
        for _ in range(3):
            x = run("relu", x)
            x = run("sin", x)
        return x

    run = Run()
    trace = run.play(model, run.input())
    assert labels(trace) == [
        "relu_1_1:1", "sin_1_2:1", "relu_1_1:2", "sin_1_2:2", "relu_1_1:3", "sin_1_2:3",
    ]  # fmt: skip


def test_recurrence_off_gives_one_layer_a_call_with_parameters_too():
    def model(run, x):
        for _ in range(2):
            x = run("relu", run.linear("lin", x))
        return x

    run = Run(recurrence_detection=False)
    run.register("lin", "Linear", param=True)
    trace = run.play(model, run.input())
    assert labels(trace) == ["linear_1_1:1", "relu_1_2:1", "linear_2_3:1", "relu_2_4:1"]


def test_an_rnn_that_reads_x_at_t_folds_whole():
    """`h = tanh(w(x[:, t]) + u(h))`: the index differs each time, and the first `u(h)` has another parent kind."""

    def model(run, x):
        h = run("zeros")
        outs = []
        for _ in range(3):
            xt = run("getitem", x)
            h = run("tanh", run("add", run.linear("w", xt), run.linear("u", h)))
            outs.append(h)
        return run("stack", *outs)

    run = Run()
    run.register("w", "Linear", param=True)
    run.register("u", "Linear", param=True)
    trace = run.play(model, run.input())
    assert passes(trace) == {
        "zeros_1_1": 1, "getitem_1_2": 3, "linear_1_3": 3, "linear_2_4": 3, "add_1_5": 3, "tanh_1_6": 3, "stack_1_7": 1,
    }  # fmt: skip


def test_an_accumulator_folds_though_its_first_sum_has_one_parent():
    """`s = sum(x[:, t] for t in ...)` adds the first item to the number 0."""

    def model(run, x):
        s = None
        for _ in range(3):
            item = run("getitem", x)
            s = run("add", *([item] if s is None else [s, item]))
        return s

    run = Run()
    assert passes(run.play(model, run.input())) == {"getitem_1_1": 3, "add_1_2": 3}


def test_a_list_that_grows_in_the_loop_folds():
    def model(run, x):
        outs = [x]
        for _ in range(4):
            outs.append(run("relu", run("cat", *outs)))
        return outs[-1]

    run = Run()
    assert passes(run.play(model, run.input())) == {"cat_1_1": 4, "relu_1_2": 4}


def test_calls_on_two_lines_are_two_layers():
    def model(run, x):
        x = run("relu", x)
        return run("relu", x)

    run = Run()
    assert labels(run.play(model, run.input())) == ["relu_1_1:1", "relu_2_2:1"]


def test_two_calls_on_one_line_are_two_layers():
    def model(run, x):
        return run("relu", run("relu", x))

    run = Run()
    assert labels(run.play(model, run.input())) == ["relu_1_1:1", "relu_2_2:1"]


def test_a_helper_called_from_two_lines_is_two_sites():
    def act(run, x):
        return run("mul", run("sigmoid", x), x)

    def model(run, x):
        x = act(run, x)
        return act(run, x)

    run = Run()
    assert labels(run.play(model, run.input())) == ["sigmoid_1_1:1", "mul_1_2:1", "sigmoid_2_3:1", "mul_2_4:1"]


def test_a_helper_called_in_a_loop_is_one_site():
    def act(run, x):
        return run("mul", run("sigmoid", x), x)

    def model(run, x):
        for _ in range(2):
            x = act(run, x)
        return x

    run = Run()
    assert labels(run.play(model, run.input())) == ["sigmoid_1_1:1", "mul_1_2:1", "sigmoid_1_1:2", "mul_1_2:2"]


def blocks_model(run, x):
    """A residual stack: equal blocks, other parameters."""
    for number in range(3):
        with run.inside(f"blocks.{number}"):
            y = run.linear(f"blocks.{number}.fc", run("layer_norm", x))
            y = run("gelu", y)
        x = run("mul", run("add", x, y))
    return x


def test_equal_blocks_with_own_parameters_stay_apart_with_what_joins_them():
    run = Run()
    for number in range(3):
        run.register(f"blocks.{number}.fc", "Linear", param=True)
    trace = run.play(blocks_model, run.input())
    assert set(passes(trace).values()) == {1}
    assert labels(trace)[3:5] == ["add_1_4:1", "mul_1_5:1"]
    assert labels(trace)[-1] == "mul_3_15:1"


def test_functions_before_a_layer_that_differs_stay_apart():
    """Parting runs backwards too: sin and cos feed a linear that is another one each time."""

    def model(run, x):
        for number in range(2):
            x = run.linear(f"fc{number}", run("cos", run("sin", x)))
        return x

    run = Run()
    run.register("fc0", "Linear", param=True)
    run.register("fc1", "Linear", param=True)
    assert labels(run.play(model, run.input())) == [
        "sin_1_1:1", "cos_1_2:1", "linear_1_3:1", "sin_2_4:1", "cos_2_5:1", "linear_2_6:1",
    ]  # fmt: skip


def test_a_loop_over_parameters_stays_apart():
    """`for w in self.weights: x = relu(linear(norm(x), w))`."""

    def model(run, x):
        for number in range(3):
            x = run("relu", run("linear", run("norm", x), params=(run.param(f"weights.{number}"),)))
        return x

    run = Run()
    assert set(passes(run.play(model, run.input())).values()) == {1}


def test_a_loop_over_buffers_stays_apart():
    def model(run, x):
        for number in range(3):
            x = run("mul", x, run.buffer(f"table{number}"))
        return x

    run = Run()
    assert passes(run.play(model, run.input())) == {"mul_1_1": 1, "mul_2_2": 1, "mul_3_3": 1}


def test_a_loop_over_inputs_folds():
    """Inputs are data, as the rows of one input are."""

    def model(run, *inputs):
        return run("stack", *[run("relu", one) for one in inputs])

    run = Run()
    trace = run.play(model, run.input("a"), run.input("b"), run.input("c"))
    assert passes(trace) == {"relu_1_1": 3, "stack_1_2": 1}


def test_a_branch_inside_a_loop_does_not_part_it():
    def model(run, x):
        for step in range(4):
            x = run("tanh", x)
            if step == 1:
                x = run("neg", x)
        return x

    run = Run()
    assert passes(run.play(model, run.input())) == {"tanh_1_1": 4, "neg_1_2": 1}


def test_a_loop_that_breaks_in_the_middle_folds():
    def model(run, x):
        for step in range(3):
            x = run("relu", x)
            if step == 2:
                break
            x = run("sin", x)
        return x

    run = Run()
    assert passes(run.play(model, run.input())) == {"relu_1_1": 3, "sin_1_2": 2}


def test_a_stack_of_two_blocks_run_again_and_again_folds_block_by_block():
    """`for step in ...: for block in blocks: x = x + block(x)`: each add belongs to its block."""

    def model(run, x):
        for _ in range(3):
            for number in range(2):
                x = run("add", x, run("relu", run.linear(f"fc{number}", run("norm", x))))
        return x

    run = Run()
    run.register("fc0", "Linear", param=True)
    run.register("fc1", "Linear", param=True)
    assert passes(run.play(model, run.input())) == {
        "norm_1_1": 3, "linear_1_2": 3, "relu_1_3": 3, "add_1_4": 3,
        "norm_2_5": 3, "linear_2_6": 3, "relu_2_7": 3, "add_2_8": 3,
    }  # fmt: skip


def test_an_inner_loop_over_a_list_made_before_folds_with_the_outer_one():
    """A pyramid: levels that were computed once, looked up in every step."""

    def model(run, x):
        levels = [run("reshape", x)]
        for _ in range(2):
            levels.append(run("pool", levels[-1]))
        for _ in range(3):
            where = run("permute", x)
            found = []
            for level in levels:
                found.append(run("sample", level, where))
                where = run("div", where)
            x = run("cat", *found)
        return x

    run = Run()
    assert passes(run.play(model, run.input())) == {
        "reshape_1_1": 1, "pool_1_2": 2, "permute_1_3": 3, "sample_1_4": 9, "div_1_5": 9, "cat_1_6": 3,
    }  # fmt: skip


def test_a_list_of_features_of_different_modules_is_data():
    def model(run, x):
        features = [run.linear(f"fc{number}", x) for number in range(3)]
        return run("stack", *[run("relu", feature) for feature in features])

    run = Run()
    for number in range(3):
        run.register(f"fc{number}", "Linear", param=True)
    assert passes(run.play(model, run.input())) == {
        "linear_1_1": 1, "linear_2_2": 1, "linear_3_3": 1, "relu_1_4": 3, "stack_1_5": 1,
    }  # fmt: skip


def test_densely_connected_layers_stay_apart():
    """`features.append(layer(cat(features)))`: the list grows by another layer's output."""

    def model(run, x):
        features = [x]
        for number in range(3):
            features.append(run.linear(f"fc{number}", run("relu", run("cat", *features))))
        return run("cat", *features)

    run = Run()
    for number in range(3):
        run.register(f"fc{number}", "Linear", param=True)
    assert set(passes(run.play(model, run.input())).values()) == {1}


def test_what_a_loop_has_parted_stays_parted():
    """`[t.to() for t in tables]`, then a loop over the results that folds."""

    def model(run, x):
        tables = []
        for number in range(3):
            tables.append(run("to", run.constant(f"global:TABLE[{number}]")))
        for table in tables:
            x = run("add", x, run("view", table))
        return x

    run = Run()
    assert passes(run.play(model, run.input())) == {"to_1_1": 1, "to_2_2": 1, "to_3_3": 1, "view_1_4": 3, "add_1_5": 3}


def step(run, x, h):
    """One step of an RNN written as a method."""
    mixed = run("add", run.linear("w", x), run.linear("u", h))
    return run("tanh", mixed)


def test_a_step_written_as_a_method_folds_from_every_line():
    def model(run, a, b):
        h = run("zeros")
        h = step(run, a, h)
        return step(run, b, h)

    run = Run()
    run.register("w", "Linear", param=True)
    run.register("u", "Linear", param=True)
    assert passes(run.play(model, run.input("a"), run.input("b"))) == {
        "zeros_1_1": 1, "linear_1_2": 2, "linear_2_3": 2, "add_1_4": 2, "tanh_1_5": 2,
    }  # fmt: skip


def combine(run, x, depth):
    """A tree of one cell, by recursion."""
    if depth == 0:
        return run("relu", x)
    left, right = combine(run, x, depth - 1), combine(run, x, depth - 1)
    joined = run("cat", left, right)
    return run("tanh", run.linear("cell", joined))


def test_a_recursion_folds_around_its_weights():
    """Seven calls of the function; the leaves are two layers, left and right children of a cell."""
    run = Run()
    run.register("cell", "Linear", param=True)
    trace = run.play(lambda run, x: combine(run, x, 2), run.input())
    assert passes(trace) == {"relu_1_1": 2, "relu_2_2": 2, "cat_1_3": 3, "linear_1_4": 3, "tanh_1_5": 3}
    assert trace["cat_1"].ops[2].parents == ("tanh_1_5:1", "tanh_1_5:2")


def test_an_activation_behind_different_weights_is_no_echo():
    def act(run, x):
        return run("relu", x)

    def model(run, x):
        x = act(run, run.linear("a", x))
        return act(run, run.linear("b", x))

    run = Run()
    run.register("a", "Linear", param=True)
    run.register("b", "Linear", param=True)
    assert set(passes(run.play(model, run.input())).values()) == {1}


def test_a_helper_used_twice_on_one_tensor_is_no_echo():
    def act(run, x):
        return run("relu", x)

    def model(run, x):
        for _ in range(2):
            y = run.linear("a", x)
            one = act(run, y)
            two = act(run, y)
            x = run("add", one, two)
        return x

    run = Run()
    run.register("a", "Linear", param=True)
    assert passes(run.play(model, run.input())) == {"linear_1_1": 2, "relu_1_2": 2, "relu_2_3": 2, "add_1_4": 2}


def encoder(run, x):
    """Body of a module called `enc`."""
    with run.inside("enc"):
        x = run("relu", x)
        x = run.linear("enc.fc", x)
        for _ in range(2):
            x = run("tanh", x)
        return x


def test_a_shared_module_repeats_its_sites_from_other_lines():
    def model(run, a, b):
        u = encoder(run, a)
        v = encoder(run, b)
        return run("sub", u, v)

    run = Run()
    run.register("enc.fc", "Linear", param=True)
    trace = run.play(model, run.input("a"), run.input("b"))
    assert labels(trace) == [
        "relu_1_1:1", "linear_1_2:1", "tanh_1_3:1", "tanh_1_3:2",
        "relu_1_1:2", "linear_1_2:2", "tanh_1_3:3", "tanh_1_3:4",
        "sub_1_4:1",
    ]  # fmt: skip


def test_a_shared_module_repeats_its_sites_whatever_they_feed():
    """The module hands out a value from its middle, which feeds another layer each time."""

    def body(run, x):
        with run.inside("enc"):
            middle = run("sin", run("cos", x))
            return middle, run.linear("enc.fc", middle)

    def model(run, a, b):
        one, u = body(run, a)
        run_one = run.linear("f", one)
        two, v = body(run, b)
        run_two = run.linear("g", two)
        return run_one, u, run_two, v

    run = Run()
    for address in ("enc.fc", "f", "g"):
        run.register(address, "Linear", param=True)
    trace = run.play(model, run.input("a"), run.input("b"))
    assert passes(trace) == {"cos_1_1": 2, "sin_1_2": 2, "linear_1_3": 2, "linear_2_4": 1, "linear_3_5": 1}


def test_a_shared_module_in_a_loop_over_different_things_stays_one():
    """`for head in heads: x = head(shared(x))` parts what stands beside the shared module, and not the module."""

    def model(run, x):
        for number in range(3):
            with run.inside("enc"):
                x = run("tanh", run.linear("enc.fc", x))
            x = run("sin", run.linear(f"head{number}", x))
        return x

    run = Run()
    for address in ("enc.fc", "head0", "head1", "head2"):
        run.register(address, "Linear", param=True)
    assert passes(run.play(model, run.input())) == {
        "linear_1_1": 3, "tanh_1_2": 3, "linear_2_3": 1, "sin_1_4": 1,
        "linear_3_5": 1, "sin_2_6": 1, "linear_4_7": 1, "sin_3_8": 1,
    }  # fmt: skip


def test_a_shared_module_without_parameters_is_a_function():
    """`self.relu` used on two lines, as a residual block does."""

    def model(run, x):
        with run.inside("relu"):
            y = run("relu", run.linear("a", x))
        y = run.linear("b", y)
        with run.inside("relu"):
            return run("relu", run("add", x, y))

    run = Run()
    run.register("a", "Linear", param=True)
    run.register("b", "Linear", param=True)
    run.register("relu", "ReLU")
    assert labels(run.play(model, run.input())) == [
        "linear_1_1:1", "relu_1_2:1", "linear_2_3:1", "add_1_4:1", "relu_2_5:1",
    ]  # fmt: skip


def test_a_weight_used_on_two_lines_is_one_layer():
    def model(run, x):
        w = (run.param("w"),)
        x = run("linear", x, params=w)
        x = run("relu", x)
        return run("linear", x, params=w)

    run = Run()
    assert labels(run.play(model, run.input())) == ["linear_1_1:1", "relu_1_2:1", "linear_1_1:2"]


def test_a_tied_weight_in_two_functions_is_two_layers():
    def model(run, x):
        w = (run.param("w"),)
        return run("linear", run("embedding", x, params=w), params=w)

    run = Run()
    assert labels(run.play(model, run.input())) == ["embedding_1_1:1", "linear_1_2:1"]


def test_a_stack_of_shared_layers_folds_like_a_loop():
    """One transformer layer with the same weights, run four times in a stack."""

    def model(run, x):
        for _ in range(4):
            with run.inside("layer"):
                q = run("view", run.linear("layer.q", x))
                k = run("view", run.linear("layer.k", x))
                x = run("add", run("matmul", q, k), x)
        return x

    run = Run()
    run.register("layer.q", "Linear", param=True)
    run.register("layer.k", "Linear", param=True)
    assert passes(run.play(model, run.input())) == {
        "linear_1_1": 4, "view_1_2": 4, "linear_2_3": 4, "view_2_4": 4, "matmul_1_5": 4, "add_1_6": 4,
    }  # fmt: skip


def test_another_branch_in_a_second_call_is_another_site():
    def body(run, x, flag):
        with run.inside("block"):
            x = run("sin", x)
            function = "relu"
            x = run(function, x) if flag else run("relu", x)
            return run.linear("block.fc", x)

    def model(run, x):
        for flag in (True, False, True):
            x = body(run, x, flag)
        return x

    run = Run()
    run.register("block.fc", "Linear", param=True)
    assert labels(run.play(model, run.input())) == [
        "sin_1_1:1", "relu_1_2:1", "linear_1_3:1",
        "sin_1_1:2", "relu_2_4:1", "linear_1_3:2",
        "sin_1_1:3", "relu_1_2:2", "linear_1_3:3",
    ]  # fmt: skip
