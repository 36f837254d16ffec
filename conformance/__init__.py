"""The harness: backends, judging, known divergences, runs, campaigns and checks.

`check` and `assert_conforms` check a function or a program from Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.checking.in_python import Checked, assert_conforms, check

__all__ = ["Checked", "assert_conforms", "check"]


def __getattr__(name: str) -> Any:
    """Return a function for Python, whose module loads numpy and more."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from conformance.checking import in_python

    return getattr(in_python, name)
