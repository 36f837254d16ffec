"""HLO modules, each with an equivalent program of plain operations.

Each text below `pairs/` has a module as HLO text, then the program as StableHLO text. `protos.zip`
has the modules as serialised protos, which is what the reader takes, and modules that the compilers
for GPU and TPU made of the programs in `programs/`. To make the archive anew:

    python -m suites.meta.conformance.hlo.modules

It takes jaxlib 0.12 or newer, whose parser of HLO text can be called, and for compiled modules
jax-cuda13-plugin, jax-cuda13-pjrt and libtpu; modules of compilers that are missing are kept.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
PAIRS = sorted((_HERE / "pairs").glob("*/*.txt"), key=lambda path: path.stem)
PROGRAMS = sorted((_HERE / "programs").glob("*.mlir"))
ARCHIVE = _HERE / "protos.zip"
_BETWEEN = "\n// the same, plainly\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)
COMPILERS = ("gpu-compile", "tpu-compile")


@dataclass(frozen=True)
class Pair:
    """A module and the program that means the same."""

    name: str
    proto: bytes
    plain: str


def pairs() -> list[Pair]:
    """Return all pairs: those written by hand, then those that compilers made."""
    found = [Pair(path.stem, stored_proto(path.stem), plain_of(path)) for path in PAIRS]
    for path in PROGRAMS:
        for compiler in COMPILERS:
            name = f"{path.stem}.{compiler}"
            if name in _names():
                found.append(Pair(name, stored_proto(name), path.read_text()))
    return found


def _names() -> set[str]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        return set(archive.namelist())


def stored_proto(name: str) -> bytes:
    """Return the proto of a module."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        return archive.read(name)


def plain_of(path: Path) -> str:
    """Return the text of the program beside a module."""
    return path.read_text().partition(_BETWEEN)[2]


def _parse_module(path: Path) -> bytes:
    from jaxlib import _hlo

    text = path.read_text().partition(_BETWEEN)[0]
    return _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()


def _compile_module(path: Path, compiler: str) -> bytes | None:
    from conformance.backends.compiled.backend import CompiledBackend
    from conformance.backends.registry import open_backend, parse
    from conformance.errors import NotAvailable
    from conformance.stablehlo.emit import emit
    from conformance.stablehlo.parse import parse_module

    try:
        backend = open_backend(parse(compiler))
    except NotAvailable:
        return None
    assert isinstance(backend, CompiledBackend)
    program = parse_module(path.read_text())
    return backend.optimise(emit(program), program)


def make() -> None:
    """Write the archive."""
    made = {path.stem: _parse_module(path) for path in PAIRS}
    kept = _names() if ARCHIVE.exists() else set[str]()
    for path in PROGRAMS:
        for compiler in COMPILERS:
            name = f"{path.stem}.{compiler}"
            proto = _compile_module(path, compiler)
            if proto is not None:
                made[name] = proto
            elif name in kept:
                made[name] = stored_proto(name)
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, proto in sorted(made.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), proto, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    make()
