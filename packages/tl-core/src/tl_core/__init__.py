"""Records, graph, selectors, file format and backend contract of TorchLens."""

from tl_core._context import OpContext as OpContext
from tl_core._save import SavePolicy as SavePolicy
from tl_core._save import save_policy as save_policy
from tl_core._selector import Selector as Selector
from tl_core._selector import func as func
from tl_core._selector import in_module as in_module
from tl_core._selector import label as label
from tl_core._selector import label_contains as label_contains
from tl_core._selector import module as module
from tl_core._selector import where as where

__all__ = [
    # selectors
    "Selector",
    "func",
    "in_module",
    "label",
    "label_contains",
    "module",
    "where",
    "OpContext",
    # what a run saves
    "SavePolicy",
    "save_policy",
]
