"""What validation knows about torch's functions: which need not answer to a change of an argument, and why."""

SHAPE_ONLY_FIRST = frozenset({
    "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like", "new_zeros", "new_ones", "new_full",
    "new_tensor", "normal_", "uniform_", "bernoulli_", "random_", "exponential_", "zero_", "fill_",
})  # fmt: skip
"""Functions that take only shape, dtype and device from their first argument."""

SHAPE_ONLY_SECOND = frozenset({"expand_as", "view_as", "reshape_as", "type_as", "to", "resize_as_", "sum_to_size"})
"""Functions that take only shape, dtype and device from their second argument."""

SHAPED_BY_ALL = frozenset({"broadcast_tensors", "meshgrid"})
"""Functions each of whose outputs takes its values from one argument and its shape from all."""

INDEXING = frozenset({
    "getitem", "setitem", "gather", "index_select", "embedding", "embedding_bag", "take", "take_along_dim", "scatter",
    "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "index_add", "index_add_", "index_copy",
    "index_copy_", "index_fill", "index_fill_", "index_put", "index_put_", "masked_fill", "masked_fill_", "masked_scatter",
    "masked_scatter_", "masked_select", "where", "put_", "take_along_axis",
})  # fmt: skip
"""Functions with an argument that says where; equal values there make a change of place invisible."""

INDEX_FIRST = frozenset({"where", "embedding", "embedding_bag"})
"""Those among them whose first argument says where."""

OVERWRITING = frozenset({
    "setitem", "copy_", "index_put_", "index_put", "masked_fill_", "masked_fill", "masked_scatter_", "masked_scatter",
    "scatter_", "scatter", "index_copy_", "index_copy", "index_fill_", "index_fill", "put_", "slice_scatter",
    "select_scatter", "diagonal_scatter", "as_strided_scatter", "fill_diagonal_", "triu_", "tril_", "clamp_",
})  # fmt: skip
"""Functions that write over part of their first argument, at times over all of it."""

UNINITIALISED = frozenset({
    "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted", "resize_", "resize_as_",
})  # fmt: skip
"""Functions that return memory as they found it."""

FINITENESS_TESTS = frozenset({"isnan", "isinf", "isfinite", "isposinf", "isneginf", "nan_to_num", "nan_to_num_"})
"""Functions that answer to non-finite values alone."""

COMPARISONS = frozenset({
    "lt", "le", "gt", "ge", "eq", "ne", "less", "less_equal", "greater", "greater_equal", "clamp", "clip", "clamp_min",
    "clamp_max", "minimum", "maximum", "min", "max", "isin",
})  # fmt: skip
"""Functions that may need a whole number far away to answer; elsewhere it could be an index or a size."""
