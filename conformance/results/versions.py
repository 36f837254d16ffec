"""The versions on which a run's records depend, and the build of hlo-conformance."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from conformance.backends.versions import distribution_versions

_DECIDING = ("hlo-conformance", "jax", "jaxlib", "numpy", "ml_dtypes", "hypothesis")


_OUR_OWN = ("conformance", "generators", "reference")


def versions() -> dict[str, str]:
    """Return the versions on which a run's records depend: Python's, and the distributions'."""
    return {"python": platform.python_version(), **dict(distribution_versions(*_DECIDING))}


def fingerprint() -> dict[str, str]:
    """Return the properties, by name, that must be equal on two machines for equal records."""
    return {**versions(), "build of hlo-conformance": build()}


@cache
def build() -> str:
    """Return the digest of our own sources, which distinguishes builds of one version.

    Another build may plan other cases, or judge them differently.
    """
    specs = map(find_spec, _OUR_OWN)
    places = (place for s in specs if s for place in s.submodule_search_locations or ())
    return digest_of(map(Path, places))


def digest_of(folders: Iterable[Path]) -> str:
    """Return a hexadecimal digest of the Python sources in these folders, of their paths and
    contents.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder.parent).as_posix().encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]
