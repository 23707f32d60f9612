"""What a function of the code computed is one part of the picture, named after it."""

from __future__ import annotations

from recorder import Recorder


def inside(line, name="rotate", called=30):
    """A call site in a function that the forward of the model calls."""
    return (("net.py", line, name), ("net.py", called, "forward"), ("run.py", 1, "main"))


def at(line):
    """A call site in the forward of the model."""
    return (("net.py", line, "forward"), ("run.py", 1, "main"))


def boxes(drawing):
    return [" ".join(part.text for part in box.title) for box in drawing.scene.boxes()]


def names(drawing):
    return [node.rows[0].text for node in drawing.scene.nodes()]


def helped(run, x):
    """Append three ops of a function between two of the forward that calls it."""
    x = run.op("exp", x, frames=at(29))
    x = run.op("neg", x, frames=inside(5))
    x = run.op("cat", x, frames=inside(6))
    x = run.op("tanh", x, frames=inside(7))
    return run.op("log", x, frames=at(31))


def test_what_a_function_computed_is_one_part():
    run = Recorder()
    trace = run.done(helped(run, run.input()))
    assert boxes(trace.draw()) == ["rotate()"]
    closed = next(node for node in trace.draw(collapse=0.99).scene.nodes() if node.rows[0].text == "rotate()")
    assert [row.text for row in closed.rows] == ["rotate()", "neg, cat, tanh", "(1, 8) · 3 ops"]


def test_a_function_that_is_all_of_its_module_or_next_to_nothing_is_no_part():
    run = Recorder()
    x = run.input()
    for line in (5, 6, 7):
        x = run.op(("exp", "neg", "tanh")[line - 5], x, frames=inside(line))
    assert boxes(run.done(x).draw()) == []
    run = Recorder()
    x = run.op("exp", run.input(), frames=at(29))
    x = run.op("neg", run.op("tanh", x, frames=inside(5)), frames=inside(6))
    assert boxes(run.done(run.op("log", x, frames=at(31))).draw()) == []


def test_of_functions_that_did_the_same_the_innermost_gives_the_name():
    run = Recorder()
    x = run.op("exp", run.input(), frames=at(29))
    for line in (5, 6, 7):
        x = run.op(
            ("sin", "neg", "tanh")[line - 5], x, frames=(("a.py", line, "scan"), ("b.py", 9, "wrapped"), *at(30))
        )
    assert boxes(run.done(run.op("log", x, frames=at(31))).draw()) == ["scan()"]


def test_alike_calls_from_one_line_are_copies():
    """Four blocks that are functions: each of eight ops, with a weight of its own."""
    run = Recorder()
    x = run.op("exp", run.input(), frames=at(29))
    for index in range(4):
        x = run.op("linear", x, params=[(f"w{index}", (8, 8))], frames=inside(5))
        for line, name in enumerate(("neg", "cos", "tanh", "sin", "abs", "sqrt", "relu"), start=6):
            x = run.op(name, x, frames=inside(line))
    drawing = run.done(run.op("log", x, frames=at(31))).draw()
    assert boxes(drawing) == ["rotate() ×4 own weights 64 params ×4 copies · 256 in all"]


def test_what_was_called_from_one_line_at_two_times_is_not_joined():
    run = Recorder()
    x = run.op("exp", run.input(), frames=at(28))
    for line in (29, 32):
        for inner in (5, 6, 7):
            x = run.op(("sin", "neg", "tanh")[inner - 5], x, frames=inside(inner))
        x = run.op("log", x, frames=at(line))
    assert boxes(run.done(x).draw(view="unrolled", fold_repeats=False)) == []


def test_modules_that_a_function_calls_stand_in_it():
    run = Recorder()
    x = run.op("exp", run.input(), frames=at(29))
    with run.module("act", "Act"):
        x = run.op("sin", x, frames=(("net.py", 70, "forward"), *inside(4)))
        x = run.op("cos", x, frames=(("net.py", 71, "forward"), *inside(4)))
    x = run.op("neg", run.op("tanh", x, frames=inside(5)), frames=inside(6))
    drawing = run.done(run.op("log", x, frames=at(31))).draw()
    assert boxes(drawing) == ["rotate()", "act Act"]
    assert names(drawing) == ["x", "exp", "sin", "cos", "tanh", "neg", "log", "output_1"]


def test_a_function_with_parameters_needs_more_items():
    run = Recorder()
    x = run.op("exp", run.input(), frames=at(29))
    x = run.op("linear", x, params=[("w", (8, 8))], frames=inside(5))
    x = run.op("neg", run.op("tanh", x, frames=inside(6)), frames=inside(7))
    assert boxes(run.done(run.op("log", x, frames=at(31))).draw()) == []


def test_layers_that_gather_all_before_in_a_function_are_still_a_stack():
    """Each layer reads one tensor more than the one before it, in a function of its own."""
    run = Recorder()
    features = [run.op("exp", run.input())]
    for index in range(4):
        home = f"layer{index}"
        with run.module(home, "Layer"):
            y = run.op("cat", *features, frames=inside(5, "bottleneck", 40))
            y = run.op("neg", y, frames=inside(6, "bottleneck", 40))
            y = run.op("cos", y, frames=inside(7, "bottleneck", 40))
            features.append(run.op("tanh", y, frames=at(41)))
    titles = boxes(run.done(run.op("cat", *features)).draw())
    assert titles[0].startswith("layer0…3 Layer")
    assert "each reads all before" in titles[0]


def test_functions_without_a_name_are_passed_over():
    run = Recorder()
    x = run.op("exp", run.input(), frames=at(29))
    for line in (5, 6, 7):
        x = run.op(("sin", "neg", "tanh")[line - 5], x, frames=(("a.py", line, "<lambda>"), *inside(9)))
    assert boxes(run.done(run.op("log", x, frames=at(31))).draw()) == ["rotate()"]
