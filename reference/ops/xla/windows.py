"""Padding that XlaBuilder takes by name.

Source: XLA operation semantics, "ReduceWindow" and "Conv": kSame adds so much that there are as
many windows as elements where the stride is one; kValid adds nothing. What kSame adds is shared
out to both ends, an odd element to the high one. With a stride over 1 the page's words leave two
readings, see `STRIDED_SAME`.
"""

from __future__ import annotations

SAME, VALID = "SAME", "VALID"

STRIDED_SAME = (
    "padding SAME with a stride over 1: the row pads as if the stride were 1, as the page says (a "
    "result of the input's shape when the stride is not taken into account). XlaBuilder's source "
    "pads for ceil(input / stride) windows, which may be less. Both give the page's example. A "
    "backend gets numbers of padding and never the name, so that neither reading excuses a result"
)
"""What `Op.readings` says of the rows that take a padding by name."""


def padding_along(name: str, window: int) -> tuple[int, int]:
    """Low and high padding along a dimension with a window of so many elements, holes included.

    Raises:
        KeyError: for a name that stands for no padding.
    """
    added = {SAME: max(window - 1, 0), VALID: 0}[name]
    return added // 2, added - added // 2
