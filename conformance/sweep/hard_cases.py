"""Arguments at which correct rounding of a function needs the most digits, from the literature."""

from __future__ import annotations

HARD_CASES: tuple[str, ...] = ()
"""Arguments in hexadecimal. Every function is swept at all of them, and at their neighbours."""
