"""Unspecified results of host ops: none."""

from __future__ import annotations

from reference.unspecified.reasons import Reason

REASONS: dict[str, tuple[Reason, ...]] = {}
"""The reasons by op."""
