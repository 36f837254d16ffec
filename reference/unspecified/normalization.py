"""Unspecified results of normalization.

All three ops are defined by other ops; two of them contain sums.
"""

from __future__ import annotations

from reference.unspecified.contraction import no_zero
from reference.unspecified.reasons import Reason

REASONS: dict[str, tuple[Reason, ...]] = dict.fromkeys(
    ("batch_norm_grad", "batch_norm_training"), (no_zero,)
)
"""The reasons by op: all results of both ops depend on a sum."""
