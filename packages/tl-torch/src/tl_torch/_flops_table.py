"""Work of each torch operator, as formulas on shapes.

What the numbers are:

- `macs` are multiply-adds of operators that sum products (linear, convolution, matrix products, attention, recurrent
  layers). `2 * macs` is what `torch.utils.flop_counter` answers, where it has an answer. A bias is where the sum
  starts, so it costs nothing more.
- `flops` are the multiply-adds, counted as 2 each, and every further operation of the formula in the docstring: one
  for each addition, subtraction, multiplication, division, comparison, logical or bit operation, and one for each
  evaluation of an elementary function (`exp`, `log`, `sqrt`, `sin`, `tanh`, `erf`, `pow`...).
- Moving data is not arithmetic: views, copies, casts, indexing, gathers, fills and random draws cost 0.

What they are not: no count of machine instructions, and no time. The dtype is not looked at: an integer or a complex
operation counts as one. Sums of `n` terms are `n - 1` additions, and means one division more.

An operator without a formula is unknown, never guessed. `N` stands for the elements of the input (for elementwise
operators: of the output, after broadcasting), `R` for the elements of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil, inf, log2, prod
from typing import TypeAlias, cast

from tl_core import OpCost
from tl_torch._call_shapes import CallShapes, Shape
from tl_torch._contraction import einsum_work

Formula: TypeAlias = Callable[[CallShapes], OpCost]

FORMULAS: dict[str, Formula] = {}
"""Formula of each operator by its name, without the marks of in-place and operator spellings (`add_`, `__add__`)."""

FREE = OpCost(flops=0, macs=0)


def formula(*names: str) -> Callable[[Formula], Formula]:
    """Enter a formula into the table under the names of the operators that it holds for."""

    def enter(function: Formula) -> Formula:
        for name in names:
            if name in FORMULAS:
                raise ValueError(f"{name} has a formula already: {FORMULAS[name]}")
            FORMULAS[name] = function
        return function

    return enter


@lru_cache(maxsize=4096)
def single(flops: int) -> OpCost:
    """Operations that are no multiply-adds."""
    return OpCost(flops=flops, macs=0)


@lru_cache(maxsize=4096)
def products(macs: int, further: int = 0) -> OpCost:
    """Multiply-adds, 2 operations each, and further single operations."""
    return OpCost(flops=2 * macs + further, macs=macs)


def unknown(reason: str) -> OpCost:
    """Refuse: this use of the operator has no formula."""
    raise LookupError(reason)


# --- Data movement ----------------------------------------------------------------------------------------------


@formula(
    # Views and shapes.
    "view", "view_as", "reshape", "reshape_as", "expand", "expand_as", "broadcast_to", "broadcast_tensors", "squeeze",
    "unsqueeze", "flatten", "unflatten", "ravel", "transpose", "permute", "swapaxes", "swapdims", "moveaxis", "movedim",
    "t", "adjoint", "T", "H", "mT", "mH", "get", "real", "imag", "view_as_real", "view_as_complex", "chunk", "split",
    "split_with_sizes", "tensor_split", "hsplit", "vsplit", "dsplit", "unbind", "narrow", "select", "slice", "diagonal",
    "as_strided", "unfold", "detach", "data", "set_data", "alias", "atleast_1d", "atleast_2d", "atleast_3d", "unsafe_chunk",
    "unsafe_split", "unsafe_split_with_sizes", "values", "indices", "set", "requires_grad", "resolve_conj",
    "resolve_neg", "positive", "pos", "swap_tensors", "resize", "resize_as", "unsafe_view",
    "reshape_alias", "linalg_diagonal", "lift_fresh", "slice_inverse", "meshgrid", "as_subclass", "grad",
    # Copies and casts.
    "clone", "contiguous", "copy", "to", "to_copy", "type", "type_as", "float", "double", "half", "bfloat16", "int",
    "long", "short", "char", "byte", "bool", "cfloat", "cdouble", "chalf", "cpu", "cuda", "xpu", "mtia", "ipu",
    "pin_memory", "share_memory", "to_dense", "autocast_to_full_precision", "autocast_to_reduced_precision", "complex",
    "alias_copy", "detach_copy", "diagonal_copy", "expand_copy", "narrow_copy", "permute_copy", "select_copy",
    "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy", "transpose_copy", "unbind_copy",
    "unfold_copy", "unsqueeze_copy", "view_copy", "view_as_real_copy", "view_as_complex_copy", "values_copy",
    "indices_copy", "as_tensor", "asarray", "module_load", "coalesce",
    # Joining, repeating, padding, reordering.
    "cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "row_stack", "column_stack", "block_diag",
    "repeat", "repeat_interleave", "tile", "pad", "constant_pad_nd", "reflection_pad1d", "reflection_pad2d",
    "reflection_pad3d", "replication_pad1d", "replication_pad2d", "replication_pad3d", "flip", "fliplr",
    "flipud", "roll", "rot90", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle",
    "im2col", "cartesian_prod", "combinations", "diag", "diag_embed", "diagflat", "tril", "triu", "fft_fftshift",
    "fft_ifftshift", "fftshift", "ifftshift", "slice_scatter", "select_scatter", "diagonal_scatter",
    "as_strided_scatter", "fill_diagonal", "unpack_dual", "pack_padded_sequence",
    "pad_packed_sequence", "max_unpool1d", "max_unpool2d", "max_unpool3d", "lu_unpack", "pad_sequence",
    # Indexing: a read, a write or a choice, and the look-up of rows.
    "getitem", "setitem", "index", "index_select", "index_fill", "index_copy", "gather", "scatter", "take",
    "take_along_dim", "masked_select", "masked_fill", "masked_scatter", "where", "embedding", "one_hot", "unravel_index",
    "nonzero", "nonzero_static", "argwhere", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "upsample_nearest_exact1d", "upsample_nearest_exact2d", "upsample_nearest_exact3d", "tril_indices", "triu_indices",
    # Factories and random draws: nothing is computed from other tensors.
    "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "new_zeros", "new_ones",
    "new_empty", "new_full", "new_tensor", "new", "new_empty_strided", "empty_strided", "empty_permuted", "tensor",
    "scalar_tensor", "from_numpy", "frombuffer", "eye", "arange", "range", "linspace", "logspace", "fill", "zero",
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "uniform",
    "exponential", "random", "bernoulli", "multinomial", "poisson", "binomial", "cauchy", "geometric", "log_normal",
    "standard_gamma", "sample_dirichlet", "fft_fftfreq", "fft_rfftfreq", "bartlett_window", "blackman_window",
    "hamming_window", "hann_window", "kaiser_window",
    # Names of dimensions.
    "rename", "refine_names", "align_to", "align_as", "align_tensors", "update_names",
)  # fmt: skip
def movement(call: CallShapes) -> OpCost:
    """Nothing is computed: 0."""
    del call
    return FREE


# --- Elementwise ------------------------------------------------------------------------------------------------


@formula(
    # Arithmetic.
    "sub", "subtract", "rsub", "mul", "multiply", "div", "divide", "true_divide", "truediv", "neg", "negative",
    "abs", "absolute", "sign", "sgn", "square", "reciprocal", "floor", "ceil", "round", "trunc", "fix",
    "conj", "conj_physical", "angle", "copysign", "deg2rad", "rad2deg", "special_round", "polar",
    # Elementary functions.
    "sqrt", "rsqrt", "pow", "float_power", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "asin", "acos", "atan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "arcsinh",
    "arccosh", "arctanh", "atan2", "arctan2", "hypot", "erf", "erfc", "erfinv", "lgamma", "digamma", "polygamma",
    "igamma", "igammac", "i0", "nextafter", "ldexp", "frexp", "special_i0", "special_i0e", "special_i1", "special_i1e",
    "special_exp2", "special_expm1", "special_log1p", "special_erf", "special_erfc", "special_erfinv", "special_erfcx",
    "special_gammaln", "special_digamma", "special_psi", "special_polygamma", "special_gammainc", "special_gammaincc",
    "special_ndtr", "special_ndtri", "special_log_ndtr", "special_bessel_j0", "special_bessel_j1", "special_bessel_y0",
    "special_bessel_y1", "special_modified_bessel_i0", "special_modified_bessel_i1", "special_modified_bessel_k0",
    "special_modified_bessel_k1", "special_scaled_modified_bessel_k0", "special_scaled_modified_bessel_k1",
    "special_spherical_bessel_j0", "special_airy_ai", "special_zeta",
    # Comparisons, logic, bits.
    "eq", "ne", "lt", "le", "gt", "ge", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max", "isnan", "isinf", "isfinite", "isposinf",
    "isneginf", "isreal", "signbit", "heaviside", "logical_and", "logical_or", "logical_xor", "logical_not",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift", "and", "or",
    "xor", "invert", "lshift", "rshift", "gcd", "lcm",
    # Activations of one operation.
    "relu", "threshold",
)  # fmt: skip
def elementwise(call: CallShapes) -> OpCost:
    """One operation for each element: N."""
    return single(prod(call.out))


@formula("add")
def addition(call: CallShapes) -> OpCost:
    """`a + alpha * b`: N additions, and N products where `alpha` is not 1."""
    return single(prod(call.out) * (1 if call.number(2, "alpha", 1) == 1 else 2))


@formula("mod", "remainder")
def remainder(call: CallShapes) -> OpCost:
    """`a - b * floor(a / b)`: 4 N."""
    return single(4 * prod(call.out))


@formula("fmod")
def truncated_remainder(call: CallShapes) -> OpCost:
    """`a - b * trunc(a / b)`: 4 N."""
    return single(4 * prod(call.out))


@formula("floor_divide", "floordiv", "frac", "xlogy", "special_xlogy", "special_xlog1py", "special_entr")
def two_steps(call: CallShapes) -> OpCost:
    """`floor(a / b)`, `a - trunc(a)`, `a * log(b)`, `-a * log(a)` with the sign in the product: 2 N."""
    return single(2 * prod(call.out))


@formula("sinc", "special_sinc", "logit", "special_logit")
def three_steps(call: CallShapes) -> OpCost:
    """`sin(pi x) / (pi x)` and `log(x / (1 - x))`: 3 N."""
    return single(3 * prod(call.out))


@formula("logaddexp", "logaddexp2")
def log_of_sum(call: CallShapes) -> OpCost:
    """`max(a, b) + log1p(exp(-|a - b|))`: 7 N."""
    return single(7 * prod(call.out))


@formula("isclose")
def isclose(call: CallShapes) -> OpCost:
    """`|a - b| <= atol + rtol * |b|`: 6 N."""
    return single(6 * prod(call.out))


@formula("nan_to_num")
def nan_to_num(call: CallShapes) -> OpCost:
    """Three tests an element: 3 N."""
    return single(3 * prod(call.out))


@formula("clamp", "clip")
def clamp(call: CallShapes) -> OpCost:
    """One comparison an element for each bound given: N or 2 N."""
    bounds = (call.value(1, "min"), call.value(2, "max"))
    return single(prod(call.out) * sum(bound is not None for bound in bounds))


@formula("lerp")
def lerp(call: CallShapes) -> OpCost:
    """`a + w * (b - a)`: 3 N."""
    return single(3 * prod(call.out))


@formula("addcmul", "addcdiv")
def addcmul(call: CallShapes) -> OpCost:
    """`t + value * a * b`, or `/ b`: 2 N, and N more where `value` is not 1."""
    return single(prod(call.out) * (2 if call.number(3, "value", 1) == 1 else 3))


@formula("cross", "linalg_cross")
def cross(call: CallShapes) -> OpCost:
    """Two products and a difference for each element: 3 N."""
    return single(3 * prod(call.out))


@formula("dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout", "native_dropout")
def dropout(call: CallShapes) -> OpCost:
    """Training: the scaled mask times the input, `mask / (1 - p)` and a product, 2 N. Else nothing."""
    training = call.value(2, "training", call.value(2, "train", True))
    return single(2 * prod(call.out)) if training else FREE


@formula("alpha_dropout", "feature_alpha_dropout")
def alpha_dropout(call: CallShapes) -> OpCost:
    """Training: `a * (x * mask + (1 - mask) * c) + b`, 6 N. Else nothing."""
    training = call.value(2, "training", call.value(2, "train", False))
    return single(6 * prod(call.out)) if training else FREE


# --- Activations ------------------------------------------------------------------------------------------------


@formula("sigmoid", "expit", "special_expit")
def sigmoid(call: CallShapes) -> OpCost:
    """`1 / (1 + exp(-x))`: 4 N."""
    return single(4 * prod(call.out))


@formula("hardtanh", "relu6", "leaky_relu", "prelu", "rrelu", "rrelu_with_noise", "hardshrink", "tanhshrink")
def two_step_activation(call: CallShapes) -> OpCost:
    """Two bounds, or a comparison and a product, or `x - tanh(x)`: 2 N."""
    return single(2 * prod(call.out))


@formula("softsign", "softshrink")
def three_step_activation(call: CallShapes) -> OpCost:
    """`x / (1 + |x|)`, and `sign(x) * max(|x| - l, 0)` as two comparisons and a difference: 3 N."""
    return single(3 * prod(call.out))


@formula("elu", "hardsigmoid", "mish")
def four_step_activation(call: CallShapes) -> OpCost:
    """`x > 0`, `a * (exp(x) - 1)`; `min(max(x + 3, 0), 6) / 6`; `x * tanh(log1p(exp(x)))`: 4 N."""
    return single(4 * prod(call.out))


@formula("silu", "swish", "hardswish", "selu", "celu", "softplus")
def five_step_activation(call: CallShapes) -> OpCost:
    """`x / (1 + exp(-x))` and the like, `elu` with one scale more, `log1p(exp(b * x)) / b` with its limit: 5 N."""
    return single(5 * prod(call.out))


@formula("log_sigmoid", "logsigmoid", "log_sigmoid_forward")
def log_sigmoid(call: CallShapes) -> OpCost:
    """`min(x, 0) - log1p(exp(-|x|))`: 6 N."""
    return single(6 * prod(call.out))


@formula("gelu")
def gelu(call: CallShapes) -> OpCost:
    """`x / 2 * (1 + erf(x / sqrt(2)))`: 5 N; by `tanh`, `x / 2 * (1 + tanh(c * (x + d * x^3)))`: 9 N."""
    return single(prod(call.out) * (9 if call.value(1, "approximate", "none") == "tanh" else 5))


@formula("glu")
def glu(call: CallShapes) -> OpCost:
    """`a * sigmoid(b)` on the two halves: 5 R."""
    return single(5 * prod(call.out))


def _rows(shape: Shape, dim: object) -> int:
    """Count the rows of a tensor along one dimension or several."""
    if not shape:
        return 1
    dims = [dim] if isinstance(dim, int) else list(cast("Sequence[int]", dim)) if isinstance(dim, (tuple, list)) else []
    length = prod(shape[d] for d in dims) if dims else prod(shape)
    return prod(shape) // length if length else 0


@formula("softmax", "special_softmax", "safe_softmax")
def softmax(call: CallShapes) -> OpCost:
    """`e = exp(x - max(x)); e / sum(e)`: 5 N, less 2 a row."""
    shape = call.shape(0)
    return single(5 * prod(shape) - 2 * _rows(shape, call.value(1, "dim", -1)))


@formula("softmin")
def softmin(call: CallShapes) -> OpCost:
    """Softmax of `-x`: 6 N, less 2 a row."""
    shape = call.shape(0)
    return single(6 * prod(shape) - 2 * _rows(shape, call.value(1, "dim", -1)))


@formula("log_softmax", "special_log_softmax")
def log_softmax(call: CallShapes) -> OpCost:
    """`y = x - max(x); y - log(sum(exp(y)))`: 5 N, less 1 a row."""
    shape = call.shape(0)
    return single(5 * prod(shape) - _rows(shape, call.value(1, "dim", -1)))


@formula("logsumexp", "special_logsumexp")
def logsumexp(call: CallShapes) -> OpCost:
    """`m = max(x); m + log(sum(exp(x - m)))`: 4 N."""
    return single(4 * prod(call.shape(0)))


# --- Linear algebra ---------------------------------------------------------------------------------------------


@formula("linear")
def linear(call: CallShapes) -> OpCost:
    """`x @ w.T + b`: a multiply-add for each output element and input feature; the sum starts at the bias."""
    return products(prod(call.out) * call.shape(0)[-1])


@formula("bilinear")
def bilinear(call: CallShapes) -> OpCost:
    """`x1 @ w @ x2` for each output feature: `I1 * I2` multiply-adds for `w @ x2`, and `I1` with `x1`."""
    first, second = call.shape(0, "input1")[-1], call.shape(1, "input2")[-1]
    return products(prod(call.out) * first * (second + 1))


@formula("matmul", "mm", "bmm", "mv", "dot", "vdot", "inner", "linalg_matmul", "linalg_vecdot", "dsmm")
def matmul(call: CallShapes) -> OpCost:
    """A multiply-add for each element of the result and each element of the last dimension of the first operand."""
    return products(prod(call.out) * call.shape(0)[-1])


@formula("rmatmul")
def reflected_matmul(call: CallShapes) -> OpCost:
    """`b @ a` of `a.__rmatmul__(b)`: as matmul."""
    return products(prod(call.out) * call.shape(1, "other")[-1])


@formula("grouped_mm", "scaled_grouped_mm")
def grouped_matmul(call: CallShapes) -> OpCost:
    """Each row meets the matrix of its group: as matmul; groups of the summed dimension share its multiply-adds."""
    first, second = call.shape(0, "self"), call.shape(1, "mat2")
    results = call.out[-2:] if len(first) == len(second) == 2 else call.out
    return products(prod(results) * first[-1])


@formula("scaled_mm")
def scaled_matmul(call: CallShapes) -> OpCost:
    """As matmul; the scales are not counted."""
    return products(prod(call.out) * call.shape(0, "self")[-1])


@formula("matrix_power", "linalg_matrix_power")
def matrix_power(call: CallShapes) -> OpCost:
    """Repeated squaring: `floor(log2 n) + (ones in n) - 1` products of n^3 multiply-adds; none for the powers 0 and 1."""
    power = int(call.number(1, "n", -1))
    if power < 0:
        return unknown("an inverse")
    batch, side = _square(call)
    count = power.bit_length() + power.bit_count() - 2 if power else 0
    return products(batch * side**3 * count)


def _scaled(call: CallShapes) -> int:
    """Products with `beta` and `alpha`, where they are not 1."""
    return prod(call.out) * sum(call.keyword(name, 1) != 1 for name in ("beta", "alpha"))


@formula("addmm", "addmv", "baddbmm", "addmm_activation")
def addmm(call: CallShapes) -> OpCost:
    """`beta * t + alpha * (a @ b)`: the product's multiply-adds; the sum starts at `t`."""
    return products(prod(call.out) * call.shape(1, "mat1")[-1], _scaled(call))


@formula("addbmm")
def addbmm(call: CallShapes) -> OpCost:
    """`addmm` summed over the batch of `B` products: `B` times its multiply-adds."""
    batch, _, inner = call.shape(1, "batch1")
    return products(prod(call.out) * batch * inner, _scaled(call))


@formula("outer", "ger", "kron")
def outer(call: CallShapes) -> OpCost:
    """One product for each element of the result: R."""
    return single(prod(call.out))


@formula("addr")
def addr(call: CallShapes) -> OpCost:
    """`t + a * b` for each element: R multiply-adds."""
    return products(prod(call.out), _scaled(call))


@formula("chain_matmul", "linalg_multi_dot", "multi_dot")
def chain(call: CallShapes) -> OpCost:
    """The cheapest order of products, as torch chooses it (Cormen et al., Introduction to Algorithms, 15.2)."""
    shapes = call.tensors()
    if len(shapes[0]) == 1:
        shapes[0] = (1, *shapes[0])
    if len(shapes[-1]) == 1:
        shapes[-1] = (*shapes[-1], 1)
    sides = [shape[0] for shape in shapes] + [shapes[-1][1]]
    count = len(shapes)
    cheapest = [[0] * count for _ in range(count)]
    for span in range(1, count):
        for low in range(count - span):
            high = low + span
            cheapest[low][high] = min(
                cheapest[low][cut] + cheapest[cut + 1][high] + sides[low] * sides[cut + 1] * sides[high + 1]
                for cut in range(low, high)
            )
    return products(cheapest[0][count - 1])


@formula("einsum")
def einsum(call: CallShapes) -> OpCost:
    """Pair by pair in the order in which torch contracts: the product of all sizes that meet, in multiply-adds.

    Sums before a product, and products that sum nothing, are single operations.
    """
    equation, shapes = call.equation()
    path = call.keyword("path")
    work = einsum_work(equation, shapes, cast("Sequence[int]", path) if isinstance(path, (tuple, list)) else None)
    return products(work.macs, work.single)


@formula("tensordot")
def tensordot(call: CallShapes) -> OpCost:
    """A multiply-add for each element of the result and each combination of the summed dimensions."""
    first, dims = call.shape(0, "a"), call.value(2, "dims", call.value(2, "dims_self", 2))
    if isinstance(dims, int):
        return products(prod(call.out) * prod(first[len(first) - dims :]))
    if isinstance(dims, (tuple, list)) and dims and isinstance(dims[0], (tuple, list)):
        dims = cast("object", dims[0])
    summed = cast("Sequence[int]", dims) if isinstance(dims, (tuple, list)) else ()
    return products(prod(call.out) * prod(first[dim] for dim in summed)) if summed else unknown("dims is a tensor")


@formula("cdist")
def cdist(call: CallShapes) -> OpCost:
    """Euclidean: a difference, a square, a sum for each coordinate of each pair, and a root: 3 D R.

    Torch may form the same distances by a matrix product instead; what is counted is the definition.
    """
    if call.number(2, "p", 2) != 2:
        return unknown("another norm")
    return single(3 * call.shape(0, "x1")[-1] * prod(call.out))


@formula("pdist", "pairwise_distance")
def pairwise_distance(call: CallShapes) -> OpCost:
    """Euclidean: a difference, a square, a sum for each coordinate of each pair, and a root: 3 D R."""
    if call.number(2, "p", 2) != 2:
        return unknown("another norm")
    return single(3 * call.tensors()[0][-1] * prod(call.out))


@formula("cosine_similarity")
def cosine_similarity(call: CallShapes) -> OpCost:
    """Three scalar products of length D (2 D - 1 each), two roots, two bounds, a product and a division: 6 D + 3."""
    total, rows = prod(call.shape(0, "x1")), prod(call.out)
    return single(6 * total + 3 * rows)


@formula("trace")
def trace(call: CallShapes) -> OpCost:
    """The sum of the diagonal: `min(rows, columns) - 1`."""
    return single(max(min(call.shape(0)) - 1, 0))


@formula("cov", "corrcoef")
def cov(call: CallShapes) -> OpCost:
    """Centred observations times themselves: V * V * O multiply-adds, 2 V O to centre, V * V to scale."""
    shape = call.shape(0)
    variables, observations = (1, shape[0]) if len(shape) == 1 else shape
    return products(variables**2 * observations, 2 * variables * observations + variables**2)


def _square(call: CallShapes) -> tuple[int, int]:
    """Count the matrices of a batch, and their side."""
    shape = call.shape(0)
    return prod(shape[:-2]), shape[-1]


@formula("cholesky", "linalg_cholesky", "linalg_cholesky_ex")
def cholesky(call: CallShapes) -> OpCost:
    """n^3 / 3, to leading order (LAPACK Working Note 41)."""
    batch, side = _square(call)
    return single(batch * side**3 // 3)


@formula("det", "logdet", "slogdet", "linalg_det", "linalg_slogdet", "linalg_lu_factor", "linalg_lu_factor_ex", "lu")
def lu(call: CallShapes) -> OpCost:
    """LU factorisation: 2 n^3 / 3, to leading order (LAPACK Working Note 41)."""
    batch, side = _square(call)
    return single(batch * 2 * side**3 // 3)


@formula("inverse", "linalg_inv", "linalg_inv_ex")
def inverse(call: CallShapes) -> OpCost:
    """Factorisation and inversion: 2 n^3, to leading order (LAPACK Working Note 41)."""
    batch, side = _square(call)
    return single(batch * 2 * side**3)


@formula("linalg_solve", "linalg_solve_ex")
def solve(call: CallShapes) -> OpCost:
    """Factorisation 2 n^3 / 3, and two triangular solves of n^2 for each right-hand side."""
    batch, side = _square(call)
    return single(batch * 2 * side**3 // 3 + 2 * side * prod(call.out))


@formula("linalg_solve_triangular", "triangular_solve")
def solve_triangular(call: CallShapes) -> OpCost:
    """n^2 operations for each right-hand side."""
    sides = {shape[-1] for shape in call.tensors() if len(shape) >= 2 and shape[-1] == shape[-2]}
    return single(call.out[-2] * prod(call.out)) if call.out[-2] in sides else unknown("no square matrix")


@formula("linalg_qr", "qr")
def qr(call: CallShapes) -> OpCost:
    """Householder: 2 m n^2 - 2 n^3 / 3 for m >= n, to leading order (LAPACK Working Note 41); Q is formed at the same."""
    *batch, rows, columns = call.shape(0)
    long, short = max(rows, columns), min(rows, columns)
    return single(prod(batch) * 2 * (2 * long * short**2 - 2 * short**3 // 3))


# --- Convolution ------------------------------------------------------------------------------------------------


@formula("conv1d", "conv2d", "conv3d", "conv_depthwise2d", "conv_depthwise3d", "thnn_conv2d", "slow_conv3d",
         "mkldnn_convolution", "slow_conv_dilated2d", "slow_conv_dilated3d", "cudnn_convolution")  # fmt: skip
def convolution(call: CallShapes) -> OpCost:
    """For each output element, `C_in / groups * kernel` multiply-adds; stride, padding and dilation show in the output.

    Taps that fall on the padding are counted; the sum starts at the bias.
    """
    return products(prod(call.out) * prod(call.shape(1, "weight")[1:]))


@formula("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "slow_conv_transpose2d", "slow_conv_transpose3d")
def transposed_convolution(call: CallShapes) -> OpCost:
    """For each input element, `C_out / groups * kernel` multiply-adds."""
    return products(prod(call.shape(0)) * prod(call.shape(1, "weight")[1:]))


@formula("convolution")
def any_convolution(call: CallShapes) -> OpCost:
    """`aten::convolution`: its seventh argument tells whether it is transposed."""
    return transposed_convolution(call) if call.value(6, "transposed", False) else convolution(call)


@formula("conv_tbc")
def conv_tbc(call: CallShapes) -> OpCost:
    """For each output element, `kernel * C_in` multiply-adds; the weight is `(kernel, C_in, C_out)`."""
    return products(prod(call.out) * prod(call.shape(1, "weight")[:2]))


@formula("fold", "col2im")
def fold(call: CallShapes) -> OpCost:
    """One addition for each element of the columns."""
    return single(prod(call.shape(0)))


# --- Attention --------------------------------------------------------------------------------------------------


@formula(
    "scaled_dot_product_attention", "scaled_dot_product_attention_math", "scaled_dot_product_flash_attention",
    "scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_efficient_attention",
    "scaled_dot_product_cudnn_attention", "scaled_dot_product_fused_attention_overrideable",
    "scaled_dot_product_attention_math_for_mps",
)  # fmt: skip
def attention(call: CallShapes) -> OpCost:
    """`q @ k.T` and `p @ v`: for each query, `S * (E + E_v)` multiply-adds, whatever the kernel.

    As in `torch.utils.flop_counter`, the softmax between the products, the scale and the mask are not counted, and
    a causal mask does not halve the work. Grouped-query attention costs as much as with all heads.
    """
    query, key, value = call.shape(0, "query"), call.shape(1, "key"), call.shape(2, "value")
    return products(prod(query[:-1]) * key[-2] * (query[-1] + value[-1]))


@formula("flash_attention_forward", "efficient_attention_forward")
def attention_by_position(call: CallShapes) -> OpCost:
    """The same for tensors of shape `(batch, positions, heads, features)`."""
    query, key, value = call.shape(0, "query"), call.shape(1, "key"), call.shape(2, "value")
    if len(query) != 4:
        return unknown("packed sequences: their lengths are values, not shapes")
    return products(prod(query[:-1]) * key[1] * (query[-1] + value[-1]))


# --- Normalisation ----------------------------------------------------------------------------------------------


def _standardise(call: CallShapes, rows: int, affine: int) -> OpCost:
    """Mean N, variance 3 N, `x - mean` and `* rstd` 2 N, weight and bias N each; `+ eps` and a root for each row."""
    return single(prod(call.out) * (6 + affine) + 2 * rows)


def _affine(call: CallShapes, weight: int, bias: int) -> int:
    return call.has(weight, "weight") + call.has(bias, "bias")


@formula("layer_norm", "native_layer_norm")
def layer_norm(call: CallShapes) -> OpCost:
    """Standardise each row, then weight and bias: (6 + weight + bias) N, and 2 a row."""
    length = prod(call.integers(1, "normalized_shape"))
    return _standardise(call, prod(call.out) // length if length else 0, _affine(call, 2, 3))


@formula("group_norm")
def group_norm(call: CallShapes) -> OpCost:
    """Standardise each group of channels of each sample, then weight and bias: (6 + weight + bias) N, and 2 a group."""
    return _standardise(call, call.shape(0)[0] * int(call.number(1, "num_groups", 1)), _affine(call, 2, 3))


@formula("native_group_norm")
def native_group_norm(call: CallShapes) -> OpCost:
    """`aten::native_group_norm(input, weight, bias, N, C, HxW, groups, eps)`: as group_norm."""
    return _standardise(call, call.shape(0)[0] * int(call.number(6, "group", 1)), _affine(call, 1, 2))


def _batch_norm(call: CallShapes, shape: Shape, rows: int, weight: int, statistics: int) -> OpCost:
    """Standardise by the input's own statistics, or scale by the running ones; a running statistic updates in 3."""
    weighted, biased = call.has(weight, "weight"), call.has(weight + 1, "bias")
    running = call.has(statistics, "running_mean") + call.has(statistics + 1, "running_var")
    if not running or call.value(5, "training", call.value(5, "use_input_stats", False)):
        return single(prod(call.out) * (6 + weighted + biased) + 2 * rows + 3 * shape[1] * running)
    return single(2 * prod(call.out) + shape[1] * (4 + weighted))


@formula("batch_norm")
def batch_norm(call: CallShapes) -> OpCost:
    """Training: standardise each channel, weight and bias (6 + weight + bias) N, 2 a channel, 3 for each running update.

    Evaluation: `a = weight / sqrt(var + eps)` and `b = bias - mean * a` for each channel, `a * x + b`: 2 N, and 4 a
    channel, 5 with a weight.
    """
    shape = call.shape(0)
    return _batch_norm(call, shape, shape[1], *_channel_arguments(call))


@formula("native_batch_norm", "cudnn_batch_norm")
def native_batch_norm(call: CallShapes) -> OpCost:
    """As batch_norm; the running statistics come after weight and bias."""
    shape = call.shape(0)
    return _batch_norm(call, shape, shape[1], 1, 3)


@formula("instance_norm")
def instance_norm(call: CallShapes) -> OpCost:
    """As batch_norm, with a mean and a variance for each channel of each sample."""
    shape = call.shape(0)
    return _batch_norm(call, shape, prod(shape[:2]), *_channel_arguments(call))


def _channel_arguments(call: CallShapes) -> tuple[int, int]:
    """Tell `torch.batch_norm(x, weight, bias, mean, var, ...)`, always 9 arguments, from `F.batch_norm(x, mean, var, ...)`."""
    return (1, 3) if len(call) == 9 else (3, 1)


@formula("rms_norm", "fused_rms_norm")
def rms_norm(call: CallShapes) -> OpCost:
    """`x / sqrt(mean(x^2) + eps) * weight`: 3 N, N with a weight, and 2 a row."""
    total, length = prod(call.out), prod(call.integers(1, "normalized_shape"))
    return single(total * (3 + call.has(2, "weight")) + 2 * (total // length if length else 0))


@formula("local_response_norm")
def local_response_norm(call: CallShapes) -> OpCost:
    """`x / (k + alpha * mean(x^2 over size channels))^beta`: a square, `size` for the mean, 4 more: (size + 5) N."""
    return single(prod(call.out) * (int(call.number(1, "size", 1)) + 5))


@formula("normalize")
def normalize(call: CallShapes) -> OpCost:
    """`x / max(norm(x), eps)`, Euclidean: 3 N, and a comparison for each row."""
    if call.number(1, "p", 2) != 2:
        return unknown("another norm")
    shape = call.shape(0)
    return single(3 * prod(shape) + _rows(shape, call.value(2, "dim", 1)))


@formula("weight_norm", "weight_norm_interface")
def weight_norm(call: CallShapes) -> OpCost:
    """`v * (g / norm(v))`: Euclidean norms 2 N, a division for each slice, a product N."""
    return single(3 * prod(call.shape(0, "v")) + prod(call.shape(1, "g")))


@formula("renorm")
def renorm(call: CallShapes) -> OpCost:
    """Euclidean norm 2 N, a comparison and a division for each slice, a product N."""
    if call.number(1, "p", 2) != 2:
        return unknown("another norm")
    shape, dim = call.shape(0), int(call.number(2, "dim", 0))
    return single(3 * prod(shape) + 2 * shape[dim])


# --- Pooling ----------------------------------------------------------------------------------------------------


def _window(call: CallShapes, dims: int) -> int:
    return prod(call.sizes(1, "kernel_size", dims))


def _average(call: CallShapes, dims: int) -> OpCost:
    return single(prod(call.out) * _window(call, dims))


def _maximum(call: CallShapes, dims: int) -> OpCost:
    return single(prod(call.out) * (_window(call, dims) - 1))


@formula("avg_pool1d")
def avg_pool1d(call: CallShapes) -> OpCost:
    """`kernel - 1` additions and a division for each output; taps on the padding are counted."""
    return _average(call, 1)


@formula("avg_pool2d")
def avg_pool2d(call: CallShapes) -> OpCost:
    """`kernel - 1` additions and a division for each output; taps on the padding are counted."""
    return _average(call, 2)


@formula("avg_pool3d")
def avg_pool3d(call: CallShapes) -> OpCost:
    """`kernel - 1` additions and a division for each output; taps on the padding are counted."""
    return _average(call, 3)


@formula("max_pool1d", "max_pool1d_with_indices")
def max_pool1d(call: CallShapes) -> OpCost:
    """`kernel - 1` comparisons for each output; taps on the padding are counted."""
    return _maximum(call, 1)


@formula("max_pool2d", "max_pool2d_with_indices", "fractional_max_pool2d", "fractional_max_pool2d_with_indices")
def max_pool2d(call: CallShapes) -> OpCost:
    """`kernel - 1` comparisons for each output; taps on the padding are counted."""
    return _maximum(call, 2)


@formula("max_pool3d", "max_pool3d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices")
def max_pool3d(call: CallShapes) -> OpCost:
    """`kernel - 1` comparisons for each output; taps on the padding are counted."""
    return _maximum(call, 3)


def _adaptive_taps(before: Shape, after: Shape) -> int:
    """Sum the sizes of all windows: output `i` of `R` reads the inputs from `floor(i N / R)` to `ceil((i + 1) N / R)`."""
    return prod(
        sum(-((place + 1) * size // -result) - place * size // result for place in range(result))
        for size, result in zip(before, after, strict=True)
    )


def _adaptive(call: CallShapes, dims: int) -> int:
    shape = call.shape(0)
    return prod(call.out[:-dims]) * _adaptive_taps(shape[-dims:], call.out[-dims:])


@formula("adaptive_avg_pool1d")
def adaptive_avg_pool1d(call: CallShapes) -> OpCost:
    """The sizes of all windows: each output takes one addition less, and a division."""
    return single(_adaptive(call, 1))


@formula("adaptive_avg_pool2d", "mkldnn_adaptive_avg_pool2d")
def adaptive_avg_pool2d(call: CallShapes) -> OpCost:
    """The sizes of all windows: each output takes one addition less, and a division."""
    return single(_adaptive(call, 2))


@formula("adaptive_avg_pool3d")
def adaptive_avg_pool3d(call: CallShapes) -> OpCost:
    """The sizes of all windows: each output takes one addition less, and a division."""
    return single(_adaptive(call, 3))


@formula("adaptive_max_pool1d", "adaptive_max_pool1d_with_indices")
def adaptive_max_pool1d(call: CallShapes) -> OpCost:
    """The sizes of all windows, less one comparison for each output."""
    return single(_adaptive(call, 1) - prod(call.out))


@formula("adaptive_max_pool2d", "adaptive_max_pool2d_with_indices")
def adaptive_max_pool2d(call: CallShapes) -> OpCost:
    """The sizes of all windows, less one comparison for each output."""
    return single(_adaptive(call, 2) - prod(call.out))


@formula("adaptive_max_pool3d", "adaptive_max_pool3d_with_indices")
def adaptive_max_pool3d(call: CallShapes) -> OpCost:
    """The sizes of all windows, less one comparison for each output."""
    return single(_adaptive(call, 3) - prod(call.out))


def _power_pool(call: CallShapes, dims: int) -> OpCost:
    return single(prod(call.out) * (2 * prod(call.sizes(2, "kernel_size", dims)) + 2))


@formula("lp_pool1d")
def lp_pool1d(call: CallShapes) -> OpCost:
    """`(k * avg(x^p))^(1 / p)`: 2 kernel + 2 for each output."""
    return _power_pool(call, 1)


@formula("lp_pool2d")
def lp_pool2d(call: CallShapes) -> OpCost:
    """`(k * avg(x^p))^(1 / p)`: 2 kernel + 2 for each output."""
    return _power_pool(call, 2)


@formula("lp_pool3d")
def lp_pool3d(call: CallShapes) -> OpCost:
    """`(k * avg(x^p))^(1 / p)`: 2 kernel + 2 for each output."""
    return _power_pool(call, 3)


# --- Reductions, scans, order -----------------------------------------------------------------------------------


@formula("sum", "prod", "amax", "amin", "argmax", "argmin", "all", "any", "is_all_true", "is_any_true", "sum_to_size")
def reduction(call: CallShapes) -> OpCost:
    """One operation less than there are elements for each result: N - R."""
    return single(prod(call.shape(0)) - prod(call.out))


@formula("max", "min")
def extremum(call: CallShapes) -> OpCost:
    """Of one tensor: N - R comparisons. Of two tensors, element by element: R."""
    total = prod(call.out)
    return single(total if call.has(1, "other") else prod(call.shape(0)) - total)


@formula("aminmax")
def aminmax(call: CallShapes) -> OpCost:
    """Both ends: 2 (N - R)."""
    return single(2 * (prod(call.shape(0)) - prod(call.out)))


@formula("mean")
def mean(call: CallShapes) -> OpCost:
    """A sum, N - R, and R divisions: N."""
    return single(prod(call.shape(0)))


@formula("nansum", "count_nonzero")
def tested_sum(call: CallShapes) -> OpCost:
    """A test of each element and a sum: 2 N - R."""
    return single(2 * prod(call.shape(0)) - prod(call.out))


@formula("nanmean")
def nanmean(call: CallShapes) -> OpCost:
    """A test of each element, a sum, a count and a division: 3 N - R."""
    return single(3 * prod(call.shape(0)) - prod(call.out))


@formula("var", "var_mean")
def variance(call: CallShapes) -> OpCost:
    """A mean N, differences N, squares N, and their mean N: 4 N."""
    return single(4 * prod(call.shape(0)))


@formula("std", "std_mean")
def deviation(call: CallShapes) -> OpCost:
    """A variance 4 N, and R roots."""
    return single(4 * prod(call.shape(0)) + prod(call.out))


def _norm(order: object, before: int, after: int) -> OpCost:
    """Work of a vector norm of `before` elements into `after` results."""
    if order in (None, "fro", 2):
        return single(2 * before)  # squares, sums, roots
    if order in (0, 1, inf, -inf):
        return single(2 * before - after)  # tests or absolute values, then sums or comparisons
    if isinstance(order, (int, float)):
        return single(3 * before)  # absolute values, powers, sums, roots
    return unknown("a norm of singular values")


@formula("norm", "linalg_vector_norm", "frobenius_norm")
def norm(call: CallShapes) -> OpCost:
    """Euclidean: 2 N. Orders 0, 1 and infinity: 2 N - R. Other orders: 3 N."""
    order = call.value(1, "p", call.value(1, "ord", None)) if call.kernel != "frobenius_norm" else None
    return _norm(order, prod(call.shape(0)), prod(call.out))


@formula("linalg_norm", "linalg_matrix_norm")
def matrix_norm(call: CallShapes) -> OpCost:
    """Frobenius and vector norms only: as norm. Other norms of matrices have no formula."""
    order = call.value(1, "ord", None)
    if order not in (None, "fro") and (len(call.shape(0)) > 1 or call.kernel == "linalg_matrix_norm"):
        return unknown("a norm of a matrix")
    return _norm(order, prod(call.shape(0)), prod(call.out))


@formula("dist")
def dist(call: CallShapes) -> OpCost:
    """Differences N, then as norm."""
    larger = max(prod(call.shape(0)), prod(call.shape(1, "other")))
    cost = _norm(call.value(2, "p", 2), larger, 1)
    return single(larger + (cost.flops or 0))


@formula("cumsum", "cumprod", "cummax", "cummin")
def scan(call: CallShapes) -> OpCost:
    """One operation for each element after the first of its row."""
    shape = call.shape(0)
    return single(prod(shape) - _rows(shape, call.value(1, "dim", -1)))


@formula("logcumsumexp")
def logcumsumexp(call: CallShapes) -> OpCost:
    """A `logaddexp` (7) for each element after the first of its row."""
    shape = call.shape(0)
    return single(7 * (prod(shape) - _rows(shape, call.value(1, "dim", -1))))


@formula("diff")
def diff(call: CallShapes) -> OpCost:
    """A subtraction for each result; of order n, each order's results."""
    order, dim = int(call.number(1, "n", 1)), int(call.number(2, "dim", -1))
    length = call.out[dim]
    rows = prod(call.out) // length if length else 0
    return single(rows * sum(length + further for further in range(order)))


@formula("trapezoid", "trapz", "cumulative_trapezoid")
def trapezoid(call: CallShapes) -> OpCost:
    """`(a + b) / 2 * dx` and a sum for each pair of neighbours: 4 a pair."""
    shape = call.shape(0, "y")
    return single(4 * (prod(shape) - _rows(shape, call.value(2, "dim", -1))))


@formula("sort", "argsort", "msort", "unique", "unique2", "unique_dim")
def sort(call: CallShapes) -> OpCost:
    """Comparisons of a merge sort: `n ceil(log2 n)` for each row of n (Knuth, The Art of Computer Programming 3, 5.2.4).

    What torch's kernel compares depends on the values; radix sorts compare nothing.
    """
    shape = call.shape(0)
    dim = call.value(1, "dim", -1) if call.kernel not in {"msort", "unique", "unique2", "_unique2"} else 0
    dim = dim if isinstance(dim, int) and not isinstance(dim, bool) else -1
    if call.kernel in {"unique", "_unique2", "unique2"}:
        return single(_sorting(prod(shape), 1))
    length = shape[dim] if shape else 1
    return single(_sorting(length, prod(shape) // length if length else 0))


def _sorting(length: int, rows: int) -> int:
    return rows * length * ceil(log2(length)) if length > 1 else 0


@formula("topk")
def topk(call: CallShapes) -> OpCost:
    """Comparisons of a heap of k: `n ceil(log2(k + 1))` for each row of n; what torch compares depends on the values."""
    count = call.number(1, "k", 1)
    return single(prod(call.shape(0)) * ceil(log2(count + 1)))


@formula("unique_consecutive")
def unique_consecutive(call: CallShapes) -> OpCost:
    """A comparison with the element before: N - 1."""
    return single(max(prod(call.shape(0)) - 1, 0))


@formula("searchsorted")
def searchsorted(call: CallShapes) -> OpCost:
    """A binary search for each value: `ceil(log2(n + 1))` comparisons among n boundaries."""
    return single(prod(call.out) * ceil(log2(call.shape(0, "sorted_sequence")[-1] + 1)))


@formula("bucketize")
def bucketize(call: CallShapes) -> OpCost:
    """A binary search for each value: `ceil(log2(n + 1))` comparisons among n boundaries."""
    return single(prod(call.out) * ceil(log2(call.shape(1, "boundaries")[-1] + 1)))


@formula("isin")
def isin(call: CallShapes) -> OpCost:
    """A comparison of each element with each test element."""
    return single(prod(call.out) * prod(call.shape(1, "test_elements")))


@formula("bincount")
def bincount(call: CallShapes) -> OpCost:
    """An addition for each element: N."""
    return single(prod(call.shape(0)))


@formula("index_add", "scatter_add", "index_reduce", "scatter_reduce")
def scattered_sum(call: CallShapes) -> OpCost:
    """An operation for each element of the source, and a product where `alpha` is not 1."""
    source = call.tensors()[-1]
    return single(prod(source) * (1 if call.keyword("alpha", 1) == 1 else 2))


@formula("index_put", "put")
def put(call: CallShapes) -> OpCost:
    """Nothing, or an addition for each element written where it accumulates."""
    if not call.value(3, "accumulate", False):
        return FREE
    shapes = call.tensors()
    return single(max(prod(shape) for shape in shapes[1:]))


@formula("embedding_bag", "embedding_bag_forward_only")
def embedding_bag(call: CallShapes) -> OpCost:
    """The rows of each bag summed, or compared: `(indices - bags) * D`; a mean, D divisions a bag; weighted, D products an index.

    `F.embedding_bag` names the indices first and `torch.embedding_bag` the table: indices have an integer dtype.
    """
    indices_first = "int" in call.dtype(0)
    indices = prod(call.shape(0) if indices_first else call.shape(1, "indices"))
    mode = call.value(6, "mode", "mean") if indices_first else call.value(4, "mode", 0)
    weighted = call.has(8 if indices_first else 6, "per_sample_weights")
    bags, width = call.out
    operations = max(indices - bags, 0) + (bags if mode in ("mean", 1) else 0) + (indices if weighted else 0)
    return single(operations * width)


# --- Losses -----------------------------------------------------------------------------------------------------


def _loss(call: CallShapes, each: int) -> OpCost:
    """`each` operations an element, and one more to reduce them, where the result is smaller than the input."""
    shapes = call.tensors()[:2]
    terms = max(prod(shape) for shape in shapes)
    reduced = prod(call.out) < terms
    return single(terms * (each + reduced))


@formula("mse_loss", "l1_loss")
def plain_loss(call: CallShapes) -> OpCost:
    """A difference, and its square or absolute value: 2 N; reduced, N more."""
    return _loss(call, 2)


@formula("kl_div")
def kl_div(call: CallShapes) -> OpCost:
    """`y * (log(y) - x)`, or `exp(y) * (y - x)`: 3 N; reduced, N more."""
    return _loss(call, 3)


@formula("poisson_nll_loss")
def poisson_nll_loss(call: CallShapes) -> OpCost:
    """`exp(x) - y * x`: 3 N, or `x - y * log(x + eps)`: 4 N; reduced, N more. Stirling's term is not counted."""
    return _loss(call, 3 if call.value(2, "log_input", True) else 4)


@formula("soft_margin_loss")
def soft_margin_loss(call: CallShapes) -> OpCost:
    """`log1p(exp(-y * x))`: 4 N; reduced, N more."""
    return _loss(call, 4)


@formula("margin_ranking_loss", "hinge_embedding_loss", "huber_loss")
def five_step_loss(call: CallShapes) -> OpCost:
    """`max(0, -y * (a - b) + m)`; two tests, `max(0, m - x)`, a sum; `|d| < delta`, `d^2 / 2`: 5 N; reduced, N more."""
    return _loss(call, 5)


@formula("smooth_l1_loss")
def smooth_l1_loss(call: CallShapes) -> OpCost:
    """`d = |x - y|`, `d < beta`, `d^2 / 2 / beta`: 6 N; reduced, N more."""
    return _loss(call, 6)


@formula("gaussian_nll_loss")
def gaussian_nll_loss(call: CallShapes) -> OpCost:
    """`(log(max(v, eps)) + (x - y)^2 / max(v, eps)) / 2`: 7 N; reduced, N more."""
    return _loss(call, 7)


@formula("binary_cross_entropy")
def binary_cross_entropy(call: CallShapes) -> OpCost:
    """`-(y * log(x) + (1 - y) * log(1 - x))`: 8 N; weighted, N more; reduced, N more."""
    return _loss(call, 8 + call.has(2, "weight"))


@formula("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(call: CallShapes) -> OpCost:
    """`(1 - y) * x - log_sigmoid(x)`: 9 N; weighted, N more; reduced, N more. A `pos_weight` is not counted."""
    return _loss(call, 9 + call.has(2, "weight"))


def _classes(shape: Shape) -> int:
    return shape[0] if len(shape) == 1 else shape[1]


@formula("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(call: CallShapes) -> OpCost:
    """A sign for each target; weighted, a product; reduced, a sum."""
    shape = call.shape(0)
    targets = prod(shape) // _classes(shape) if prod(shape) else 0
    reduced = prod(call.out) < targets or targets == 1
    return single(targets * (1 + call.has(2, "weight") + reduced))


@formula("cross_entropy", "cross_entropy_loss")
def cross_entropy(call: CallShapes) -> OpCost:
    """`log_softmax` (5 N, less 1 a target), then as nll_loss; for targets that are probabilities, 2 N and a sign instead.

    Label smoothing is not counted.
    """
    shape, target = call.shape(0), call.shape(1, "target")
    total = prod(shape)
    targets = total // _classes(shape) if total else 0
    reduced = prod(call.out) < targets or targets == 1
    chosen = 2 * total if target == shape and "int" not in call.dtype(1, "target") else 0
    return single(5 * total - targets + chosen + targets * (1 + call.has(2, "weight") + reduced))


@formula("multi_margin_loss")
def multi_margin_loss(call: CallShapes) -> OpCost:
    """`max(0, m - x[y] + x)` summed over the classes and divided by their number: 4 N, and 1 a row; reduced, 1 a row more."""
    shape = call.shape(0)
    rows = prod(shape[:-1])
    return single(4 * prod(shape) + rows * (2 if prod(call.out) < rows or rows == 1 else 1))


@formula("cosine_embedding_loss")
def cosine_embedding_loss(call: CallShapes) -> OpCost:
    """Three scalar products, 6 D - 3; the cosine, both arms and the choice, 11; reduced, 1 a row more."""
    first = call.shape(0, "input1")
    rows = prod(first[:-1])
    return single(6 * prod(first) + rows * (9 if prod(call.out) < rows or rows == 1 else 8))


@formula("triplet_margin_loss")
def triplet_margin_loss(call: CallShapes) -> OpCost:
    """Euclidean distances (4 D each: difference, `+ eps`, square, sum, root), two or with `swap` three, and 3 a row; reduced, 1 more."""
    if call.number(4, "p", 2) != 2:
        return unknown("another norm")
    shape = call.shape(0, "anchor")
    rows = prod(shape[:-1])
    distances, steps = (3, 4) if call.value(6, "swap", False) else (2, 3)
    return single(4 * distances * prod(shape) + rows * (steps + (prod(call.out) < rows or rows == 1)))


# --- Recurrent layers -------------------------------------------------------------------------------------------

# Operations of one unit beside the two products: (gates, operations). The sums start at the two biases; adding the two
# sums is one addition for each gate; a sigmoid is 4, a tanh 1.
UNIT: dict[str, tuple[int, int]] = {
    "lstm": (4, 22),  # 4 additions, 3 sigmoids, a tanh; `f * c + i * g` 3; `o * tanh(c)` 2
    "gru": (3, 16),  # 2 additions, 2 sigmoids; `tanh(a + r * b)` 3; `n + z * (h - n)` 3
    "rnn_tanh": (1, 2),  # an addition, a tanh
    "rnn_relu": (1, 2),  # an addition, a comparison
}


def _recurrent(call: CallShapes, kind: str, weights: Sequence[Shape]) -> OpCost:
    """At each position: a multiply-add for each weight, and the gates' arithmetic for each unit of each layer and direction."""
    matrices = [shape for shape in weights if len(shape) == 2]
    positions = prod(call.shape(0)[:-1])
    gates, operations = UNIT[kind]
    rows = matrices[0][0]
    units = sum(shape[0] == rows for shape in matrices) // 2 * (rows // gates)
    return products(positions * sum(prod(shape) for shape in matrices), positions * units * operations)


@formula("lstm")
def lstm(call: CallShapes) -> OpCost:
    """`sigmoid` and `tanh` of `x @ w + b + h @ v + c` for four gates: `UNIT["lstm"]`; a projection adds its weights."""
    return _recurrent(call, "lstm", call.groups()[-1])


@formula("gru")
def gru(call: CallShapes) -> OpCost:
    """Three gates, the last with the reset gate inside the tanh: `UNIT["gru"]`."""
    return _recurrent(call, "gru", call.groups()[-1])


@formula("rnn_tanh")
def rnn_tanh(call: CallShapes) -> OpCost:
    """`tanh(x @ w + b + h @ v + c)`."""
    return _recurrent(call, "rnn_tanh", call.groups()[-1])


@formula("rnn_relu")
def rnn_relu(call: CallShapes) -> OpCost:
    """`relu(x @ w + b + h @ v + c)`."""
    return _recurrent(call, "rnn_relu", call.groups()[-1])


def _cell(call: CallShapes, kind: str) -> OpCost:
    return _recurrent(call, kind, [call.shape(2, "w_ih"), call.shape(3, "w_hh")])


@formula("lstm_cell")
def lstm_cell(call: CallShapes) -> OpCost:
    """One step of lstm."""
    return _cell(call, "lstm")


@formula("gru_cell")
def gru_cell(call: CallShapes) -> OpCost:
    """One step of gru."""
    return _cell(call, "gru")


@formula("rnn_tanh_cell")
def rnn_tanh_cell(call: CallShapes) -> OpCost:
    """One step of rnn_tanh."""
    return _cell(call, "rnn_tanh")


@formula("rnn_relu_cell")
def rnn_relu_cell(call: CallShapes) -> OpCost:
    """One step of rnn_relu."""
    return _cell(call, "rnn_relu")


# --- Fourier transforms -----------------------------------------------------------------------------------------


def _fourier(elements: int, length: int, each: float) -> OpCost:
    return single(round(each * elements * log2(length))) if length > 1 else FREE


def _transformed(call: CallShapes, shape: Shape, dims: int | None) -> int:
    """Length of the transform: the product of the sizes of the transformed dimensions of `shape`."""
    axes = call.value(2, "dim", None)
    if isinstance(axes, int):
        return shape[axes]
    if isinstance(axes, (tuple, list)):
        return prod(shape[axis] for axis in cast("Sequence[int]", axes))
    return prod(shape if dims is None else shape[len(shape) - dims :])


@formula("fft_fft", "fft_ifft", "fft")
def fft(call: CallShapes) -> OpCost:
    """5 n log2 n for each row of n (the radix-2 count that FFTW reports as well)."""
    return _fourier(prod(call.out), _transformed(call, call.out, 1), 5)


@formula("fft_fft2", "fft_ifft2")
def fft2(call: CallShapes) -> OpCost:
    """5 n log2 n for each plane of n elements."""
    return _fourier(prod(call.out), _transformed(call, call.out, 2), 5)


@formula("fft_fftn", "fft_ifftn")
def fftn(call: CallShapes) -> OpCost:
    """5 n log2 n for each block of n elements."""
    return _fourier(prod(call.out), _transformed(call, call.out, None), 5)


def _real_fourier(call: CallShapes, dims: int | None) -> OpCost:
    """The real side is the larger one, except where `n=` cuts it; half the work of a complex transform."""
    before, after = call.shape(0), call.out
    real = after if prod(after) > prod(before) else before
    return _fourier(prod(real), _transformed(call, real, dims), 2.5)


@formula("fft_rfft", "fft_irfft", "fft_hfft", "fft_ihfft", "rfft", "irfft")
def rfft(call: CallShapes) -> OpCost:
    """2.5 n log2 n for each row of n real elements."""
    return _real_fourier(call, 1)


@formula("fft_rfft2", "fft_irfft2", "fft_hfft2", "fft_ihfft2")
def rfft2(call: CallShapes) -> OpCost:
    """2.5 n log2 n for each plane of n real elements."""
    return _real_fourier(call, 2)


@formula("fft_rfftn", "fft_irfftn", "fft_hfftn", "fft_ihfftn")
def rfftn(call: CallShapes) -> OpCost:
    """2.5 n log2 n for each block of n real elements."""
    return _real_fourier(call, None)


@formula("stft")
def stft(call: CallShapes) -> OpCost:
    """For each frame: n products with the window, if there is one, and a real transform, 2.5 n log2 n."""
    length = int(call.number(1, "n_fft", 1))
    sizes = call.out[:-1] if call.out[-1] == 2 and len(call.out) > len(call.shape(0)) + 1 else call.out
    frames = prod(sizes[: len(sizes) - 2]) * sizes[-1]
    windowed = len(call.tensors()) > 1
    return single(frames * (round(2.5 * length * log2(length)) + length * windowed))


# --- Resampling -------------------------------------------------------------------------------------------------


def _taps(call: CallShapes, taps: int) -> OpCost:
    """A weighted sum of `taps` neighbours for each output; the weights, the same for all channels, are not counted."""
    return single(prod(call.out) * (2 * taps - 1))


@formula("upsample_linear1d")
def upsample_linear(call: CallShapes) -> OpCost:
    """Two neighbours: 3 R."""
    return _taps(call, 2)


@formula("upsample_bilinear2d")
def upsample_bilinear(call: CallShapes) -> OpCost:
    """Four neighbours: 7 R."""
    return _taps(call, 4)


@formula("upsample_trilinear3d")
def upsample_trilinear(call: CallShapes) -> OpCost:
    """Eight neighbours: 15 R."""
    return _taps(call, 8)


@formula("upsample_bicubic2d")
def upsample_bicubic(call: CallShapes) -> OpCost:
    """Sixteen neighbours: 31 R."""
    return _taps(call, 16)


NEIGHBOURS = {"linear": 2, "bilinear": 4, "trilinear": 8, "bicubic": 16}


@formula("interpolate", "upsample", "upsample_bilinear", "upsample_nearest")
def interpolate(call: CallShapes) -> OpCost:
    """Nearest: 0. Linear in d dimensions: 2^d neighbours; bicubic: 16; `2 neighbours - 1` for each output.

    `area` is adaptive average pooling. With antialiasing the number of neighbours depends on the scale: no formula.
    """
    mode = call.value(3, "mode", "nearest")
    if call.value(6, "antialias", False):
        return unknown("antialiased")
    if mode in ("nearest", "nearest-exact"):
        return FREE
    if mode == "area":
        return single(_adaptive(call, len(call.out) - 2))
    return _taps(call, NEIGHBOURS[str(mode)])


@formula("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sample(call: CallShapes) -> OpCost:
    """Nearest: 0. Bilinear: 4 neighbours in a plane and 8 in a block, bicubic 16; `2 neighbours - 1` for each output.

    The places and weights, the same for all channels, are not counted.
    """
    mode = call.value(2, "mode", call.value(2, "interpolation_mode", "bilinear"))
    if mode in ("nearest", 1):
        return FREE
    return _taps(call, 16 if mode in ("bicubic", 2) else 2 ** (len(call.out) - 2))


@formula("affine_grid", "affine_grid_generator")
def affine_grid(call: CallShapes) -> OpCost:
    """Each of d coordinates of each place: `d + 1` multiply-adds."""
    return products(prod(call.out) * (call.out[-1] + 1))
