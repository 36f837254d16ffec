"""Padding that XlaBuilder takes by name.

Source: XLA operation semantics, "ReduceWindow" and "Conv". kSame pads so that there are as many
windows as elements if the stride is 1; kValid adds no padding. kSame divides the padding evenly,
with an odd element at the high end. With a stride over 1 the page is ambiguous, see `STRIDED_SAME`.
"""

from __future__ import annotations

SAME, VALID = "SAME", "VALID"

STRIDED_SAME = (
    "padding SAME with a stride over 1: the row pads as if the stride were 1, as the page says (a "
    "result of the input's shape when the stride is not taken into account). XlaBuilder's source "
    "pads for ceil(input / stride) windows, which may be less. Both give the page's example. A "
    "backend gets numbers of padding and never the name, so that neither reading excuses a result"
)
"""The entry in `Op.readings` of the rows that take a padding by name."""


def padding_along(name: str, window: int) -> tuple[int, int]:
    """Return low and high padding along a dimension with a window of this size, holes included.

    Raises:
        KeyError: if no padding has that name.
    """
    added = {SAME: max(window - 1, 0), VALID: 0}[name]
    return added // 2, added - added // 2
