"""What the specification leaves open of the results of the ops of reference/ops/data_movement.py.

Nothing: start indices out of range are clamped, and which NaN is moved is not for the comparison
to look at.
"""

from __future__ import annotations

from reference.unspecified.reasons import Reason

REASONS: dict[str, tuple[Reason, ...]] = {}
"""No op has open results."""
