from tl_torch import trace as trace
