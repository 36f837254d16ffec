"""The versions that decide a run's records."""

from __future__ import annotations

import platform

from conformance.backends.versions import of_distributions

_DECIDING = ("hlo-conformance", "jax", "jaxlib", "numpy", "ml_dtypes", "hypothesis")


def versions() -> dict[str, str]:
    """The versions that decide a run's records: Python's, and of distributions by name."""
    return {"python": platform.python_version(), **dict(of_distributions(*_DECIDING))}
