"""The fragments that a campaign inserts into some programs; they are stored in its folder."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from conformance.fuzzing.singles import is_single, single_op_case
from conformance.fuzzing.trial import Trial
from generators.case.case import Case
from generators.chains import strategy
from generators.chains.guide import Guide
from generators.chains.seeds import strategy as seeded
from generators.chains.seeds.fragment import Fragment

FILE_NAME = "seeds.pickle"

OFTEN, SELDOM = 2, 8
"""One program in `OFTEN` is made of fragments if the user gave files, else one in `SELDOM`."""


VARIED = 8
"""One program in `VARIED` is a variation of a collected program."""


@dataclass(frozen=True, slots=True)
class Material:
    """Fragments of programs; one program in `every` is made of them."""

    fragments: tuple[Fragment, ...]
    every: int

    @property
    def digest(self) -> str:
        """A digest of the material, in a few hex digits."""
        told = " ".join(sorted(fragment.digest for fragment in self.fragments))
        return hashlib.sha256(f"{self.every} {told}".encode()).hexdigest()[:8]


def write_material(material: Material, folder: Path) -> Path:
    """Write the material into a campaign's folder, from which its workers read it."""
    path = folder.resolve() / f"{material.digest}-{FILE_NAME}"
    path.write_bytes(pickle.dumps(material))
    return path


@cache
def _read_material(path: Path, ops: frozenset[str]) -> Material:
    """Return the material that `write_material` has written.

    If fragments contain any of `ops`, only these fragments are returned.
    """
    found: Material = pickle.loads(path.read_bytes())  # noqa: S301 - our own
    about = [
        fragment
        for fragment in found.fragments
        if not ops or any(o.name in ops for o in fragment.walk())
    ]
    return replace(found, fragments=tuple(about))


def case_of(trial: Trial, number: int, guide: Guide | None = None) -> Case:
    """Return the program of that number in a campaign, with recipes for its inputs."""
    if is_single(number):
        return single_op_case(trial, number)
    if trial.seeds:
        material = _read_material(trial.seeds, trial.ops)
        if material.fragments and number % material.every == material.every - 1:
            return seeded.program_at(trial.seed, number, material.fragments, trial.ops, guide)
    if trial.varied and number % VARIED == VARIED // 2:
        return seeded.program_at(trial.seed, number, trial.varied, trial.ops, guide)
    return strategy.program_at(trial.seed, number, trial.ops, guide)
