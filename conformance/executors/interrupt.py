"""Interrupts (Ctrl-C) that cannot get lost.

Python raises KeyboardInterrupt wherever it happens to be: in a destructor or a callback of the
garbage collector it is printed and forgotten. So it is also remembered, for a loop that waits to
raise again.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

_seen = threading.Event()


def install() -> None:
    """Remember interrupts from now on; in any thread but the main one nothing can be done."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _raise_interrupt)


def raise_if_seen() -> None:
    """Raise an interrupt that has been remembered, once.

    Raises:
        KeyboardInterrupt: if there was an interrupt.
    """
    if _seen.is_set():
        _seen.clear()
        raise KeyboardInterrupt


def _raise_interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    _seen.set()
    raise KeyboardInterrupt
