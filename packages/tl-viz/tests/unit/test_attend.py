"""Attention that is written out is told of as such."""

from __future__ import annotations

from recorder import Recorder


def attention(run, q, k, v, *, function="matmul", between=("div", "add", "softmax", "dropout")):
    """Two products with some functions between them, in a module of their own."""
    with run.module("attn", "Attention"):
        scores = run.op(function, q, run.op("transpose", k))
        for name in between:
            scores = run.op(name, scores)
        return run.op(function, scores, v)


def said(run, result):
    return run.done(result).draw(collapse="none").scene.joins


def inputs(run):
    return [run.op("relu", run.input(address=name)) for name in "qkv"]


def test_two_products_with_a_softmax_between():
    for function in ("matmul", "bmm", "einsum", "baddbmm"):
        run = Recorder()
        assert said(run, attention(run, *inputs(run), function=function)) == (f"attention {function} ×2 in Attention",)


def test_without_a_softmax_they_are_products():
    run = Recorder()
    assert said(run, attention(run, *inputs(run), between=("div",))) == ("matmul ×2 in Attention",)


def test_a_softmax_of_something_else_attends_to_nothing():
    """A router: the softmax is of a product with a parameter, and its weights are multiplied with what experts gave."""
    run = Recorder()
    x = run.op("relu", run.input())
    with run.module("router", "Router"):
        weights = run.op("softmax", run.op("linear", x, params=[("router.weight", (4, 8))]))
        result = run.op("bmm", weights, x)
    assert said(run, result) == ("bmm in Router",)


def test_what_computes_between_softmax_and_product_parts_them():
    run = Recorder()
    result = attention(run, *inputs(run), between=("softmax", "topk"))
    assert said(run, result) == ("matmul ×2 in Attention",)
