"""Unspecified results of convolutions."""

from __future__ import annotations

from reference.unspecified.contraction import SUMS_OF_PRODUCTS
from reference.unspecified.reasons import Reason

REASONS: dict[str, tuple[Reason, ...]] = dict.fromkeys(
    ("convolution", "dynamic_conv"), SUMS_OF_PRODUCTS
)
"""The reasons by op."""
