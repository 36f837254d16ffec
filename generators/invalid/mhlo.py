"""Near misses of XLA's other instructions: none, because XlaBuilder's ops cover them."""

from __future__ import annotations

from generators.invalid.misses import Misses

NEAR_MISSES: dict[str, Misses] = {}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids that no program violates in isolation: none."""
