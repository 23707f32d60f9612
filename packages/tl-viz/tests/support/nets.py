"""Well-known networks, written down by hand."""

from __future__ import annotations

from recorder import Recorder


def transformer(layers, *, cache=False, prefix="h", seed_module="transformer"):
    """Return the trace of a decoder with `layers` equal blocks; with `cache`, keys and values leave as outputs."""
    run = Recorder("Decoder")
    ids = run.input((1, 16), "ids")
    kept = []
    with run.module(seed_module, "Backbone"):
        places = run.op("arange", shape=(16,))
        unused = run.op("ones_like", ids, shape=(1, 16))
        unused = run.op("eq", unused, shape=(16,))
        run.op("all", unused, shape=())
        tokens = run.layer(f"{seed_module}.wte", "Embedding", "embedding", ids, shape=(1, 16, 32), size=(100, 32))
        spots = run.layer(f"{seed_module}.wpe", "Embedding", "embedding", places, shape=(16, 32), size=(16, 32))
        x = run.op("add", tokens, spots, shape=(1, 16, 32))
        mask = run.op("le", places, shape=(16, 16))
        for index in range(layers):
            x = _block(run, f"{seed_module}.{prefix}.{index}", x, mask, kept if cache else None)
        x = run.layer(f"{seed_module}.ln_f", "LayerNorm", "layer_norm", x, shape=(1, 16, 32), size=(32,))
    logits = run.layer("lm_head", "Linear", "linear", x, shape=(1, 16, 100), size=(100, 32))
    return run.done(logits, *kept)


def _block(run, at, x, mask, kept):
    shape = (1, 16, 32)
    with run.module(at, "Block"):
        y = run.layer(f"{at}.ln_1", "LayerNorm", "layer_norm", x, shape=shape, size=(32,))
        with run.module(f"{at}.attn", "Attention"):
            joint = run.layer(f"{at}.attn.c_attn", "Linear", "linear", y, shape=(1, 16, 96), size=(96, 32))
            parts = run.op("split", joint, shape=shape, count=3)
            heads = [run.op("view", part, shape=(1, 16, 4, 8)) for part in parts]
            q, k, v = (run.op("transpose", head, shape=(1, 4, 16, 8)) for head in heads)
            if kept is not None:
                kept += [k, v]
            y = run.op("scaled_dot_product_attention", q, k, v, mask, shape=(1, 4, 16, 8))
            y = run.op("transpose", y, shape=(1, 16, 4, 8))
            y = run.op("reshape", y, shape=shape)
            y = run.layer(f"{at}.attn.c_proj", "Linear", "linear", y, shape=shape, size=(32, 32))
        x = run.op("add", x, y, shape=shape)
        y = run.layer(f"{at}.ln_2", "LayerNorm", "layer_norm", x, shape=shape, size=(32,))
        with run.module(f"{at}.mlp", "MLP"):
            y = run.layer(f"{at}.mlp.c_fc", "Linear", "linear", y, shape=(1, 16, 128), size=(128, 32))
            y = run.layer(f"{at}.mlp.act", "GELU", "gelu", y, shape=(1, 16, 128))
            y = run.layer(f"{at}.mlp.c_proj", "Linear", "linear", y, shape=shape, size=(32, 128))
        return run.op("add", x, y, shape=shape)


def recurrent(steps):
    """Return the trace of a GRU cell that is called `steps` times, on a slice of its input each time."""
    run = Recorder("Loop")
    x = run.input((2, steps, 8))
    h = run.op("zeros", x, shape=(2, 16))
    for _ in range(steps):
        now = run.op("__getitem__", x, shape=(2, 8))
        h = run.layer("cell", "GRUCell", "gru_cell", now, h, shape=(2, 16), size=(48, 24))
    return run.done(run.layer("head", "Linear", "linear", h, shape=(2, 4), size=(4, 16)))


def carrying(steps, *, read=False):
    """Return the trace of a loop that adds what is new to a state; `read` has each round give a product of the two as well."""
    run = Recorder()
    x, state = run.input((2, steps, 8)), run.op("zeros", shape=(2, 8))
    for _ in range(steps):
        with run.module("cell", "Cell"):
            now = run.op("linear", run.op("__getitem__", x), params=[("cell.weight", (8, 8))])
            state = out = run.op("addmm", state, now, params=[("cell.decay", (8, 8))])
            if read:
                out = run.op("matmul", run.op("tanh", state), now, params=[("cell.out", (8, 8))])
    return run.done(out)


def dense(counts=(6, 12)):
    """Return the trace of dense blocks, whose layers read everything before them."""
    run = Recorder("DenseNet")
    x = run.layer("stem", "Conv2d", "conv2d", run.input((1, 3, 32, 32)), shape=(1, 16, 32, 32), size=(16, 3, 3, 3))
    width = 16
    for number, count in enumerate(counts, start=1):
        with run.module(f"block{number}", "DenseBlock"):
            features = [x]
            for index in range(count):
                at = f"block{number}.layer{index + 1}"
                with run.module(at, "DenseLayer"):
                    shape = (1, width, 8, 8)
                    y = run.op("cat", *features, shape=shape)
                    y = run.layer(f"{at}.norm", "BatchNorm2d", "batch_norm", y, shape=shape, size=(width,))
                    y = run.layer(f"{at}.relu", "ReLU", "relu", y, shape=shape)
                    y = run.layer(f"{at}.conv", "Conv2d", "conv2d", y, shape=(1, 8, 8, 8), size=(8, width, 3, 3))
                features.append(y)
                width += 8
            x = run.op("cat", *features, shape=(1, width, 8, 8))
    return run.done(run.layer("head", "Linear", "linear", x, shape=(1, 10), size=(10, width)))


def chain(length):
    """Return the trace of a flat chain of functions without any module."""
    run = Recorder("Chain")
    x = run.input()
    names = ("relu", "exp", "log", "neg", "tanh", "abs", "sqrt")
    for index in range(length):
        x = run.op(names[(index * index + index // 7) % len(names)], x)
    return run.done(x)
