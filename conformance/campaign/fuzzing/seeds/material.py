"""The pieces that are material for a campaign: kept in its folder, taken by some programs."""

from __future__ import annotations

import hashlib
import pickle
import sys
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from conformance.campaign.fuzzing import calls
from conformance.campaign.fuzzing.trials import Trial
from conformance.errors import UsageError
from conformance.executors.local import Call, LocalExecutor
from generators.case.case import Case
from generators.chains import strategy
from generators.chains.seeds import strategy as seeded
from generators.chains.seeds.fragment import Fragment

FILE_NAME = "seeds.pickle"

PATTERNS = Path(__file__).with_name("patterns")
"""The folder of patterns that come with the package."""

SUFFIXES = (".mlir", ".mlirbc", ".stablehlo")
"""What files of programs are called."""

OFTEN, SELDOM = 2, 8
"""One program in so many is made of pieces: with the user's own among them, and without."""

SECONDS = 600.0
"""Seconds that cutting may take."""


@dataclass(frozen=True, slots=True)
class Material:
    """Pieces of programs; one program in `every` is made of them."""

    fragments: tuple[Fragment, ...]
    every: int

    @property
    def digest(self) -> str:
        """What tells it from other material, in a few hex digits."""
        told = " ".join(sorted(one.digest for one in self.fragments))
        return hashlib.sha256(f"{self.every} {told}".encode()).hexdigest()[:8]


def gathered(executor: LocalExecutor, given: Path | None) -> Material:
    """The pieces of the files in a folder of the user's, and of our patterns, cut in a worker.

    A file that gives none is a line on standard error.

    Raises:
        UsageError: when there is no such folder or file, or nothing in it can be used.
    """
    own = _cut(executor, _files(PATTERNS))
    if given is None:
        return Material(own, SELDOM)
    users = _cut(executor, _files(given))
    if not users:
        raise UsageError(f"--seeds: nothing in {given} can stand in a chain of operations")
    return Material((*users, *own), OFTEN)


def _files(given: Path) -> list[Path]:
    if given.is_file():
        return [given]
    if not given.is_dir():
        raise UsageError(f"--seeds: there is no {given}")
    found = [path for path in sorted(given.rglob("*")) if path.suffix in SUFFIXES]
    if not found:
        raise UsageError(f"--seeds: {given} has no files called *{', *'.join(SUFFIXES)}")
    return found


def _cut(executor: LocalExecutor, files: list[Path]) -> tuple[Fragment, ...]:
    from conformance.campaign.fuzzing.seeds.cutting import Cut

    found: dict[str, Fragment] = {}
    for file in files:  # one by one: parsing may end a worker
        value = executor.one(Call(file, calls.cut, ((file,),), SECONDS))
        cut = value if isinstance(value, Cut) else Cut((), (f"{file}: {value}",))
        found |= {one.digest: one for one in cut.fragments}
        for note in cut.notes:
            sys.stderr.write(f"{note}\n")
    return tuple(found.values())


def keep(material: Material, folder: Path) -> Path:
    """Write the material into a campaign's folder, where its workers read it."""
    path = folder.resolve() / f"{material.digest}-{FILE_NAME}"
    path.write_bytes(pickle.dumps(material))
    return path


@cache
def _read(path: str, ops: frozenset[str]) -> Material:
    """What `keep` has written; of pieces those in which one of `ops` is, where there are any."""
    found: Material = pickle.loads(Path(path).read_bytes())  # noqa: S301 - our own
    about = [one for one in found.fragments if not ops or any(o.name in ops for o in one.walk())]
    return replace(found, fragments=tuple(about))


def case_of(trial: Trial, number: int) -> Case:
    """The program of that number in a campaign, with recipes for its inputs."""
    if trial.seeds:
        material = _read(trial.seeds, trial.ops)
        if material.fragments and number % material.every == material.every - 1:
            return seeded.numbered(trial.seed, number, material.fragments, trial.ops)
    return strategy.numbered(trial.seed, number, trial.ops)
