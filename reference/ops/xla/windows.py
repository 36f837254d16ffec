"""Padding that XlaBuilder takes by name.

Source: XLA operation semantics, "ReduceWindow" and "Conv": kSame adds so much that there are as
many windows as elements where the stride is one; kValid adds nothing. What kSame adds is shared
out to both ends, an odd element to the high one.
"""

from __future__ import annotations

SAME, VALID = "SAME", "VALID"


def padding_along(name: str, window: int) -> tuple[int, int]:
    """Low and high padding along a dimension with a window of so many elements, holes included.

    Raises:
        KeyError: for a name that stands for no padding.
    """
    added = {SAME: max(window - 1, 0), VALID: 0}[name]
    return added // 2, added - added // 2
