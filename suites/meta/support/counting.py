"""Amounts of work, as counts that are the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import reference

_REFERENCE = str(Path(reference.__file__).parent)

_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Calls in some versions of Python and not in others."""


def calls_of(work: Callable[[], Any]) -> int:
    """Count the calls of the reference's functions that `work` makes, without numpy's own.

    Work by element, or by pair, makes at least as many calls.
    """
    count = 0

    def notice(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        code = frame.f_code
        ours = code.co_filename.startswith(_REFERENCE) and code.co_name not in _COMPREHENSIONS
        count += event == "call" and ours

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
