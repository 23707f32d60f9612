"""What ops, layers, modules, parameters and buffers say of themselves."""

from __future__ import annotations

import copy

import pytest
from scripted_run import Run

from tl_core import AliasRead, ArgumentTypeError, LookupFailedError, func, in_module, label, module, where


class Value:
    """Stands for a tensor."""


KEPT = Value()


def model(run, x):
    with run.inside("enc"):
        for _ in range(2):
            x = run.linear("enc.fc", x)
            x = run("relu_", x, grad=True, payload=KEPT)
    with run.inside("norm"):
        x = run("batch_norm", x, run.buffer("norm.mean"))
    a, b = run("chunk", x, count=2, shape=(2, 1), dtype="torch.bfloat16")
    return a, b


@pytest.fixture
def trace():
    run = Run()
    run.register("enc.fc", "Linear", param=True)
    run.register("norm", "BatchNorm1d", param=True, buffer=True)
    run.register("unused", "Linear", param=True)
    run.register("list", "ModuleList")
    return run.play(model, run.input(payload=KEPT))


def test_an_op(trace):
    op = trace["relu_1_2:2"]
    assert (op.index, op.label, op.layer_label, op.label_short) == (4, "relu_1_2:2", "relu_1_2", "relu_1:2")
    assert (op.func_name, op.type, op.kind, op.func_call_id, op.output_index) == ("relu_", "relu", "op", 4, 0)
    assert (op.shape, op.dtype, op.device, op.size_bytes) == ((2, 3), "float32", "cpu", 24)
    assert (op.module, op.modules, op.params) == ("enc", ("enc:1",), ())
    assert (op.pass_number, op.num_passes, op.recurrent_ops) == (2, 2, ("relu_1_2:1", "relu_1_2:2"))
    assert (op.is_inplace, op.is_edited, op.transform_kind) == (True, False, None)
    assert (op.io_role, op.address) == ("", "")
    assert op.out is KEPT
    assert (op.autograd.requires_grad, op.autograd.grad_fn) == (True, "ReluBackward0")
    assert op.cost.duration == 1e-6
    assert repr(op) == "<Op relu_1_2:2: float32[2, 3] in enc from linear_1_1:2>"


def test_the_stack_of_modules_is_outermost_first(trace):
    op = trace["linear_1_1:2"]
    assert (op.module, op.modules, op.params) == ("enc.fc", ("enc:1", "enc.fc:2"), ("enc.fc.weight",))


def test_what_an_op_is(trace):
    flags = [(op.is_input, op.is_output, op.is_buffer, op.is_constant) for op in trace.ops]
    assert flags[0] == (True, False, False, False)
    assert flags[1] == (False, False, False, False)
    assert flags[5] == (False, False, True, False)
    assert flags[-1] == (False, True, False, False)


def test_outputs_of_one_call(trace):
    one, two = trace.ops[7], trace.ops[8]
    assert (one.label, two.label) == ("chunk_1_4:1", "chunk_2_5:1")
    assert (one.func_call_id, two.func_call_id) == (6, 6)
    assert one.call.outputs == (one, two)
    assert (two.shape, two.dtype, two.size_bytes) == ((2, 1), "bfloat16", 4)


def test_payloads(trace):
    assert (trace.ops[0].payload.saved, trace.ops[0].payload.location, trace.ops[0].payload.size_bytes) == (
        True, "memory", 24,
    )  # fmt: skip
    assert trace.ops[0].payload.materialize_out() is KEPT
    assert (trace.ops[1].out, trace.ops[1].payload.saved, trace.ops[1].payload.location) == (None, False, "none")
    assert trace.ops[1].payload.size_bytes == 0
    assert repr(trace.ops[0].payload) == "<payload: 24 bytes in memory>"
    assert repr(trace.ops[1].payload) == "<payload: not saved>"


@pytest.mark.parametrize(
    ("kind", "address", "role"),
    [
        ("input", "x", "input.x"),
        ("input", "", "input"),
        ("output", "", "output"),
        ("output", "b[1][0]", "output.b.1.0"),
        ("output", "[0].logits", "output.0.logits"),
        ("output", "['b'][1]", "output.b.1"),
        ("output", "b.1.0", "output.b.1.0"),
        ("buffer", "bn.mean", ""),
    ],
)
def test_role_of_inputs_and_outputs(kind, address, role):
    run = Run(keep_orphans=True)
    run.builder.source(kind, address, (1,), "float32", "cpu", False)
    assert run.finish().ops[0].io_role == role


def test_call_templates():
    def model(run, x):
        w = run.builder.records.params[run.param("w")]
        site = ((model.__code__, 0),)
        alias = AliasRead(x, (), None)
        args = (x, [w, alias], {"k": (1, x)}, slice(0, x, None), "s")
        call = run.builder.call("index", "aten::index", len, args, {"out": x}, (0,), site, 1, False)
        return run.builder.output(call, 0, (x.index,), (1,), "float32", "cpu", False, None, None)

    run = Run()
    trace = run.play(model, run.input())
    call, x, w = trace.ops[1].call, trace.ops[0], trace.params["w"]
    assert call.args == (x, [w, x], {"k": (1, x)}, slice(0, x, None), "s")
    assert call.kwargs == {"out": x}
    assert (call.id, call.name, call.kernel, call.func) == (1, "index", "aten::index", len)
    assert repr(call) == "<call 1: index>"
    assert x.call is None
    assert x.source is None


def test_rare_facts_of_a_call():
    run = Run()

    def model(run, x):
        y = run("sin", x)
        y.call.meta = {"transform_kind": "vmap", "is_edited": True}
        return y

    op = run.play(model, run.input()).ops[1]
    assert (op.transform_kind, op.is_edited) == ("vmap", True)


def test_a_layer_with_one_pass_answers_for_it(trace):
    layer = trace["batchnorm_1"]
    assert (layer.label, layer.num_passes, layer.shape, layer.dtype, layer.device) == (
        "batchnorm_1_3", 1, (2, 3), "float32", "cpu",
    )  # fmt: skip
    assert layer.out is None
    assert layer.payload.saved is False
    assert layer.autograd.grad_fn is None
    assert layer.distance.min_from_input == 5
    assert layer.source.function == "model"
    assert layer.call.id == 5
    assert (layer.parents, layer.children) == (("relu_1_2", "buffer_1"), ("chunk_1_4", "chunk_2_5"))
    assert repr(layer) == "<Layer batchnorm_1_3: float32[2, 3] in norm, not saved>"


def test_a_layer_with_passes(trace):
    layer = trace["relu_1_2"]
    assert layer.ops == (trace.ops[2], trace.ops[4])
    assert (layer.label_short, layer.func_name, layer.type, layer.kind, layer.module) == (
        "relu_1", "relu_", "relu", "op", "enc",
    )  # fmt: skip
    assert trace["linear_1"].params == ("enc.fc.weight",)
    assert layer.parents == ("linear_1_1",)
    assert layer.children == ("linear_1_1", "batchnorm_1_3")  # it feeds the next round and what follows
    assert repr(layer) == "<Layer relu_1_2: float32[2, 3] in enc, 2 passes>"


@pytest.mark.parametrize("field", ["out", "payload", "autograd", "distance", "call"])
def test_what_each_pass_has_for_itself_is_refused(trace, field):
    with pytest.raises(LookupFailedError) as caught:
        getattr(trace["relu_1_2"], field)
    assert caught.value.code == "multi_pass_field"
    assert str(caught.value) == (
        f"relu_1_2 has 2 passes, and each has its own '{field}'.\n"
        f"  What to do: trace.layers['relu_1_2'].ops[i].{field} for i from 0 to 1, "
        f"or trace.ops['relu_1_2:1'].{field} to trace.ops['relu_1_2:2'].{field}"
    )


def test_what_all_passes_agree_on_is_answered(trace):
    layer = trace["relu_1_2"]
    assert (layer.shape, layer.dtype, layer.device, layer.requires_grad) == ((2, 3), "float32", "cpu", True)
    assert layer.source == layer.ops[1].source
    assert layer.source.line == layer.ops[0].source.line
    assert trace["input_1"].source is None


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ([(2, 1), (2, 2)], "(2, 1) in pass 1, (2, 2) in pass 2"),
        ([(2, 1), (2, 1), (2, 2)], "(2, 1) in passes 1 to 2, (2, 2) in pass 3"),
        ([(1,), (2,), (1,), (2,)], "(1,) in passes 1, 3, (2,) in passes 2, 4"),
        (
            [(1,), *[(2,)] * 2, *[(1,)] * 4],
            "(1,) in passes 1, 4, 5, 6 and 1 more, (2,) in passes 2 to 3",
        ),
        (
            [(number,) for number in range(1, 7)],
            "(1,) in pass 1, (2,) in pass 2, (3,) in pass 3, (4,) in pass 4 and 2 more",
        ),
    ],
)
def test_what_passes_differ_in_is_refused_with_the_passes(shapes, said):
    def model(run, x):
        for shape in shapes:
            x = run("relu", x, shape=shape)
        return x

    run = Run()
    x = run.input()
    layer = run.play(model, x)["relu_1_1"]
    count = len(shapes)
    with pytest.raises(LookupFailedError) as caught:
        _ = layer.shape
    assert caught.value.code == "multi_pass_field"
    assert str(caught.value) == (
        f"relu_1_1 has {count} passes whose 'shape' differs: {said}.\n"
        f"  What to do: trace.layers['relu_1_1'].ops[i].shape for i from 0 to {count - 1}, "
        f"or trace.ops['relu_1_1:1'].shape to trace.ops['relu_1_1:{count}'].shape"
    )
    assert layer.dtype == "float32"
    assert repr(layer) == f"<Layer relu_1_1: float32{list(shapes[0])}, {count} passes that differ, not saved>"


def test_the_call_of_the_model_itself_has_a_name(trace):
    call = trace["self:1"]
    assert (call.label, call.address, call.parent) == ("self:1", "", None)
    assert trace["enc:1"].parent == "self:1"
    assert trace["self"] is trace[""]
    assert trace.modules["self"] is trace.modules[""]
    assert call is trace[""].calls[0]
    assert trace[":1"] is call
    assert len(trace.find(in_module("self"))) == len(trace.find(in_module(""))) == len(trace.find(in_module("self:1")))
    assert trace.find(module("self")) == trace.find(module("")) == call.outputs
    assert repr(call) == "<ModuleCall self:1: Net, 7 ops>"


def test_a_module_that_is_really_called_self_keeps_its_name():
    run = Run()
    run.register("self", "Linear", param=True)
    trace = run.play(lambda run, x: run.linear("self", x), run.input())
    assert trace["self"].class_name == "Linear"
    assert trace[""].class_name == "Net"
    assert trace["self:1"].address == "self"


def test_modules(trace):
    assert trace.modules.keys() == ["", "enc", "enc.fc", "norm", "unused", "list"]
    enc = trace["enc"]
    assert (enc.address, enc.name, enc.class_name, enc.training, enc.parent) == ("enc", "enc", "Block", False, "")
    assert (enc.children, enc.params, enc.buffers, enc.param_count, enc.num_calls) == (("enc.fc",), (), (), 16, 1)
    assert [op.label for op in enc.ops] == ["linear_1_1:1", "relu_1_2:1", "linear_1_1:2", "relu_1_2:2"]
    assert [layer.label for layer in enc.layers] == ["linear_1_1", "relu_1_2"]
    assert repr(enc) == "<Module enc: Block, 16 parameters, 1 call>"
    root = trace[""]
    assert (root.parent, root.children, root.param_count) == (None, ("enc", "norm", "unused", "list"), 48)
    assert repr(root) == "<Module (model): Net, 48 parameters, 1 call>"
    norm = trace["norm"]
    assert (norm.params, norm.buffers) == (("norm.weight",), ("norm.mean",))
    assert [op.label for op in norm.ops] == ["batchnorm_1_3:1"]  # the buffer is a source, not an op of the module


def test_a_container_and_a_module_that_was_not_called_have_records(trace):
    assert repr(trace["list"]) == "<Module list: ModuleList, 0 parameters, not called>"
    with pytest.raises(LookupFailedError) as caught:
        _ = trace["unused"].out
    assert caught.value.code == "module_not_called"
    assert str(caught.value) == (
        "Module 'unused' (Linear) was not called in this run, so it has no 'out'.\n"
        "  What to do: trace.modules['unused'].children names the modules below it"
    )


def test_module_calls(trace):
    fc = trace["enc.fc"]
    assert [call.label for call in fc.calls] == ["enc.fc:1", "enc.fc:2"]
    call = trace["enc.fc:2"]
    assert call is fc.calls[1]
    assert (call.address, call.call_number, call.method, call.parent, call.module) == (
        "enc.fc",
        2,
        "forward",
        "enc:1",
        fc,
    )
    assert [op.label for op in call.ops] == ["linear_1_1:2"]
    assert trace["enc:1"].children == ("enc.fc:1", "enc.fc:2")
    assert (trace[":1"].parent, trace[":1"].children) == (None, ("enc:1", "norm:1"))
    assert repr(call) == "<ModuleCall enc.fc:2: Linear, 1 op>"
    with pytest.raises(LookupFailedError) as caught:
        _ = fc.inputs
    assert str(caught.value) == (
        "Module 'enc.fc' was called 2 times, and each call has its own 'inputs'.\n"
        "  What to do: trace.modules['enc.fc'].calls[i].inputs for i from 0 to 1, or trace['enc.fc:1'].inputs"
    )


def test_what_a_module_call_returned():
    def model(run, x):
        with run.inside("one") as call:
            y = run("relu", x, payload=KEPT)
        call.outputs = (y.index,)
        with run.inside("two") as call:
            z = run("sin", y)
        call.outputs = (y.index, z.index)
        return z

    run = Run()
    run.register("one")
    run.register("two")
    trace = run.play(model, run.input())
    assert trace["one"].out is KEPT
    assert [op.label for op in trace["two"].outputs] == ["relu_1_1:1", "sin_1_2:1"]
    with pytest.raises(LookupFailedError, match=r"two:1 returned 2 tensors, so it has no single value\.") as caught:
        _ = trace["two"].out
    assert caught.value.code == "module_output_count"


def test_a_shared_module_is_one_module_with_two_addresses(trace):
    run = Run()
    run.register("a", "Linear", param=True).aliases += ("b.c",)
    trace = run.play(lambda run, x: run.linear("a", run.linear("a", x)), run.input())
    assert trace["b.c"] is trace["a"]
    assert trace["b.c"].addresses == ("a", "b.c")
    assert trace["b.c:2"] is trace["a"].calls[1]


def test_parameters(trace):
    assert trace.params.keys() == ["enc.fc.weight", "norm.weight", "unused.weight"]
    param = trace.params["enc.fc.weight"]
    assert (param.index, param.module, param.name, param.shape, param.dtype, param.device) == (
        0, "enc.fc", "weight", (4, 4), "float32", "cpu",
    )  # fmt: skip
    assert (param.size, param.size_bytes, param.requires_grad, param.value) == (16, 64, True, None)
    assert [op.label for op in param.ops] == ["linear_1_1:1", "linear_1_1:2"]
    assert trace.params["unused.weight"].ops == ()
    assert repr(param) == "<Param enc.fc.weight: float32[4, 4]>"


def test_a_tied_parameter_answers_to_both_addresses():
    run = Run()
    run.param("wte.weight")
    record = run.builder.records.params[0]
    record.aliases += ("lm_head.weight",)
    record.requires_grad = False
    record.reference = lambda: KEPT
    trace = run.play(lambda run, x: x, run.input())
    param = trace.params["lm_head.weight"]
    assert param is trace.params[0]
    assert (param.addresses, param.value) == (("wte.weight", "lm_head.weight"), KEPT)
    assert repr(param) == "<Param wte.weight: float32[4, 4], frozen, tied to lm_head.weight>"


def test_buffers(trace):
    buffer = trace.buffers["norm.mean"]
    assert (buffer.index, buffer.module, buffer.name, buffer.shape, buffer.dtype, buffer.size_bytes) == (
        0, "norm", "mean", (2,), "float32", 8,
    )  # fmt: skip
    assert (buffer.device, buffer.addresses, buffer.value) == ("cpu", ("norm.mean",), None)
    assert [op.label for op in buffer.ops] == ["buffer_1:1"]
    assert repr(buffer) == "<Buffer norm.mean: float32[2]>"


# collections


def test_collections_are_read_by_position_name_and_slice(trace):
    ops = trace.ops
    assert len(ops) == 11
    assert ops[-1] is ops[10]
    assert ops[1:3] == (ops[1], ops[2])
    assert ops[::-5] == (ops[10], ops[5], ops[0])
    assert list(ops) == [ops[index] for index in range(11)]
    assert list(trace) == list(ops)
    assert len(trace) == 11
    assert list(trace.layers.items())[1] == ("linear_1_1", trace["linear_1_1"])
    assert "relu_1_2:2" in ops
    assert "relu_1_2" not in ops
    assert "relu_1_2" in trace.layers
    assert ops[3] in ops
    assert trace["enc"] not in ops
    assert None not in trace.modules


def test_collections_refuse_what_they_do_not_have(trace):
    with pytest.raises(LookupFailedError) as caught:
        trace.ops["relu_1_2"]
    assert str(caught.value) == (
        "'relu_1_2' is not the name of one of the 11 ops of this trace.\n"
        "  What to do: 'relu_1_2' is a layer: trace.layers['relu_1_2'], or one of its ops, 'relu_1_2:1' to 'relu_1_2:2'"
    )
    with pytest.raises(LookupFailedError, match="or one of its ops, 'batchnorm_1_3:1'"):
        trace.ops["batchnorm_1_3"]
    with pytest.raises(LookupFailedError) as caught:
        trace.modules["encc.fc"]
    assert caught.value.code == "op_lookup_not_found"
    assert str(caught.value) == (
        "'encc.fc' is not the name of one of the 6 modules of this trace.\n  What to do: closest: enc.fc, enc"
    )
    with pytest.raises(LookupFailedError, match=r"What to do: trace\.buffers\.keys\(\) gives all names"):
        trace.buffers["zzz"]
    with pytest.raises(LookupFailedError) as caught:
        trace.ops["relu_1_2:3"]
    assert str(caught.value) == (
        "'relu_1_2:3' is not there: 'relu_1_2' has 2 passes.\n  What to do: use relu_1_2:1 to relu_1_2:2"
    )
    with pytest.raises(LookupFailedError, match="There is no parameter 3: the last is 2"):
        trace.params[3]
    with pytest.raises(ArgumentTypeError, match=r"2\.0 \(float\) is not a way to name one layer"):
        trace.layers[2.0]
    with pytest.raises(ArgumentTypeError):
        trace.layers[True]


def test_collections_find_by_selector(trace):
    assert [op.label for op in trace.ops.find(func("relu"))] == ["relu_1_2:1", "relu_1_2:2"]
    assert [layer.label for layer in trace.layers.find(in_module("enc"))] == ["linear_1_1", "relu_1_2"]
    assert trace.find(func("relu")) == trace.ops.find(func("relu"))
    assert trace.find(func("tanh")) == ()


@pytest.mark.parametrize(
    ("kind", "name", "remedy"),
    [
        ("ops", "enc", "'enc' is a module: trace.modules['enc']"),
        ("ops", "enc:1", "'enc:1' is a module call: trace['enc:1']"),
        ("ops", "relu", "'relu' is a function: trace.find(tl.func('relu'))"),
        ("ops", "enc.fc.weight", "'enc.fc.weight' is a parameter: trace.params['enc.fc.weight']"),
        ("ops", "x", "'x' is the address of the input trace.layers['input_1']"),
        ("ops", "norm.meen", "closest: trace.buffers['norm.mean'], trace.modules['norm'], trace.params['norm.weight']"),
        ("layers", "relu_1_2:2", "'relu_1_2:2' is an op: trace.ops['relu_1_2:2']"),
        ("layers", "norm", "'norm' is a module: trace.modules['norm']"),
        ("layers", "norm.mean", "'norm.mean' is a buffer: trace.buffers['norm.mean']"),
        (
            "layers",
            "Linear",
            "'Linear' is the class of 2 modules, such as trace.modules['enc.fc']; closest: linear_1, linear_1_1",
        ),
        (
            "layers",
            "enc.fcc",
            "closest: trace.modules['enc.fc'], trace.params['enc.fc.weight'], trace.modules['enc']",
        ),
        (
            "modules",
            "relu_1",
            "'relu_1' is a layer: trace.layers['relu_1'], or one of its ops, 'relu_1:1' to 'relu_1:2'",
        ),
        ("modules", "enc.fc.weight", "'enc.fc.weight' is a parameter: trace.params['enc.fc.weight']"),
        (
            "modules",
            "BatchNorm1d",
            "'BatchNorm1d' is the class of the module trace.modules['norm']; "
            "closest: trace.layers['batchnorm_1'], trace.layers['batchnorm_1_3']",
        ),
        (
            "modules",
            "chunk_1_5",
            "closest: trace.layers['chunk_2_5'], trace.layers['chunk_1_4'], trace.layers['chunk_1'], "
            "trace.layers['chunk_2']",
        ),
        ("params", "enc.fc", "'enc.fc' is a module: trace.modules['enc.fc']"),
        ("params", "norm.mean", "'norm.mean' is a buffer: trace.buffers['norm.mean']"),
        ("params", "enc.fc.weigth", "closest: enc.fc.weight"),
        ("buffers", "norm.weight", "'norm.weight' is a parameter: trace.params['norm.weight']"),
        ("buffers", "zzz", "trace.buffers.keys() gives all names"),
    ],
)
def test_a_name_of_another_kind_is_told_with_its_accessor(trace, kind, name, remedy):
    with pytest.raises(LookupFailedError) as caught:
        getattr(trace, kind)[name]
    assert caught.value.code == "op_lookup_not_found"
    assert caught.value.remedy == remedy


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("enc.fc.weight", "'enc.fc.weight' is a parameter: trace.params['enc.fc.weight']"),
        ("norm.mean", "'norm.mean' is a buffer: trace.buffers['norm.mean']"),
        ("x", "'x' is the address of the input trace.layers['input_1']"),
        (
            "batch_norm",
            "'batch_norm' is a function: trace.find(tl.func('batch_norm')); closest: batchnorm_1, batchnorm_1_3",
        ),
        (
            "Linear",
            "'Linear' is the class of 2 modules, such as trace.modules['enc.fc']; closest: linear_1, linear_1_1",
        ),
        ("enc.fc.weigth", "closest: trace.params['enc.fc.weight'], enc.fc"),
        ("enc.f", "closest: enc.fc, enc"),
    ],
)
def test_a_name_that_the_trace_itself_does_not_take(trace, key, remedy):
    with pytest.raises(LookupFailedError) as caught:
        trace[key]
    assert str(caught.value) == (
        f"{key!r} is neither a label nor the address of a module in this trace.\n  What to do: {remedy}"
    )


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        (func("relux"), "no op of 'net_1' is func('relux'). No function 'relux' ran; closest: relu_."),
        (func("zzz"), "no op of 'net_1' is func('zzz'). No function 'zzz' ran."),
        (
            func("norm"),
            "no op of 'net_1' is func('norm'). No function 'norm' ran; 'norm' is a module: trace.modules['norm'].",
        ),
        (
            in_module("encc"),
            "no op of 'net_1' is in_module('encc'). The model has no module 'encc'; closest: enc, enc.fc.",
        ),
        (
            module("relu_1"),
            "no op of 'net_1' is module('relu_1'). The model has no module 'relu_1'; 'relu_1' is a layer: "
            "trace.layers['relu_1'], or one of its ops, 'relu_1:1' to 'relu_1:2'.",
        ),
        (in_module("unused"), "no op of 'net_1' is in_module('unused'). The module 'unused' was not called."),
        (module("enc:3"), "no op of 'net_1' is module('enc:3'). The module 'enc' was called once."),
        (
            label("relu_1_9"),
            "no op of 'net_1' is label('relu_1_9'). There is no op or layer 'relu_1_9'; closest: relu_1_2, relu_1, relu_1_2:2, relu_1_2:1.",
        ),
        (
            label("enc"),
            "no op of 'net_1' is label('enc'). There is no op or layer 'enc'; 'enc' is a module: trace.modules['enc'].",
        ),
        (where(lambda op: False, "none"), "no op of 'net_1' is where(none)."),
        (
            func("relu") & in_module("norm"),
            "no op of 'net_1' is func('relu') & in_module('norm'). "
            "func('relu') is 2 ops and in_module('norm') 1 op; none is both.",
        ),
        (
            func("relu") & func("gelu"),
            "no op of 'net_1' is func('relu') & func('gelu'). No function 'gelu' ran; closest: relu_.",
        ),
    ],
)
def test_nothing_found_says_what_was_near(trace, selector, said):
    assert trace.find(selector) == ()
    assert repr(trace.find(selector)) == said
    assert repr(trace.ops.find(selector)) == said
    assert repr(trace.layers.find(selector)) == said


def test_what_was_found_is_listed(trace):
    found = trace.find(func("relu"))
    assert isinstance(found, tuple)
    assert repr(found) == (
        "2 ops\n"
        "  0  <Op relu_1_2:1: float32[2, 3] in enc from linear_1_1:1>\n"
        "  1  <Op relu_1_2:2: float32[2, 3] in enc from linear_1_1:2>"
    )
    assert repr(trace.layers.find(func("relu"))).splitlines()[0] == "1 layer"
    assert type(copy.copy(found)) is tuple
    assert found[:1] == (trace.ops["relu_1_2:1"],)


def test_repr_of_collections(trace):
    assert repr(trace.buffers) == "1 buffer\n  0  <Buffer norm.mean: float32[2]>"
    assert repr(trace.params).splitlines()[0] == "3 params"
    run = Run()

    def model(run, x):
        for number in range(20):
            x = run("relu", x, params=(run.param(f"w{number}"),))
        return x

    lines = repr(run.play(model, run.input()).ops).splitlines()
    assert len(lines) == 14
    assert lines[0] == "22 ops, 20 of them computed"
    assert lines[1] == "   0  <Op input_1:1: float32[2, 3] at x, not saved>"
    assert lines[7] == "      ..."
    assert lines[-1] == "  21  <Op output_1:1: float32[2, 3] from relu_20_20:1, not saved>"
    assert repr(Run().finish().ops) == "0 ops"
