"""What validation knows about torch's functions: which need not answer to a change of an argument, and why."""

SHAPE_ONLY_FIRST = frozenset({
    "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like", "new_zeros", "new_ones", "new_full",
    "new_tensor", "new", "normal_", "uniform_", "bernoulli_", "random_", "exponential_", "zero_", "fill_",
})  # fmt: skip
"""Functions that take only shape, dtype and device from their first argument."""

SHAPE_ONLY_SECOND = frozenset({"expand_as", "view_as", "reshape_as", "type_as", "to", "resize_as_", "sum_to_size"})
"""Functions that take only shape, dtype and device from their second argument."""

SHAPED_BY_ALL = frozenset({"broadcast_tensors", "meshgrid"})
"""Functions each of whose outputs takes its values from one argument and its shape from all."""

_MASK, _DIM_INDEX = ((1, "mask"),), ((2, "index"),)
INDEX_AT: dict[str, tuple[tuple[int, str], ...]] = {
    "getitem": ((1, ""),), "setitem": ((1, ""),), "where": ((0, "condition"),),
    "gather": _DIM_INDEX, "index_select": _DIM_INDEX, "index_add": _DIM_INDEX, "index_add_": _DIM_INDEX,
    "index_copy": _DIM_INDEX, "index_copy_": _DIM_INDEX, "index_fill": _DIM_INDEX, "index_fill_": _DIM_INDEX,
    "scatter": _DIM_INDEX, "scatter_": _DIM_INDEX, "scatter_add": _DIM_INDEX, "scatter_add_": _DIM_INDEX,
    "scatter_reduce": _DIM_INDEX, "scatter_reduce_": _DIM_INDEX,
    "index_put": ((1, "indices"),), "index_put_": ((1, "indices"),),
    "masked_fill": _MASK, "masked_fill_": _MASK, "masked_scatter": _MASK, "masked_scatter_": _MASK, "masked_select": _MASK,
    "take": ((1, "index"),), "put_": ((1, "index"),), "take_along_dim": ((1, "indices"),),
    "embedding": ((0, "input"), (1, "indices")),
    "embedding_bag": ((0, "input"), (1, "indices"), (2, "offsets")),
}  # fmt: skip
"""Arguments that say where, by position and name; equal values there make a change of place invisible."""

OVERWRITING = frozenset({
    "setitem", "copy_", "index_put_", "index_put", "masked_fill_", "masked_fill", "masked_scatter_", "masked_scatter",
    "scatter_", "scatter", "index_copy_", "index_copy", "index_fill_", "index_fill", "put_", "slice_scatter",
    "select_scatter", "diagonal_scatter", "as_strided_scatter", "fill_diagonal_", "triu_", "tril_", "clamp_",
})  # fmt: skip
"""Functions that write over part of their first argument, at times over all of it."""

UNCHECKED = frozenset({"fused_moving_avg_obs_fake_quant", "_fused_moving_avg_obs_fq_helper"})
"""Functions that read memory as their arguments say, without a check: other arguments would end the process."""

OF_A_LEVEL = frozenset({"_make_dual", "_unpack_dual"})
"""Functions that belong to a level of forward-mode differentiation, which ends with the run."""

UNINITIALISED = frozenset({
    "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted", "resize_", "resize_as_",
})  # fmt: skip
"""Functions that return memory as they found it."""

FINITENESS_TESTS = frozenset({"isnan", "isinf", "isfinite", "isposinf", "isneginf", "nan_to_num", "nan_to_num_"})
"""Functions that answer to non-finite values alone."""

COMPARISONS = frozenset({
    "lt", "le", "gt", "ge", "eq", "ne", "less", "less_equal", "greater", "greater_equal", "clamp", "clip", "clamp_min",
    "clamp_max", "clamp_", "clip_", "clamp_min_", "clamp_max_", "minimum", "maximum", "fmin", "fmax", "min", "max", "isin",
})  # fmt: skip
"""Functions that may need a number far away to answer; elsewhere a whole number could be an index or a size."""
