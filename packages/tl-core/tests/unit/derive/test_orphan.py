"""Ops connected to neither an input nor an output are dropped, and everything is numbered without them."""

from __future__ import annotations

from scripted_run import Run


def model_with_orphans(run, x):
    ones = run("ones")
    run("mul", ones)  # used by nobody
    y = run("relu", x)
    with run.inside("block"):
        run("rand")
        run("sin", y)  # descends from the input, reaches no output
        return run("add", y, run("arange"))


def play(**options):
    run = Run(**options)
    run.register("block")
    return run.play(model_with_orphans, run.input())


def test_orphans_are_dropped():
    trace = play()
    assert [op.label for op in trace.ops] == [
        "input_1:1", "relu_1_1:1", "sin_1_2:1", "arange_1_3:1", "add_1_4:1", "output_1:1",
    ]  # fmt: skip
    assert [op.index for op in trace.ops] == [0, 1, 2, 3, 4, 5]
    assert trace.ops[4].parents == ("relu_1_1:1", "arange_1_3:1")
    assert trace.ops[5].parents == ("add_1_4:1",)
    assert [op.label for op in trace["block:1"].ops] == ["sin_1_2:1", "arange_1_3:1", "add_1_4:1"]


def test_call_numbers_do_not_shift():
    assert [op.func_call_id for op in play().ops if op.kind == "op"] == [3, 5, 6, 7]


def test_orphans_can_be_kept():
    trace = play(keep_orphans=True)
    assert [op.label for op in trace.ops][:4] == ["input_1:1", "ones_1_1:1", "mul_1_2:1", "relu_1_3:1"]
    assert len(trace.ops) == 9


def test_a_factory_that_only_meets_the_input_in_a_dead_branch_stays_with_it():
    """The parents of a kept op are kept, so that its record is whole."""

    def model(run, x):
        run("add", x, run("ones"))
        return run("relu", x)

    run = Run()
    trace = run.play(model, run.input())
    assert [op.label for op in trace.ops][1:3] == ["ones_1_1:1", "add_1_2:1"]
    assert trace.ops[2].parents == ("input_1:1", "ones_1_1:1")


def test_an_op_whose_value_was_read_stays():
    """`if torch.rand(1) > 0.5` decided what ran, though no tensor came of it."""

    def model(run, x):
        run("ones")
        coin = run("gt", run("rand"))
        run.builder.read("bool", coin.index, True, ())
        run("ones")
        return run("relu", x)

    run = Run()
    trace = run.play(model, run.input())
    assert [op.type for op in trace.ops] == ["input", "rand", "gt", "relu", "output"]
    assert trace.conditionals[0].op == "gt_1_2:1"
    assert trace.reads[0].op_count == 3


def test_module_inputs_outputs_and_gaps_are_renumbered():
    def model(run, x):
        dead = run("ones")
        run.builder.gap("unseen", "on an orphan", dead.index)
        with run.inside("block") as call:
            y = run("relu", x)
        call.inputs, call.outputs = (x.index, dead.index), (y.index,)
        run.builder.gap("unseen", "on relu", y.index)
        return y

    run = Run()
    run.register("block")
    trace = run.play(model, run.input())
    call = trace["block:1"]
    assert [op.label for op in call.inputs] == ["input_1:1"]
    assert [op.label for op in call.outputs] == ["relu_1_1:1"]
    assert [gap.op for gap in trace.gaps] == [-1, 1]


def test_a_failed_run_keeps_everything():
    """Nobody knows what an op would have led to."""

    def model(run, x):
        run("ones")
        run("relu", x)

    run = Run()
    trace = run.play(model, run.input(), outcome="failed")
    assert [op.type for op in trace.ops] == ["input", "ones", "relu"]


def test_a_run_without_inputs_and_outputs_keeps_everything():
    run = Run()
    trace = run.play(lambda run: run("ones") and None)
    assert [op.type for op in trace.ops] == ["ones"]
