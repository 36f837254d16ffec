"""What Ray prints in this process: on standard error, as standard output is the command's."""

from __future__ import annotations

import sys
import threading
from typing import Any

_RAY = "ray_"
"""How the names of Ray's threads begin (Ray 2.60); one prints errors of nodes, as `(raylet) ...`.
`log_to_driver=False` does not stop it."""


class CommandOutput:
    """Standard output of all threads but Ray's, whose output goes to standard error."""

    def __init__(self, stream: Any) -> None:
        """Wrap a stream."""
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        is_ray = threading.current_thread().name.startswith(_RAY)
        return getattr(sys.stderr if is_ray else self.stream, name)

    @classmethod
    def take(cls) -> None:
        """Replace `sys.stdout`."""
        if not isinstance(sys.stdout, cls):
            sys.stdout = cls(sys.stdout)

    @classmethod
    def give_back(cls) -> None:
        """Restore the `sys.stdout` that was replaced, unless something else is in its place."""
        if isinstance(sys.stdout, cls):
            sys.stdout = sys.stdout.stream
