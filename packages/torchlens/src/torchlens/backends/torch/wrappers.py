"""Defaults of later captures, under the names that users of wrapping tools know; torch itself is never wrapped."""

from tl_torch import is_wrapped as is_wrapped
from tl_torch import unwrap_torch as unwrap_torch
from tl_torch import wrap_torch as wrap_torch

__all__ = ["is_wrapped", "unwrap_torch", "wrap_torch"]
