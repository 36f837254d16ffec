"""Mutants of many ops in worker processes, because a mutant may crash or use all memory."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import warnings
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace

from benchmarks.mutants import report
from benchmarks.mutants.measuring import (
    OTHERS,
    Fate,
    MeasuredMutant,
    OpResult,
    Settings,
    caught_by_other,
    measure,
)

MEMORY = 6 << 30
"""Bytes that a process may ask for: mutants make arrays of any size."""


def _start() -> None:
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def measure_all(ops: Sequence[str], settings: Settings, jobs: int) -> list[OpResult]:
    """Return the mutants of all these ops, in the order of the catalog."""
    results: dict[str, OpResult] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _start) as pool:
        pending = {pool.submit(measure, op, settings): op for op in ops}
        for index, done in enumerate(as_completed(pending), 1):
            results[pending[done]] = done.result()
            print(f"\r{index} of {len(ops)} ops", end="", file=sys.stderr, flush=True)
        pending = {
            pool.submit(caught_by_other, op, foreign, settings): op
            for op, foreign in _foreign_mutants(results, settings).items()
        }
        caught: set[str] = set()
        for index, done in enumerate(as_completed(pending), 1):
            caught |= done.result()
            print(f"\r{index} of {len(pending)} others", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [_add_other_ops(results[op], caught, settings) for op in ops]


def _foreign_mutants(results: dict[str, OpResult], settings: Settings) -> dict[str, list[str]]:
    """Return for each op the undetected mutants of other ops in functions that it reaches, too."""
    foreign: dict[str, list[str]] = defaultdict(list)
    for result in results.values():
        for survivor in report.survivors(result.mutants, settings.profiles[-1]):
            for other in results.values():
                if other.op != result.op and survivor.function in other.functions:
                    foreign[other.op].append(survivor.mutant)
    return foreign


def _add_other_ops(result: OpResult, caught: set[str], settings: Settings) -> OpResult:
    def note_other_ops(one: MeasuredMutant) -> MeasuredMutant:
        own = settings.profiles[-1] in one.caught or one.fate is not Fate.WRONG
        if own or one.mutant not in caught:
            return one
        return replace(one, caught=(*one.caught, OTHERS))

    return replace(result, mutants=tuple(map(note_other_ops, result.mutants)))
