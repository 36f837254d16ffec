"""The versions that decide a run's records."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """The versions that decide a run's records, by distribution name."""
    found = {"python": platform.python_version()}
    for name in ("hlo-conformance", "jax", "jaxlib", "numpy", "ml_dtypes", "hypothesis"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
