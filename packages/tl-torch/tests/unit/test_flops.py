"""Work of single calls, against values worked out by hand."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from recorded_call import cost_of, op, record

from tl_core import CallRecord, OpCost
from tl_torch._call_shapes import CallShapes
from tl_torch._cost import cost
from tl_torch._flops_table import formula, movement

r = torch.randn
i = torch.randint

MULTIPLY_ADDS = [
    # 2 * 4 outputs of 3 multiply-adds each; the bias adds nothing
    ("linear", lambda: cost_of(F.linear, r(2, 3), r(4, 3), r(4)), 24, 0),
    ("linear without batch", lambda: cost_of(F.linear, r(3), r(4, 3)), 12, 0),
    # 2 * 4 outputs: 3 * 5 for w @ x2 and 3 for x1
    ("bilinear", lambda: cost_of(F.bilinear, r(2, 3), r(2, 5), r(4, 3, 5), r(4)), 8 * 18, 0),
    ("mm", lambda: cost_of(torch.mm, r(2, 3), r(3, 5)), 30, 0),
    ("bmm", lambda: cost_of(torch.bmm, r(7, 2, 3), r(7, 3, 5)), 210, 0),
    ("matmul, broadcast batch", lambda: cost_of(torch.matmul, r(7, 1, 2, 3), r(4, 3, 5)), 28 * 30, 0),
    ("matmul by a vector", lambda: cost_of(torch.matmul, r(7, 2, 3), r(3)), 42, 0),
    ("operator", lambda: cost_of(torch.Tensor.__matmul__, r(2, 3), r(3, 5)), 30, 0),
    ("reflected operator", lambda: cost_of(torch.Tensor.__rmatmul__, r(3, 5), r(2, 3)), 30, 0),
    ("addmm", lambda: cost_of(torch.addmm, r(5), r(2, 3), r(3, 5)), 30, 0),
    ("addmm scaled", lambda: cost_of(torch.addmm, r(5), r(2, 3), r(3, 5), beta=0.5, alpha=2), 30, 20),
    ("baddbmm", lambda: cost_of(torch.baddbmm, r(7, 2, 5), r(7, 2, 3), r(7, 3, 5)), 210, 0),
    ("addbmm", lambda: cost_of(torch.addbmm, r(2, 5), r(7, 2, 3), r(7, 3, 5)), 210, 0),
    ("addmv", lambda: cost_of(torch.addmv, r(2), r(2, 3), r(3)), 6, 0),
    ("mv", lambda: cost_of(torch.mv, r(2, 3), r(3)), 6, 0),
    ("dot", lambda: cost_of(torch.dot, r(9), r(9)), 9, 0),
    ("inner", lambda: cost_of(torch.inner, r(2, 3), r(5, 3)), 30, 0),
    ("outer", lambda: cost_of(torch.outer, r(2), r(3)), 0, 6),
    ("addr", lambda: cost_of(torch.addr, r(2, 3), r(2), r(3)), 6, 0),
    # (2x3)(3x5) = 30, then (2x5)(5x1) = 10; the other order would be 15 + 6 = 21
    ("chain", lambda: cost_of(torch.linalg.multi_dot, [r(2, 3), r(3, 5), r(5, 1)]), 21, 0),
    ("chain ending in a vector", lambda: cost_of(torch.linalg.multi_dot, [r(2, 3), r(3, 5), r(5)]), 21, 0),
    ("tensordot, last and first", lambda: cost_of(torch.tensordot, r(2, 3, 4), r(3, 4, 5), 2), 120, 0),
    ("tensordot, named", lambda: cost_of(torch.tensordot, r(3, 2), r(3, 5), dims=([0], [0])), 30, 0),
    # 5 = 0b101: x2 = x x, x4 = x2 x2, x x4
    ("matrix_power", lambda: cost_of(torch.matrix_power, r(3, 3), 5), 81, 0),
    ("affine_grid", lambda: cost_of(F.affine_grid, r(2, 2, 3), [2, 1, 4, 5], align_corners=False), 2 * 20 * 6, 0),
]


CONVOLUTIONS = [
    # 8 outputs of length 6 (10 - 2 * 2), 4 channels in, kernel 3
    ("conv1d dilated", lambda: cost_of(F.conv1d, r(1, 4, 10), r(8, 4, 3), dilation=2), 8 * 6 * 12),
    # stride 2 over 9 with padding 1: 5; groups 2: 2 channels each
    (
        "conv2d grouped",
        lambda: cost_of(F.conv2d, r(3, 4, 9, 9), r(6, 2, 3, 3), r(6), stride=2, padding=1, groups=2),
        3 * 6 * 25 * 18,
    ),
    ("conv2d same", lambda: cost_of(F.conv2d, r(1, 2, 5, 5), r(3, 2, 3, 3), padding="same"), 3 * 25 * 18),
    ("conv2d without batch", lambda: cost_of(F.conv2d, r(2, 5, 5), r(3, 2, 3, 3)), 3 * 9 * 18),
    ("conv3d", lambda: cost_of(F.conv3d, r(1, 2, 4, 5, 6), r(3, 2, 2, 2, 2)), 3 * 3 * 4 * 5 * 16),
    # each of 4 * 5 inputs meets 6 * 3 weights
    ("conv_transpose1d", lambda: cost_of(F.conv_transpose1d, r(1, 4, 5), r(4, 6, 3), stride=2), 20 * 18),
    (
        "conv_transpose2d grouped",
        lambda: cost_of(F.conv_transpose2d, r(1, 4, 5, 5), r(4, 3, 3, 3), groups=2),
        100 * 27,
    ),
    (
        "aten convolution",
        lambda: cost_of(torch.convolution, r(1, 4, 5), r(4, 6, 3), None, [2], [0], [1], True, [0], 1),
        20 * 18,
    ),
    ("conv_tbc", lambda: cost_of(torch.conv_tbc, r(9, 2, 3), r(3, 3, 4), r(4)), 7 * 2 * 4 * 9),
]


@pytest.mark.parametrize(("call", "macs", "further"), [case[1:] for case in MULTIPLY_ADDS], ids=lambda case: str(case))
def test_products(call: object, macs: int, further: int) -> None:
    assert call() == OpCost(flops=2 * macs + further, macs=macs)


@pytest.mark.parametrize(("call", "macs"), [case[1:] for case in CONVOLUTIONS], ids=[case[0] for case in CONVOLUTIONS])
def test_convolutions(call: object, macs: int) -> None:
    assert call() == OpCost(flops=2 * macs, macs=macs)


ATTENTION = [
    ("self", (2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8), {}, 2 * 3 * 4 * 6 * 16),
    ("causal is not halved", (1, 1, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8), {"is_causal": True}, 4 * 4 * 16),
    ("values wider than keys", (1, 2, 4, 8), (1, 2, 6, 8), (1, 2, 6, 10), {}, 2 * 4 * 6 * 18),
    ("grouped queries", (1, 4, 5, 8), (1, 2, 6, 8), (1, 2, 6, 8), {"enable_gqa": True}, 4 * 5 * 6 * 16),
]


@pytest.mark.parametrize(
    ("query", "key", "value", "options", "macs"), [case[1:] for case in ATTENTION], ids=[case[0] for case in ATTENTION]
)
def test_attention(
    query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], options: dict[str, bool], macs: int
) -> None:
    if "enable_gqa" in options and "enable_gqa" not in (F.scaled_dot_product_attention.__doc__ or ""):
        pytest.skip("this torch has no grouped-query attention")
    found = cost_of(F.scaled_dot_product_attention, r(query), r(key), r(value), **options)
    assert found == OpCost(flops=2 * macs, macs=macs)


@pytest.mark.parametrize(
    ("first", "second", "out", "macs"),
    [
        # 6 rows of 8 in two groups, each by the (8, 16) matrix of its group
        ((6, 8), (2, 8, 16), (6, 16), 6 * 8 * 16),
        # 8 summed positions in two groups, one product a group
        ((6, 8), (8, 16), (2, 6, 16), 6 * 8 * 16),
    ],
)
def test_grouped_products(first: tuple[int, ...], second: tuple[int, ...], out: tuple[int, ...], macs: int) -> None:
    call = CallRecord(
        0, "_grouped_mm", "_grouped_mm", None, (op(r(first)), op(r(second))), None, (), None, (), 0, False
    )
    assert cost(call, [op(r(out), call)]) == OpCost(flops=2 * macs, macs=macs)


FLASH = ((1, 5, 4, 8), (1, 6, 4, 8), (1, 6, 4, 8))


def test_attention_kernels_with_heads_behind_positions() -> None:
    query, key, value = (r(shape) for shape in FLASH)
    call = CallRecord(
        0, "_flash_attention_forward", "_flash_attention_forward", None,
        (op(query), op(key), op(value), None, None, 5, 6, 0.0, False, False), None, (), None, (), 0, False,
    )  # fmt: skip
    assert cost(call, [op(query, call)]) == OpCost(flops=2 * 4 * 5 * 6 * 16, macs=4 * 5 * 6 * 16)


EINSUMS = [
    ("ab,bc->ac", [(2, 3), (3, 5)], 30, 0),
    ("ab,bc", [(2, 3), (3, 5)], 30, 0),
    # left to right: (ab)c is 2*3*5 + 2*5*7, and not a(bc), which is 3*5*7 + 2*3*7
    ("ab,bc,cd->ad", [(2, 3), (3, 5), (5, 7)], 100, 0),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 8), (2, 3, 6, 8)], 2 * 3 * 4 * 6 * 8, 0),
    ("...ij,...jk->...ik", [(7, 2, 3), (7, 3, 5)], 210, 0),
    # an index of one operand alone is summed first: (4, 3) -> (4,), 8 additions
    ("ij,ik->k", [(4, 3), (4, 5)], 20, 8),
    ("ij->i", [(4, 3)], 0, 8),
    ("i,j->ij", [(3,), (5,)], 0, 15),
    ("ii->", [(3, 3)], 0, 2),
    ("bn,anm,bm->ba", [(2, 5), (3, 5, 4), (2, 4)], 2 * 3 * 4 * 5 + 2 * 3 * 4, 0),
]


@pytest.mark.parametrize(("equation", "shapes", "macs", "further"), EINSUMS, ids=[case[0] for case in EINSUMS])
def test_einsum(
    equation: str, shapes: list[tuple[int, ...]], macs: int, further: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.opt_einsum, "enabled", False)
    found = cost_of(torch.einsum, equation, *(r(shape) for shape in shapes))
    assert found == OpCost(flops=2 * macs + further, macs=macs)


def test_einsum_with_numbered_subscripts() -> None:
    assert cost_of(torch.einsum, r(2, 3), [0, 1], r(3, 5), [1, 2], [0, 2]) == OpCost(flops=60, macs=30)


def test_einsum_follows_the_path_that_was_given() -> None:
    operands = [op(r(2, 3)), op(r(3, 5)), op(r(5, 7))]
    call = CallRecord(
        0, "einsum", "einsum", None, ("ab,bc,cd->ad", operands), {"path": [1, 2, 0, 1]}, (), None, (), 0, False
    )
    assert cost(call, [op(r(2, 7), call)]) == OpCost(flops=2 * (105 + 42), macs=105 + 42)


NORMS = [
    # 12 elements, 3 rows: 8 an element with weight and bias, 6 without; 2 a row
    ("layer_norm", lambda: cost_of(F.layer_norm, r(3, 4), (4,), r(4), r(4)), 12 * 8 + 6),
    ("layer_norm plain", lambda: cost_of(F.layer_norm, r(3, 4), (4,)), 12 * 6 + 6),
    ("torch.layer_norm", lambda: cost_of(torch.layer_norm, r(3, 4), (4,), r(4), None), 12 * 7 + 6),
    ("group_norm", lambda: cost_of(F.group_norm, r(2, 6, 5), 3, r(6), r(6)), 60 * 8 + 2 * 6),
    ("rms_norm", lambda: cost_of(F.rms_norm, r(3, 4), (4,), r(4)), 12 * 4 + 6),
    # 40 elements, 4 channels: 8 an element, 2 a channel, and 3 for each of 8 running statistics
    (
        "batch_norm training",
        lambda: cost_of(F.batch_norm, r(2, 4, 5), torch.zeros(4), torch.ones(4), r(4), r(4), True),
        40 * 8 + 8 + 24,
    ),
    # 2 an element; 3 a channel for 1 / sqrt(var + eps) * weight, 2 for the shift
    (
        "batch_norm evaluation",
        lambda: cost_of(F.batch_norm, r(2, 4, 5), torch.zeros(4), torch.ones(4), r(4), r(4), False),
        80 + 4 * 5,
    ),
    ("batch_norm plain", lambda: cost_of(F.batch_norm, r(2, 4, 5), torch.zeros(4), torch.ones(4)), 80 + 4 * 4),
    (
        "torch.batch_norm",
        lambda: cost_of(
            torch.batch_norm, r(2, 4, 5), None, None, torch.zeros(4), torch.ones(4), True, 0.1, 1e-5, False
        ),
        40 * 6 + 8 + 24,
    ),
    ("instance_norm", lambda: cost_of(F.instance_norm, r(2, 4, 5), weight=r(4), bias=r(4)), 40 * 8 + 2 * 8),
    ("local_response_norm", lambda: cost_of(F.local_response_norm, r(1, 4, 3), 2), 12 * 7),
    ("normalize", lambda: cost_of(F.normalize, r(3, 4)), 36 + 3),
]

POOLS = [
    ("avg_pool2d", lambda: cost_of(F.avg_pool2d, r(1, 2, 6, 6), 3), 2 * 4 * 9),
    ("avg_pool1d, one size in a tuple", lambda: cost_of(F.avg_pool1d, r(1, 2, 6), (3,)), 2 * 2 * 3),
    ("avg_pool3d", lambda: cost_of(F.avg_pool3d, r(1, 1, 4, 4, 4), (2, 2, 4)), 4 * 16),
    ("max_pool2d", lambda: cost_of(F.max_pool2d, r(1, 2, 6, 6), (3, 2), stride=2), 2 * 2 * 3 * 5),
    # windows of 5 into 3: [0, 2), [1, 4), [3, 5), so 2 + 3 + 2
    ("adaptive_avg_pool1d", lambda: cost_of(F.adaptive_avg_pool1d, r(1, 2, 5), 3), 2 * 7),
    ("adaptive_avg_pool2d to one", lambda: cost_of(F.adaptive_avg_pool2d, r(1, 2, 5, 5), 1), 50),
    ("adaptive_max_pool1d", lambda: cost_of(torch.adaptive_max_pool1d, r(1, 2, 5), 3), 2 * 7 - 6),
    ("lp_pool1d", lambda: cost_of(F.lp_pool1d, r(1, 2, 6), 2, 3), 2 * 2 * 8),
]

ELEMENTWISE = [
    ("add", lambda: cost_of(torch.add, r(2, 3), r(3)), 6),
    ("add with a factor", lambda: cost_of(torch.add, r(2, 3), r(3), alpha=2), 12),
    ("in place", lambda: cost_of(torch.Tensor.add_, r(2, 3), 1), 6),
    ("operator", lambda: cost_of(torch.Tensor.__mul__, r(2, 3), 2), 6),
    ("in-place operator", lambda: cost_of(torch.Tensor.__itruediv__, r(2, 3), 2), 6),
    ("reflected operator", lambda: cost_of(torch.Tensor.__rsub__, r(2, 3), 2), 6),
    ("comparison", lambda: cost_of(torch.Tensor.__lt__, r(2, 3), 0), 6),
    ("where", lambda: cost_of(torch.where, r(2, 3) > 0, r(2, 3), r(2, 3)), 0),
    ("lerp", lambda: cost_of(torch.lerp, r(4), r(4), 0.5), 12),
    ("addcmul", lambda: cost_of(torch.addcmul, r(4), r(4), r(4)), 8),
    ("addcmul with a factor", lambda: cost_of(torch.addcmul, r(4), r(4), r(4), value=2), 12),
    ("clamp, one bound", lambda: cost_of(torch.clamp, r(4), min=0), 4),
    ("clamp, two bounds", lambda: cost_of(torch.clamp, r(4), 0, 1), 8),
    ("pow", lambda: cost_of(torch.pow, r(4), 3), 4),
    ("dropout in training", lambda: cost_of(F.dropout, r(4), 0.5, True), 8),
    ("dropout in evaluation", lambda: cost_of(F.dropout, r(4), 0.5, False), 0),
    ("relu", lambda: cost_of(F.relu, r(4)), 4),
    ("sigmoid", lambda: cost_of(torch.sigmoid, r(4)), 16),
    ("silu", lambda: cost_of(F.silu, r(4)), 20),
    ("gelu", lambda: cost_of(F.gelu, r(4)), 20),
    ("gelu by tanh", lambda: cost_of(F.gelu, r(4), approximate="tanh"), 36),
    ("glu", lambda: cost_of(F.glu, r(2, 4)), 20),
    # a row of 4: 3 comparisons, 4 differences, 4 exponentials, 3 additions, 4 divisions
    ("softmax", lambda: cost_of(F.softmax, r(3, 4), dim=-1), 3 * 18),
    ("softmax of the method", lambda: cost_of(torch.Tensor.softmax, r(3, 4), 0), 4 * (2 + 3 + 3 + 2 + 3)),
    ("log_softmax", lambda: cost_of(F.log_softmax, r(3, 4), dim=-1), 3 * 19),
    ("logsumexp", lambda: cost_of(torch.logsumexp, r(3, 4), 1), 48),
]

REDUCTIONS = [
    ("sum", lambda: cost_of(torch.sum, r(3, 4)), 11),
    ("sum of rows", lambda: cost_of(torch.Tensor.sum, r(3, 4), 1), 9),
    ("mean", lambda: cost_of(torch.mean, r(3, 4)), 12),
    ("max of rows", lambda: cost_of(torch.max, r(3, 4), 1), 9),
    ("max of two", lambda: cost_of(torch.max, r(3, 4), r(4)), 12),
    ("var", lambda: cost_of(torch.var, r(3, 4), 1), 48),
    ("std", lambda: cost_of(torch.std, r(3, 4), 1), 51),
    ("norm", lambda: cost_of(torch.linalg.vector_norm, r(3, 4)), 24),
    ("norm of order 1", lambda: cost_of(torch.linalg.vector_norm, r(3, 4), 1), 23),
    ("cumsum", lambda: cost_of(torch.cumsum, r(3, 4), 1), 9),
    # rows of 5: 5 * ceil(log2 5)
    ("sort", lambda: cost_of(torch.sort, r(3, 5)), 45),
    ("argsort of columns", lambda: cost_of(torch.argsort, r(3, 5), dim=0), 5 * 3 * 2),
    ("topk", lambda: cost_of(torch.topk, r(3, 8), 3), 24 * 2),
    ("diff", lambda: cost_of(torch.diff, r(3, 5)), 12),
    ("searchsorted", lambda: cost_of(torch.searchsorted, torch.arange(7.0), r(4)), 12),
    ("index_add", lambda: cost_of(torch.index_add, r(5, 2), 0, i(5, (3,)), r(3, 2)), 6),
    ("index_put", lambda: cost_of(torch.index_put, r(5), (i(5, (3,)),), r(3)), 0),
    ("index_put summed", lambda: cost_of(torch.index_put, r(5), (i(5, (3,)),), r(3), True), 3),
]

LOSSES = [
    ("mse_loss", lambda: cost_of(F.mse_loss, r(3, 4), r(3, 4)), 36),
    ("mse_loss unreduced", lambda: cost_of(F.mse_loss, r(3, 4), r(3, 4), reduction="none"), 24),
    ("l1_loss", lambda: cost_of(F.l1_loss, r(3, 4), r(3, 4)), 36),
    # log_softmax of 3 rows 57, a sign and a sum for each
    ("cross_entropy", lambda: cost_of(F.cross_entropy, r(3, 4), i(4, (3,))), 57 + 6),
    ("nll_loss", lambda: cost_of(F.nll_loss, r(3, 4), i(4, (3,)), reduction="none"), 3),
    ("cross_entropy of images", lambda: cost_of(F.cross_entropy, r(2, 4, 3), i(4, (2, 3))), 6 * 19 + 12),
    ("kl_div", lambda: cost_of(F.kl_div, r(3, 4), r(3, 4), reduction="sum"), 48),
    ("bce", lambda: cost_of(F.binary_cross_entropy, torch.rand(4), torch.rand(4)), 36),
]

OTHERS = [
    ("embedding", lambda: cost_of(F.embedding, i(9, (3,)), r(9, 4)), 0),
    # bags of 3 and 2: 3 rows of 4 added, 2 rows divided
    ("embedding_bag", lambda: cost_of(F.embedding_bag, i(9, (5,)), r(9, 4), torch.tensor([0, 3])), 12 + 8),
    (
        "torch.embedding_bag",
        lambda: cost_of(torch.embedding_bag, r(9, 4), i(9, (5,)), torch.tensor([0, 3])),
        12,
    ),
    (
        "embedding_bag weighted",
        lambda: cost_of(
            F.embedding_bag, i(9, (2, 3)), r(9, 4), mode="sum", per_sample_weights=r(2, 3)
        ),
        16 + 24,
    ),
    ("fft", lambda: cost_of(torch.fft.fft, r(3, 8)), 3 * 5 * 8 * 3),
    ("rfft", lambda: cost_of(torch.fft.rfft, r(3, 8)), 3 * 20 * 3),
    ("irfft", lambda: cost_of(torch.fft.irfft, torch.fft.rfft(r(3, 8))), 3 * 20 * 3),
    ("fft2", lambda: cost_of(torch.fft.fft2, r(2, 4, 8)), 2 * 5 * 32 * 5),
    ("nearest", lambda: cost_of(F.interpolate, r(1, 2, 4, 4), scale_factor=2), 0),
    ("bilinear", lambda: cost_of(F.interpolate, r(1, 2, 4, 4), scale_factor=2, mode="bilinear"), 128 * 7),
    ("area", lambda: cost_of(F.interpolate, r(1, 2, 4), size=2, mode="area"), 8),
    ("grid_sample", lambda: cost_of(F.grid_sample, r(1, 2, 4, 4), r(1, 3, 3, 2), align_corners=True), 18 * 7),
    ("cdist", lambda: cost_of(torch.cdist, r(4, 3), r(5, 3)), 180),
    ("cosine_similarity", lambda: cost_of(F.cosine_similarity, r(4, 3), r(4, 3)), 72 + 12),
    ("cholesky", lambda: cost_of(torch.linalg.cholesky, torch.eye(6)), 72),
    ("solve", lambda: cost_of(torch.linalg.solve, torch.eye(6), r(6, 2)), 144 + 2 * 36 * 2),
    ("fold", lambda: cost_of(F.fold, r(1, 8, 4), (3, 3), 2), 32),
    ("no elements", lambda: cost_of(torch.softmax, r(0, 4), 1), 0),
    ("no dimensions", lambda: cost_of(torch.cumsum, torch.tensor(1.0), 0), 0),
]  # fmt: skip

SINGLE = [*NORMS, *POOLS, *ELEMENTWISE, *REDUCTIONS, *LOSSES, *OTHERS]


@pytest.mark.parametrize(("call", "flops"), [case[1:] for case in SINGLE], ids=[case[0] for case in SINGLE])
def test_single_operations(call: object, flops: int) -> None:
    assert call() == OpCost(flops=flops, macs=0)


MOVEMENTS = [
    lambda: cost_of(torch.Tensor.view, r(2, 3), 6),
    lambda: cost_of(torch.Tensor.clone, r(2, 3)),
    lambda: cost_of(torch.Tensor.__getitem__, r(2, 3), 0),
    lambda: cost_of(torch.cat, [r(2, 3), r(2, 3)]),
    lambda: cost_of(torch.Tensor.to, r(2, 3), torch.float64),
    lambda: cost_of(torch.gather, r(2, 3), 0, i(2, (1, 3))),
    lambda: cost_of(torch.zeros, 4),
    lambda: cost_of(torch.rand, 4),
    lambda: cost_of(torch.Tensor.normal_, r(4)),
    lambda: cost_of(torch.Tensor.masked_fill, r(4), r(4) > 0, 0.0),
]


@pytest.mark.parametrize("call", MOVEMENTS, ids=range(len(MOVEMENTS)))
def test_moving_data_is_no_arithmetic(call: object) -> None:
    assert call() == OpCost(flops=0, macs=0)


def recurrent(module: torch.nn.RNNBase, x: torch.Tensor) -> OpCost | None:
    """Work of the builtin that a recurrent module calls."""
    kinds = {
        "RNN_TANH": torch._VF.rnn_tanh,
        "RNN_RELU": torch._VF.rnn_relu,
        "LSTM": torch._VF.lstm,
        "GRU": torch._VF.gru,
    }
    directions = 2 if module.bidirectional else 1
    width = module.proj_size or module.hidden_size
    state = torch.zeros(module.num_layers * directions, x.shape[1], width)
    cell = torch.zeros(module.num_layers * directions, x.shape[1], module.hidden_size)
    hidden = [state, cell] if module.mode == "LSTM" else state
    weights = list(module._flat_weights)
    return cost_of(
        kinds[module.mode], x, hidden, weights, module.bias, module.num_layers, 0.0, module.training,
        module.bidirectional, False,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:LSTM with projections:UserWarning")
@pytest.mark.parametrize(
    ("module", "macs", "further"),
    [
        # 7 steps of 2 samples: 4 gates of (3 + 5) * 5 weights; 22 further operations a unit
        (torch.nn.LSTM(3, 5), 14 * 160, 14 * 5 * 22),
        (torch.nn.GRU(3, 5), 14 * 120, 14 * 5 * 16),
        (torch.nn.RNN(3, 5), 14 * 40, 14 * 5 * 2),
        (torch.nn.RNN(3, 5, nonlinearity="relu", bias=False), 14 * 40, 14 * 5 * 2),
        # second layer reads 10 features, in each of two directions
        (torch.nn.GRU(3, 5, num_layers=2, bidirectional=True), 14 * 2 * (120 + 15 * 15), 14 * 4 * 5 * 16),
        # projected to 2: 4 gates of (3 + 2) * 5 weights and 2 * 5 for the projection
        (torch.nn.LSTM(3, 5, proj_size=2), 14 * (100 + 10), 14 * 5 * 22),
    ],
    ids=["lstm", "gru", "rnn_tanh", "rnn_relu", "gru, two layers, two directions", "lstm with projection"],
)
def test_recurrent_layers(module: torch.nn.RNNBase, macs: int, further: int) -> None:
    assert recurrent(module, r(7, 2, 3)) == OpCost(flops=2 * macs + further, macs=macs)


def test_packed_sequences_cost_their_own_steps_only() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([r(4, 3), r(2, 3)])
    module = torch.nn.GRU(3, 5)
    found = cost_of(
        torch._VF.gru, packed.data, packed.batch_sizes, torch.zeros(1, 2, 5), list(module._flat_weights), True, 1, 0.0,
        False, False,
    )  # fmt: skip
    assert found == OpCost(flops=6 * (2 * 120 + 5 * 16), macs=6 * 120)


@pytest.mark.parametrize(
    ("func", "rows", "operations"),
    [
        (torch.gru_cell, 15, 16),
        (torch.rnn_tanh_cell, 5, 2),
        (torch.rnn_relu_cell, 5, 2),
    ],
)
def test_recurrent_cells(func: object, rows: int, operations: int) -> None:
    found = cost_of(func, r(2, 3), r(2, 5), r(rows, 3), r(rows, 5), r(rows), r(rows))
    assert found == OpCost(flops=2 * (2 * rows * 8 + 5 * operations), macs=2 * rows * 8)


def test_lstm_cell() -> None:
    found = cost_of(torch.lstm_cell, r(2, 3), [r(2, 5), r(2, 5)], r(20, 3), r(20, 5), r(20), r(20))
    assert found == OpCost(flops=2 * (2 * 160 + 5 * 22), macs=2 * 160)


def test_aten_overloads_have_the_formulas_of_their_operators() -> None:
    assert cost_of(torch.ops.aten.add.Tensor, r(2, 3), r(2, 3)) == OpCost(flops=6, macs=0)
    assert cost_of(torch.ops.aten.mm, r(2, 3), r(3, 5)) == OpCost(flops=60, macs=30)
    assert cost_of(torch.ops.aten._softmax, r(3, 4), -1, False) == OpCost(flops=54, macs=0)


UNKNOWN = [
    lambda: cost_of(torch.median, r(5)),
    lambda: cost_of(torch.linalg.svd, r(3, 3)),
    # known operators in a use that no formula covers
    lambda: cost_of(torch.cdist, r(4, 3), r(5, 3), p=1.0),
    lambda: cost_of(F.interpolate, r(1, 2, 8, 8), size=4, mode="bilinear", antialias=True),
    lambda: cost_of(torch.linalg.matrix_norm, r(3, 3), "nuc"),
]


@pytest.mark.parametrize("call", UNKNOWN, ids=range(len(UNKNOWN)))
def test_an_operator_without_a_formula_is_unknown_and_not_free(call: object) -> None:
    assert call() is None


def test_a_custom_operator_does_not_borrow_the_formula_of_its_namesake() -> None:
    with torch.library._scoped_library("tl_flops_test", "DEF") as library:
        library.define("relu(Tensor x) -> Tensor")
        library.impl("relu", lambda x: x.sin(), "CompositeExplicitAutograd")
        assert cost_of(torch.ops.tl_flops_test.relu, r(3)) is None
        assert cost_of(torch.ops.aten.relu, r(3)) == OpCost(flops=3, macs=0)


def test_a_python_function_does_not_borrow_the_formula_of_its_namesake() -> None:
    def relu(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    assert cost_of(relu, r(3)) is None


def test_arguments_that_a_formula_cannot_read_make_the_work_unknown() -> None:
    call = record(F.linear, ("no tensor", r(4, 3)))
    assert cost(call, [op(r(2, 4), call)]) is None


def test_a_call_whose_outputs_are_not_in_the_trace_costs_nothing() -> None:
    assert cost(record(torch.median, (r(3),)), []) == OpCost(flops=0, macs=0)


def test_the_kernel_that_ran_decides_before_the_name_that_people_know() -> None:
    call = record(torch.sigmoid, (r(3),))
    call.name = "relu"
    assert cost(call, [op(r(3), call)]) == OpCost(flops=12, macs=0)
    call.kernel = "something_unheard_of"
    assert cost(call, [op(r(3), call)]) == OpCost(flops=3, macs=0)


def test_one_operator_cannot_have_two_formulas() -> None:
    with pytest.raises(ValueError, match="relu has a formula already"):
        formula("relu")(movement)


def test_sizes_are_read_as_one_number_or_as_one_for_each_dimension() -> None:
    call = record(F.avg_pool2d, (r(1, 1, 4, 4), 2, (2, 3)))
    shapes = CallShapes(call, [op(r(1, 1, 2, 2))])
    assert shapes.sizes(1, "kernel_size", 2) == (2, 2)
    assert shapes.sizes(2, "stride", 2) == (2, 3)
    with pytest.raises(LookupError, match="None is no int"):
        shapes.sizes(3, "padding", 2)
