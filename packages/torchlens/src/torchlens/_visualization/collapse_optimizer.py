"""The limits of the planner under `draw(planner_budget=...)`; without a budget there are none."""

from tl_viz import COLLAPSE_OPTIMIZER_MAX_OPS as COLLAPSE_OPTIMIZER_MAX_OPS

__all__ = ["COLLAPSE_OPTIMIZER_MAX_OPS"]
