"""What the specification leaves open of the results of this family: convolution."""

from __future__ import annotations

from reference.unspecified.contraction import complex_exception, no_zero
from reference.unspecified.reasons import Reason

REASONS: dict[str, tuple[Reason, ...]] = dict.fromkeys(
    ("convolution", "dynamic_conv"), (no_zero, complex_exception)
)
"""The reasons by op."""
