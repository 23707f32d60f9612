"""Names of functions, by what they do to tensors."""

from __future__ import annotations

from tl_viz._plan import VIEWS

ATTENTION = frozenset(["scaled_dot_product_attention", "multi_head_attention_forward", "flex_attention"])
"""Functions of queries, keys and values."""
PRODUCTS = frozenset(
    [
        "matmul", "mm", "bmm", "baddbmm", "addmm", "addbmm", "mv", "addmv", "einsum", "tensordot", "linear", "bilinear",
        "_grouped_mm", "grouped_mm", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
        "dot", "inner", "outer", "rmatmul",
    ]
)  # fmt: skip
"""Functions that multiply matrices, whether or not what they multiply by is a parameter."""
ARITHMETIC = frozenset(
    [
        "add", "iadd", "radd", "sub", "isub", "rsub", "mul", "imul", "rmul", "multiply", "div", "idiv", "itruediv", "rtruediv",
        "true_divide", "floor_divide", "remainder", "fmod", "pow", "rpow", "addcmul", "addcdiv", "lerp", "maximum", "minimum", "eq",
        "ne", "lt", "le", "gt", "ge", "and", "or", "xor", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or",
        "bitwise_xor", "where", "masked_fill", "atan2", "hypot", "logaddexp",
    ]
)  # fmt: skip
"""Functions that compute each number from those at its place, by their names without the mark of the in-place form."""
SEQUENCES = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
"""Functions that run a recurrent network over a sequence."""
RECURRENT = SEQUENCES.union([f"{name}_cell" for name in SEQUENCES])
"""Those, and functions that run one step: in them the input meets the state."""
KEEPING = VIEWS | frozenset({"dropout", "to", "float", "half", "bfloat16", "type", "type_as", "clone", "nan_to_num"})
"""Functions that hand numbers on as they are, or nearly."""
