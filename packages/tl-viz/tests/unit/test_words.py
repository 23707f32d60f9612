"""What boxes say: what they hold, how much each copy has, which part is taken, whose parameters are read again."""

from __future__ import annotations

from columns import DEFAULTS, load
from recorder import Recorder
from said import all_rows, rows_of, titles

from tl_viz._draw import picture


def test_a_closed_box_names_first_what_matters_most():
    run = Recorder()
    x = run.input()
    with run.module("part", "Part"):
        y = run.op("sort", run.op("exp", run.op("to", run.op("exp", run.op("view", x)))))
        y = run.op("add", run.op("matmul", y, x), x)
        y = run.layer("part.fc", "Linear", "linear", y, size=(8, 8))
        y = run.op("relu", y)
    drawing = run.done(run.op("tanh", y)).draw(depth=1)
    held = rows_of(drawing, "part")[0][2]
    assert (
        held == "linear, matmul, add, exp ×2 and 4 more · joins: matmul"
    )  # sort and relu, then view and to would follow


def test_a_residual_block_shows_its_join():
    run = Recorder()
    x = run.input()
    for index in range(2):
        with run.module(f"block.{index}", "Block"):
            y = run.layer(f"block.{index}.fc", "Linear", "linear", x, size=(8, 8))
            x = run.op("relu", run.op("add_", y, x))
    assert rows_of(run.done(x).draw(depth=1), "block.0…1") == [
        [
            "block.0…1",
            "Block",
            "×2 own weights",
            "linear, add_, relu · joins: add_",
            "(1, 8) · 64 params ×2 · 128 in all · 3 ops ×2",
        ]
    ]


def test_attention_is_named_although_much_else_is_inside():
    attn = rows_of(picture(load("gpt2-12"), DEFAULTS), "attn")[0]
    assert any("scaled_dot" in row for row in attn)


def test_a_piece_of_a_module_is_named_after_what_holds_parameters_in_it():
    """Forty unlike ops in one module are cut into pieces; each holds two or three of the eight layers."""
    run = Recorder()
    x = run.input()
    with run.module("m", "Long"):
        for index in range(40):
            if index % 5 == 2:
                x = run.layer(f"m.fc{index}x", "Linear", "linear", x, shape=(1, 8 + index), size=(8, 8 + index))
            else:
                x = run.op(("exp", "log", "neg", "tanh", "abs")[(index * index + index // 3) % 5], x)
    titles = [node.rows[0].text for node in run.done(run.op("relu", x)).draw(collapse=0.8).scene.nodes()]
    assert titles == ["x", "fc2x, fc7x, fc12x", "fc17x, fc22x", "fc27x, fc32x, fc37x", "relu", "output_1"]


def test_parameters_that_reach_an_op_through_a_view_are_named():
    run = Recorder()
    x = run.input()
    with run.module("experts", "Experts"):
        for name in ("up", "down"):
            weight = run.op("transpose", params=[(f"experts.{name}", (8, 4, 6))])
            x = run.op("bmm", x, weight)
    experts = rows_of(run.done(run.op("relu", x)).draw(depth=1), "experts")[0]
    assert experts[:4] == ["experts", "Experts", "up (8, 4, 6), down (8, 4, 6)", "bmm ×2, transpose ×2"]


def test_copies_say_what_each_has_and_all_have():
    run = Recorder()
    x = run.input()
    for index in range(3):
        with run.module(f"h.{index}", "Block"):
            y = run.layer(f"h.{index}.a", "Linear", "linear", x, size=(8, 10))
            x = run.op("add", x, run.op("relu", y))
    trace = run.done(x)
    opened = trace.draw(collapse="none", fold_repeats=True)
    assert titles(opened) == ["h.0…2 Block ×3 own weights 80 params ×3 blocks · 240 in all"]
    assert rows_of(opened, "a") == [["a", "Linear", "(1, 8) · 80 params ×3"]]
    closed = trace.draw(depth=1, fold_repeats=True)
    assert [row for rows in rows_of(closed, "h.0…2") for row in rows][2:] == [
        "×3 own weights",
        "linear, add, relu · joins: add",
        "(1, 8) · 80 params ×3 · 240 in all · 3 ops ×3",
    ]


def test_copies_of_different_sizes_say_the_first_and_the_last():
    drawing = picture(load("unet"), DEFAULTS)
    # DoubleConv(a, b) has 9ab + 9bb + 6b: 2,832 for (3, 16), 14,016, 55,680, and 221,952 for (64, 128)
    assert titles(drawing)[0] == "down.0…3, pool ≈×4 own weights 2.83k…222k params ×4 copies · 294k in all"
    assert rows_of(drawing, "pool") == [["pool", "MaxPool2d", "(1, 16…128, 32…4, 32…4)"]]


def test_copies_that_alternate_are_named_copy_by_copy():
    run = Recorder()
    x = run.input()
    for index in range(1, 7):
        kind, function = ("Stage", "linear") if index % 2 else ("Merging", "conv2d")
        x = run.layer(f"features.{index}", kind, function, x, size=(8, 8))
    (title,) = titles(run.done(x).draw(collapse="none", fold_repeats=True))
    assert title == "features.1–2, 3–4, 5–6 ×3 own weights 128 params ×3 copies · 384 in all"


def test_many_copies_that_alternate_name_the_first_and_the_last():
    run = Recorder()
    x = run.input()
    for index in range(10):
        kind, function = ("Dropout", "dropout") if index % 2 else ("Linear", "linear")
        x = run.layer(f"net.{index}", kind, function, x, size=None if index % 2 else (8, 8))
    (title,) = titles(run.done(x).draw(collapse="none", fold_repeats=True))
    assert title == "net.0–1, 2–3 … 8–9 ×5 own weights 64 params ×5 copies · 320 in all"


def test_numbers_that_are_left_out_are_not_in_the_range():
    run = Recorder()
    x = run.input()
    for index in (0, 2, 4):
        x = run.layer(f"net.{index}", "Linear", "linear", x, size=(8, 8))
    assert len(rows_of(run.done(x).draw(collapse="max"), "net.0, 2, 4")) == 1


def test_a_tied_parameter_says_what_it_is_tied_to():
    run = Recorder()
    y = run.layer("wte", "Embedding", "embedding", run.input(), size=(100, 8))
    with run.module("head", "Linear"):
        y = run.op("linear", y, params=[("wte.weight", (100, 8))])
    assert rows_of(run.done(y).draw(), "head") == [["head", "Linear", "(1, 8) · = wte.weight"]]


def test_a_second_read_in_one_module_is_no_tie():
    run = Recorder()
    with run.module("part", "Part"):
        y = run.op("mul", run.input(), params=[("part.scale", (8,))])
        y = run.op("div", y, params=[("part.scale", (8,))])
        cast = run.op("to", params=[("part.scale", (8,))])
        y = run.op("add", y, cast)
    drawing = run.done(y).draw(collapse="none")
    assert rows_of(drawing, "div scale") == [["div scale", "parameter (8)", "(1, 8) · same params as mul"]]
    assert rows_of(drawing, "to scale") == [["to scale", "parameter (8)", "(1, 8)"]]


def test_an_index_is_written_where_it_is_plain():
    run = Recorder()
    x, places = run.input(), run.input(address="places")
    written = [
        (slice(None), -1), 0, (Ellipsis, slice(8, None)), (slice(None, None, 2), None), slice(1, 3),
    ]  # fmt: skip
    parts = [run.op("__getitem__", x, args=(x, index)) for index in written]
    parts.append(run.op("__getitem__", x, places, args=(x, places)))
    drawing = run.done(run.op("cat", *parts)).draw(fold_repeats=False)
    said = [node.rows[0].text for node in drawing.scene.nodes() if node.rows[0].text.startswith("getitem")]
    assert said == [
        "getitem [:, -1]", "getitem [0]", "getitem [..., 8:]", "getitem [::2, None]", "getitem [1:3]", "getitem [tensor]",
    ]  # fmt: skip


def test_copies_that_take_different_parts_name_the_first_and_the_last():
    run = Recorder()
    x = run.input()
    parts = [run.op("__getitem__", x, args=(x, index)) for index in range(5)]
    drawing = run.done(run.op("cat", *parts)).draw(collapse="none", fold_repeats=True)
    assert len(rows_of(drawing, "getitem [0] … [4]")) == 1


def test_one_call_with_several_outputs_is_one_op():
    run = Recorder()
    x = run.input()
    values, indices = run.op("topk", x, count=2)
    parts = run.op("unbind", values, count=3)
    drawing = run.done(run.op("gather", run.op("cat", *parts), indices)).draw(fold_repeats=True)
    assert len(rows_of(drawing, "topk values")) == len(rows_of(drawing, "topk indices")) == 1
    assert [rows[1] for rows in rows_of(drawing, "unbind")] == ["3 outputs"]
    assert all(node.copies == 1 for node in drawing.scene.nodes())
    assert drawing.notes[0].startswith("4 ops in ")  # topk, unbind, cat, gather


def test_outputs_that_are_read_apart_say_which_they_are():
    run = Recorder()
    one, _, last = run.op("unbind", run.input(), count=3)
    drawing = run.done(run.op("add", run.op("exp", one), last)).draw(fold_repeats=False)
    assert [rows[1:-1] for rows in rows_of(drawing, "unbind 1/3")] == [[]]
    assert [rows[1:-1] for rows in rows_of(drawing, "unbind 3/3")] == [["+ 1 output that nothing reads"]]


def test_a_recurrent_network_says_its_size():
    said = rows_of(picture(load("lstm"), DEFAULTS), "lstm()")
    # 4*64*(32 + 64 + 2) = 25,088 and 4*64*(64 + 64 + 2) = 33,280
    assert said == [
        [
            "lstm()",  # the function, in the frame of the module
            "2 layers (25.1k, 33.3k params), 64 hidden, 20 steps",
            "+ 2 outputs that nothing reads",
            "(1, 20, 64) · 58.4k params",
        ]
    ]


def test_both_directions_are_named_and_a_packed_sequence_has_no_steps():
    run = Recorder()
    x = run.input((30, 8))
    weights = [
        (f"rnn.weight_{kind}_l0{end}", (48, 8 if kind == "ih" else 16))
        for end in ("", "_reverse")
        for kind in ("ih", "hh")
    ]
    with run.module("rnn", "GRU"):
        y = run.op("gru", x, params=weights, shape=(30, 32))
    assert rows_of(run.done(y).draw(), "rnn")[0][1] == "GRU · 1 layer, both directions, 16 hidden"


def test_totals_count_what_is_drawn():
    notes = picture(load("resnet50"), DEFAULTS).notes
    # 53 convolutions, 53 norms, 1 + 16 * 3 ReLUs, 16 additions, 2 pools, flatten, linear
    assert notes == ("175 ops in 33 items", "not drawn: 106 buffers")


def test_outputs_that_are_drawn_as_one_say_how_many_tensors_they_are():
    rows = all_rows(picture(load("gpt2-12-cache"), DEFAULTS))
    assert rows[-1] == ["output.cache.layers.0.keys…11.values", "24 tensors", "(1, 4, 20, 24)"]  # keys and values of 12


def test_what_no_output_depends_on_says_what_it_is():
    run = Recorder()
    x = run.input()
    run.op("all", run.op("eq", run.op("diff", x)))
    drawing = run.done(run.op("exp", x)).draw()
    assert rows_of(drawing, "3 ops") == [["3 ops", "that no output depends on", "diff, eq, all"]]


def test_constants_depend_on_no_input():
    run = Recorder()
    x = run.input()
    table = run.op("neg", run.op("arange"))
    drawing = run.done(run.op("add", x, table)).draw()
    (said,) = [
        rows for rows in ([row.text for row in node.rows] for node in drawing.scene.nodes()) if "2 ops" in rows[-1]
    ]
    assert said == ["arange, neg", "2 ops · reads no input value"]


def test_the_name_of_a_trace_stands_in_the_title_where_somebody_gave_it():
    for given, title in (("", "Net"), ("gpt2-12", "Net · gpt2-12")):
        run = Recorder(trace_name=given)
        assert run.done(run.op("exp", run.input())).draw()._display.title == title
