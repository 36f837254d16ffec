"""What the specification leaves open of the results of this family: normalization.

The three ops are defined by others, in all cases; but two of them add up.
"""

from __future__ import annotations

from reference.unspecified.contraction import no_zero
from reference.unspecified.reasons import Reason

REASONS: dict[str, tuple[Reason, ...]] = dict.fromkeys(
    ("batch_norm_grad", "batch_norm_training"), (no_zero,)
)
"""The reasons by op: all results of both depend on a sum."""
