"""Near misses of the ops of reference/ops/ragged.py: none of their own, but those of RaggedDot."""

from __future__ import annotations

from generators.invalid.misses import Misses

NEAR_MISSES: dict[str, Misses] = {}
"""What makes the near misses of each op."""

NOT_ALONE: dict[str, tuple[str, ...]] = {}
"""Ids that no program breaks alone."""
