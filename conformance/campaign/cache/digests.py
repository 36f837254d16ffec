"""Digests that decide the outcome of a case: of our own sources, and of the backend on this
machine.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

from conformance.backends import isa
from conformance.backends.base import Description
from conformance.backends.registry import Choice
from conformance.backends.versions import distribution_versions
from conformance.campaign.cache.entries import Entries, key_of
from conformance.results.versions import versions
from conformance.text import one_line

SOURCES = (
    "reference",
    "generators",
    "conformance/backends",
    "conformance/executors",
    "conformance/hlo",
    "conformance/judging",
    "conformance/known",
    "conformance/localize",
    "conformance/needs",
    "conformance/pipeline",
    "conformance/stablehlo",
    "conformance/tolerance",
    "conformance/transforms",
    "conformance/campaign/planning.py",
    "conformance/campaign/tasks.py",
    "conformance/gate/classes.py",
    "conformance/catalog.py",
    "conformance/errors.py",
    "conformance/limits.py",
    "conformance/phases.py",
    "conformance/text.py",
    "conformance/verdict.py",
)
"""The files and folders of sources that decide which cases exist and which cases pass.

These are the modules that workers load, except those about failing cases, storing and printing.
"""

DISTRIBUTIONS = ("greenlet", "python-flint", "scipy")
"""Libraries that the reference computes with, besides the libraries in `results.versions`."""

_ENVIRONMENT = (
    "XLA_", "JAX_", "TF_", "TPU_", "LIBTPU_", "PJRT_", "CUDA_", "NVIDIA_", "ROCM_", "HIP_",
    "OMP_", "MKL_", "OPENBLAS_", "LD_PRELOAD", "LD_LIBRARY_PATH",
)  # fmt: skip
"""Prefixes of environment variables that compilers and their libraries read."""

_WITHOUT_EFFECT = ("TF_CPP_", "TPU_SKIP_MDS_QUERY")
"""Prefixes of environment variables that jax sets itself and that only change logs."""


_PACKAGES = ("reference", "generators", "conformance")
"""The sources that decide the records of failing cases and the outcomes of counterexamples."""


@cache
def own_digest() -> str:
    """Return the digest of the sources that decide which cases pass, and of their libraries."""
    return _digest(SOURCES)


@cache
def whole_digest() -> str:
    """Return the digest of all our sources, and of the libraries that they compute with."""
    return _digest(_PACKAGES)


def _digest(sources: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for path, name in sorted(_sources(sources), key=lambda pair: pair[1]):
        digest.update(name.encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    installed = {**versions(), **dict(distribution_versions(*DISTRIBUTIONS))}
    del installed["hlo-conformance"]  # its sources are digested
    digest.update(repr(sorted(installed.items())).encode())
    return digest.hexdigest()


def _sources(sources: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Yield the given files, and the files in the given folders, with their names."""
    for source in sources:
        package, _, rest = source.partition("/")
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(place) / rest
            for found in [path] if path.is_file() else path.rglob("*.py"):
                yield found, f"{package}/{found.relative_to(place).as_posix()}"


@dataclass(frozen=True)
class BackendDigests:
    """The digests of the backends of a run by name, and the cache that they are for.

    A backend that was not opened has no digest.
    """

    by_name: Mapping[str, str]
    entries: Entries


def backend_digest(
    choice: Choice, described: Description, libraries: Sequence[str], entries: Entries | None
) -> str:
    """Return the digest of a backend on this machine.

    It covers the backend's description, the shared libraries that its worker has loaded,
    instruction sets and environment variables. `entries` remembers the digests of libraries that
    are unchanged.
    """
    paths = {*libraries, choice.argument.partition("=")[2]}
    return key_of(
        asdict(described),
        [*isa.identity([choice.name]).items()],
        [platform.system(), platform.machine(), *_processor()],
        sorted(_environment()),
        sorted(_library_digest(Path(path), entries) for path in paths if Path(path).is_file()),
    ).hex()


def _environment() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        if name.startswith(_ENVIRONMENT) and not name.startswith(_WITHOUT_EFFECT):
            yield name, value


def _library_digest(path: Path, entries: Entries | None) -> str:
    """Return the digest of a file, cached by its size and times."""
    stat = path.stat()
    key = key_of("file", str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    known = None if entries is None else entries.get([key]).get(key)
    if known is None:
        known = _content_digest(path, key)
        if entries is not None:
            entries.put(key, known)
    return f"{path.name} {known.hex()}"


@lru_cache(maxsize=1024)
def _content_digest(path: Path, key: bytes) -> bytes:
    """Return the digest of a file's content; `key` changes with the file's size and times."""
    del key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _processor() -> Iterable[str]:
    """Return the model and the features of the processor, if the system reports them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return [platform.processor()]
    telling = ("model name", "flags", "Features", "CPU part", "CPU implementer")
    return sorted({one_line(line) for line in lines if line.startswith(telling)})
