"""Work of rarer functions, against values worked out by hand."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from recorded_call import cost_of

from tl_core import OpCost

r = torch.randn
i = torch.randint

CASES = [
    # elementwise
    ("remainder", lambda: cost_of(torch.remainder, r(4), 2), 16),
    ("fmod", lambda: cost_of(torch.fmod, r(4), 2), 16),
    ("floor_divide", lambda: cost_of(torch.Tensor.__floordiv__, r(4), 2), 8),
    ("xlogy", lambda: cost_of(torch.xlogy, r(4), r(4)), 8),
    ("logit", lambda: cost_of(torch.logit, r(4)), 12),
    ("logaddexp", lambda: cost_of(torch.logaddexp, r(4), r(4)), 28),
    ("isclose", lambda: cost_of(torch.isclose, r(4), r(4)), 24),
    ("nan_to_num", lambda: cost_of(torch.nan_to_num, r(4)), 12),
    ("cross", lambda: cost_of(torch.linalg.cross, r(2, 3), r(2, 3)), 18),
    ("alpha_dropout", lambda: cost_of(F.alpha_dropout, r(4), 0.5, True), 24),
    ("alpha_dropout in evaluation", lambda: cost_of(F.alpha_dropout, r(4)), 0),
    ("leaky_relu", lambda: cost_of(F.leaky_relu, r(4)), 8),
    ("softsign", lambda: cost_of(F.softsign, r(4)), 12),
    ("elu", lambda: cost_of(F.elu, r(4)), 16),
    ("logsigmoid", lambda: cost_of(F.logsigmoid, r(4)), 24),
    ("softmin", lambda: cost_of(F.softmin, r(3, 4), 1), 3 * 22),
    # reductions, scans, order
    ("aminmax", lambda: cost_of(torch.aminmax, r(3, 4)), 22),
    ("nansum", lambda: cost_of(torch.nansum, r(3, 4)), 23),
    ("nanmean", lambda: cost_of(torch.nanmean, r(3, 4)), 35),
    ("dist", lambda: cost_of(torch.dist, r(3, 4), r(3, 4)), 36),
    ("logcumsumexp", lambda: cost_of(torch.logcumsumexp, r(3, 4), 1), 63),
    ("second differences", lambda: cost_of(torch.diff, r(3, 5), 2), 3 * (4 + 3)),
    ("trapezoid", lambda: cost_of(torch.trapezoid, r(3, 5)), 48),
    ("bincount", lambda: cost_of(torch.bincount, i(4, (9,))), 9),
    ("bucketize", lambda: cost_of(torch.bucketize, r(5), torch.arange(3.0)), 10),
    ("isin", lambda: cost_of(torch.isin, i(9, (5,)), i(9, (3,))), 15),
    ("unique_consecutive", lambda: cost_of(torch.Tensor.unique_consecutive, i(9, (5,))), 4),
    ("unique", lambda: cost_of(torch.Tensor.unique, i(9, (4, 2))), 24),
    ("msort", lambda: cost_of(torch.msort, r(4, 3)), 24),
    # norms
    ("weight_norm", lambda: cost_of(torch._weight_norm, r(3, 4), r(3, 1), 0), 36 + 3),
    ("_is_all_true", lambda: cost_of(torch._is_all_true, r(3, 4) > 0), 11),
    ("renorm", lambda: cost_of(torch.renorm, r(3, 4), 2, 0, 1.0), 36 + 6),
    ("native_batch_norm", lambda: cost_of(
        torch.native_batch_norm, r(2, 4, 5), r(4), r(4), torch.zeros(4), torch.ones(4), True, 0.1, 1e-5
    ), 40 * 8 + 8 + 24),
    ("native_group_norm", lambda: cost_of(
        torch.native_group_norm, r(2, 6, 5), r(6), r(6), 2, 6, 5, 3, 1e-5
    ), 60 * 8 + 12),
    ("frobenius", lambda: cost_of(torch.linalg.matrix_norm, r(3, 4)), 24),
    # pooling
    ("max_pool1d", lambda: cost_of(F.max_pool1d, r(1, 2, 6), 3), 2 * 2 * 2),
    ("max_pool3d", lambda: cost_of(F.max_pool3d, r(1, 1, 4, 4, 4), 2), 8 * 7),
    ("adaptive_avg_pool3d", lambda: cost_of(F.adaptive_avg_pool3d, r(1, 2, 4, 4, 5), (2, 2, 3)), 2 * 4 * 4 * 7),
    ("adaptive_max_pool2d", lambda: cost_of(F.adaptive_max_pool2d, r(1, 2, 4, 5), (2, 3)), 2 * (4 * 7 - 6)),
    ("adaptive_max_pool3d", lambda: cost_of(F.adaptive_max_pool3d, r(1, 2, 4, 4, 5), (2, 2, 3)), 2 * (112 - 12)),
    ("lp_pool2d", lambda: cost_of(F.lp_pool2d, r(1, 2, 4, 4), 2, 2), 2 * 4 * 10),
    ("lp_pool3d", lambda: cost_of(F.lp_pool3d, r(1, 1, 4, 4, 4), 2, 2), 8 * 18),
    # losses
    ("smooth_l1_loss", lambda: cost_of(F.smooth_l1_loss, r(4), r(4)), 28),
    ("huber_loss", lambda: cost_of(F.huber_loss, r(4), r(4)), 24),
    ("soft_margin_loss", lambda: cost_of(F.soft_margin_loss, r(4), r(4)), 20),
    ("gaussian_nll_loss", lambda: cost_of(F.gaussian_nll_loss, r(4), r(4), torch.ones(4)), 32),
    ("poisson_nll_loss", lambda: cost_of(F.poisson_nll_loss, r(4), torch.ones(4)), 16),
    ("poisson_nll_loss of rates", lambda: cost_of(F.poisson_nll_loss, torch.rand(4), torch.ones(4), False), 20),
    ("bce with logits", lambda: cost_of(F.binary_cross_entropy_with_logits, r(4), torch.rand(4)), 40),
    ("multi_margin_loss", lambda: cost_of(F.multi_margin_loss, r(3, 4), i(4, (3,))), 48 + 6),
    ("cosine_embedding_loss", lambda: cost_of(F.cosine_embedding_loss, r(3, 4), r(3, 4), torch.ones(3)), 72 + 27),
    ("triplet_margin_loss", lambda: cost_of(F.triplet_margin_loss, r(3, 4), r(3, 4), r(3, 4)), 96 + 12),
    ("pairwise_distance", lambda: cost_of(F.pairwise_distance, r(3, 4), r(3, 4)), 36),
    # linear algebra
    ("trace", lambda: cost_of(torch.trace, r(3, 4)), 2),
    ("det", lambda: cost_of(torch.linalg.det, torch.eye(6)), 144),
    ("inverse", lambda: cost_of(torch.linalg.inv, torch.eye(6)), 432),
    ("qr", lambda: cost_of(torch.linalg.qr, r(6, 3)), 2 * (108 - 18)),
    ("triangular", lambda: cost_of(torch.linalg.solve_triangular, torch.eye(6), r(6, 2), upper=True), 72),
    # transforms
    ("fftn", lambda: cost_of(torch.fft.fftn, r(4, 8)), 5 * 32 * 5),
    ("rfft2", lambda: cost_of(torch.fft.rfft2, r(2, 4, 8)), 2 * 80 * 5),
    ("rfftn of one axis", lambda: cost_of(torch.fft.rfftn, r(4, 8), dim=[0]), 80 * 2),
    # 64 samples, padded by 8 on both sides, in steps of 4: 17 frames of 16
    ("stft", lambda: cost_of(
        torch.stft, r(64), 16, window=torch.ones(16), return_complex=True, pad_mode="constant"
    ), 17 * (160 + 16)),
    # resampling kernels
    ("linear1d", lambda: cost_of(torch._C._nn.upsample_linear1d, r(1, 2, 4), [8], False), 16 * 3),
    ("bilinear2d", lambda: cost_of(torch._C._nn.upsample_bilinear2d, r(1, 2, 4, 4), [8, 8], False), 128 * 7),
    ("trilinear3d", lambda: cost_of(torch._C._nn.upsample_trilinear3d, r(1, 1, 2, 2, 2), [4, 4, 4], False), 64 * 15),
    ("bicubic2d", lambda: cost_of(torch._C._nn.upsample_bicubic2d, r(1, 2, 4, 4), [8, 8], False), 128 * 31),
    ("grid_sample in a block", lambda: cost_of(
        F.grid_sample, r(1, 2, 4, 4, 4), r(1, 3, 3, 3, 3), align_corners=True
    ), 54 * 15),
]  # fmt: skip


@pytest.mark.parametrize(("call", "flops"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_single_operations(call: object, flops: int) -> None:
    assert call() == OpCost(flops=flops, macs=0)
