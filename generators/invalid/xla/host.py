"""Near misses of XlaBuilder's transfers: the page states no conditions."""

from __future__ import annotations

from generators.invalid.misses import Misses

NEAR_MISSES: dict[str, Misses] = {}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
