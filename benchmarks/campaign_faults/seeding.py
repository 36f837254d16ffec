"""A seeded fault and a campaign against it, in a process of its own."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from benchmarks.campaign_faults.backends import backend_with_code, backend_with_rewriting
from benchmarks.campaign_faults.hunting import FaultHunt, hunt_fault
from benchmarks.campaign_faults.rewritings import REWRITINGS
from benchmarks.mutants.measuring import Fate, Part, Settings, measure, mutants_by_function
from benchmarks.mutants.swapping import LoadedFunctions
from conformance.catalog import CATALOG
from conformance.verdict import Verdict
from generators.chains.links import is_link
from reference.ops.table import OPS

COLUMNS = ("f32", "bf16", "si32", "ui8", "i1", "complex<f32>", "si8", "f64")
"""The element types in which a change must be wrong to count as a fault."""

POOL = 4
"""Number of cases of each cell, besides the cases of `smoke`, that decide whether a change is
wrong.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """The task of one process: seed a fault in this op, or apply this rewriting."""

    name: str
    rewriting: bool
    seed: int
    budget: float


@dataclass(frozen=True, slots=True)
class JobResult:
    """A job with its fault in words and the campaign's result; None if no fault could be seeded."""

    job: Job
    told: str
    found: FaultHunt | None


def do(job: Job) -> JobResult:
    """Seed the job's fault, run a campaign against it, and return the result."""
    warnings.simplefilter("ignore")
    if job.rewriting:
        rewriting = REWRITINGS[job.name]
        found = hunt_fault(backend_with_rewriting(rewriting), frozenset(), job.seed, job.budget)
        return JobResult(job, rewriting.told, found)
    settings = Settings(
        per_op=1, seed=job.seed, columns=COLUMNS, profiles=("smoke",), pool=POOL,
        parts=(Part.EVALUATION,),
    )  # fmt: skip
    mutants = measure(job.name, settings).mutants
    wrong = [
        mutant
        for mutant in mutants
        if mutant.fate is Fate.WRONG and not mutant.why.startswith(Verdict.ACCEPTED)
    ]  # what takes invalid programs alone is for near misses to find
    if not wrong:
        return JobResult(job, "", None)
    named = {m.id: m for _, of_function in mutants_by_function().values() for m in of_function}
    backend, end = backend_with_code(
        wrong[0].told, LoadedFunctions.now().codes(named[wrong[0].mutant])
    )
    try:
        found = hunt_fault(backend, family_of(job.name), job.seed, job.budget)
    finally:
        end()
    return JobResult(job, wrong[0].told, found)


def family_of(op: str) -> frozenset[str]:
    """Return the ops in an op's family that chains can contain."""
    family = CATALOG[op].family
    return frozenset(
        name for name, row in CATALOG.items() if row.family == family and is_link(OPS[name])
    )


def faults_in_order(seed: int) -> Iterator[str]:
    """Return StableHLO's ops that chains can contain: round-robin over the families."""
    shuffled = sorted(name for name, row in CATALOG.items() if row.dialect == "stablehlo")
    random.Random(seed).shuffle(shuffled)
    families: dict[str, list[str]] = {}
    for name in shuffled:
        if is_link(OPS[name]):
            families.setdefault(CATALOG[name].family, []).append(name)
    for some in zip_longest(*families.values()):
        yield from filter(None, some)
