"""Unspecified results of the ops of reference/ops/data_movement.py: none.

Start indices out of range are clamped, and the comparison ignores which NaN is moved.
"""

from __future__ import annotations

from reference.unspecified.reasons import Reason

REASONS: dict[str, tuple[Reason, ...]] = {}
"""The reasons by op: none."""
