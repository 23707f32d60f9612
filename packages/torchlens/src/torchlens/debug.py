"""What is wrong with a run: values that are not finite, units that never fire, and the input that a model wants."""

from tl_core import DeadNeurons as DeadNeurons
from tl_core import DeadUnits as DeadUnits
from tl_core import FindNanResult as FindNanResult
from tl_torch import InferInputShapeResult as InferInputShapeResult
from tl_torch import dead_neurons as dead_neurons
from tl_torch import find_nan as find_nan
from tl_torch import infer_input_shape as infer_input_shape

__all__ = [
    "DeadNeurons",
    "DeadUnits",
    "FindNanResult",
    "InferInputShapeResult",
    "dead_neurons",
    "find_nan",
    "infer_input_shape",
]
