"""Cutting of files into fragments, in a worker that a file may crash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.frontends.modules import NotChecked, read_units
from conformance.fuzzing.seeds.cutting import MOST_OF_A_FILE, cuts
from conformance.text import one_line
from generators.chains.seeds.fragment import Fragment


@dataclass(frozen=True, slots=True)
class CutFragments:
    """The distinct fragments of some files, and a line on each file that gave no fragment."""

    fragments: tuple[Fragment, ...]
    notes: tuple[str, ...] = ()


def cut_files(files: Sequence[Path]) -> CutFragments:
    """Return the fragments of all programs in these files."""
    found: dict[str, Fragment] = {}
    notes: list[str] = []
    for file in files:
        pieces, why = _cut_file(file)
        found |= {piece.digest: piece for piece in pieces}
        if not pieces:
            notes.append(f"{file}: {why or 'no operation in it can be part of a longer program'}")
    return CutFragments(tuple(found.values()), tuple(notes))


def _cut_file(file: Path) -> tuple[list[Fragment], str]:
    pieces: dict[str, Fragment] = {}
    why = ""
    try:
        for unit in read_units(file):
            if isinstance(unit, NotChecked):
                why = unit.reason
            else:
                pieces |= {piece.digest: piece for piece in cuts(unit.flat.program)}
    except OSError as error:
        why = error.strerror or str(error)
    return list(pieces.values())[:MOST_OF_A_FILE], one_line(why)
