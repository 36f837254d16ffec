"""Output of Ray in this process, moved to standard error: standard output is the command's."""

from __future__ import annotations

import sys
import threading
from typing import Any

_RAY = "ray_"
"""Prefix of the names of Ray's threads (Ray 2.60). A thread of them prints errors of nodes, as
`(raylet) ...`.
`log_to_driver=False` does not stop it."""


class CommandOutput:
    """Standard output of all threads but Ray's, whose output goes to standard error."""

    def __init__(self, stream: Any) -> None:
        """Wrap the stream that the output of other threads goes to."""
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        is_ray = threading.current_thread().name.startswith(_RAY)
        return getattr(sys.stderr if is_ray else self.stream, name)

    @classmethod
    def take(cls) -> None:
        """Replace `sys.stdout` by this stream."""
        if not isinstance(sys.stdout, cls):
            sys.stdout = cls(sys.stdout)

    @classmethod
    def give_back(cls) -> None:
        """Restore the `sys.stdout` that was replaced, unless it was replaced again."""
        if isinstance(sys.stdout, cls):
            sys.stdout = sys.stdout.stream
