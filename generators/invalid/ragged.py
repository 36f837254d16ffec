"""Near misses of the ops on ragged tensors: none of their own, but those of XlaBuilder's ops."""

from __future__ import annotations

from generators.invalid.misses import Misses

NEAR_MISSES: dict[str, Misses] = {}
"""What makes the near misses of each op."""

NOT_ALONE: dict[str, tuple[str, ...]] = {}
"""Ids that no program breaks alone."""
