"""Is what a trace says true? The verdicts behind `tl.validate(model, x)`."""

from tl_core import ValidationFailure as ValidationFailure
from tl_core import ValidationStatus as ValidationStatus
from tl_core import last_validation_failure as last_validation_failure
from tl_torch import validate as validate
from tl_torch import validation as validation

__all__ = ["ValidationFailure", "ValidationStatus", "last_validation_failure", "validate", "validation"]
