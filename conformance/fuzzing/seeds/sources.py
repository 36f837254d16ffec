"""Collection of the material of a campaign: user files and shipped patterns are cut into
fragments.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.errors import UsageError
from conformance.executors.executor import Executor
from conformance.executors.local import Call
from conformance.fuzzing import calls
from conformance.fuzzing.seeds.material import OFTEN, SELDOM, Material
from conformance.limits import Limits
from generators.chains.seeds.fragment import Fragment

PATTERNS = Path(__file__).with_name("patterns")
"""The folder of patterns that are shipped with the package."""

SUFFIXES = (".mlir", ".mlirbc", ".stablehlo")
"""Suffixes of files that may contain programs."""


def gather_material(executor: Executor, given: Path | None) -> Material:
    """Return the fragments of the files in a folder of the user's, and of our patterns, cut in a
    worker. A file without fragments is reported in a line on standard error.

    Raises:
        UsageError: if there is no such folder or file, or nothing in it can be used.
    """
    own = _cut_fragments(executor, _files(PATTERNS))
    if given is None:
        return Material(own, SELDOM)
    users = _cut_fragments(executor, _files(given))
    if not users:
        raise UsageError(f"--seeds: no operation in {given} can be part of a longer program")
    return Material((*users, *own), OFTEN)


def corpus_pieces(executor: Executor, programs: list[Path]) -> tuple[Fragment, ...]:
    """Return the fragments of a corpus's programs, cut in a worker."""
    return _cut_fragments(executor, programs, told=False)


def _files(given: Path) -> list[Path]:
    if given.is_file():
        return [given]
    if not given.is_dir():
        raise UsageError(f"--seeds: there is no {given}")
    found = [path for path in sorted(given.rglob("*")) if path.suffix in SUFFIXES]
    if not found:
        raise UsageError(f"--seeds: {given} has no files called *{', *'.join(SUFFIXES)}")
    return found


def _cut_fragments(
    executor: Executor, files: list[Path], *, told: bool = True
) -> tuple[Fragment, ...]:
    from conformance.fuzzing.seeds.files import CutFragments

    found: dict[str, Fragment] = {}
    for file in files:  # one by one: parsing may end a worker
        value = executor.one(Call(file, calls.CUT_FILES, ((file,),), Limits.READING))
        cut = value if isinstance(value, CutFragments) else CutFragments((), (f"{file}: {value}",))
        found |= {fragment.digest: fragment for fragment in cut.fragments}
        for note in cut.notes if told else ():
            sys.stderr.write(f"{note}\n")
    return tuple(found.values())
