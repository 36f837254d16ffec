"""Purposes of the compilations of a run, and an upper limit of what planning could save.

    python -m benchmarks.compilations --jobs 2 [--op "a*"] [--profile smoke]

Runs the selected cases in workers that log each compilation: its purpose, the number of programs of
the module, and the processor seconds. Wall seconds would depend on other work of the machine.
Counterexamples are not replayed, and no report is written.

The second table supposes that every program that the backend compiles costs as much as in a full
module, that refusals and near misses cost nothing, and that no failure is confirmed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import psutil

from benchmarks.compilations.log import BATCH, LOG, MISS, PART, Compilation, log_compilations
from benchmarks.selection import add_selection, run_options
from conformance.backends.registry import parse
from conformance.campaign.planning import (
    CASES_PER_MODULE,
    drop_unneeded_cases,
    harmful_cells,
    make_batches,
    plan,
)
from conformance.campaign.task_runner import TaskRunner
from conformance.campaign.tasks import Manner, run_tasks
from conformance.executors.backend_workers import executor_of
from conformance.gate.expectations import hypotheses_of
from conformance.gate.reading import load
from conformance.limits import LIMITS
from conformance.results.versions import versions

FULL = CASES_PER_MODULE // 2
"""Programs from which on a module counts as full: larger ones hardly cost less per program."""


@dataclass
class Seconds:
    """The processor seconds of each worker process, by its id, when last measured."""

    workers: dict[int, float]

    def look(self) -> None:
        for one in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                spent = one.cpu_times()
                self.workers[one.pid] = spent.user + spent.system


def run_logged(
    given: argparse.Namespace, folder: Path, seconds: Seconds
) -> tuple[list[Compilation], int]:
    """Run the selected cases; return the compilations, and the number of cases."""
    os.environ[LOG] = str(folder)
    options = run_options(given, folder, given.jobs)
    planned = [drop_unneeded_cases(one, given.profile).plan_cases() for one in plan(options).tasks]
    choice = parse(given.backend)
    known = load(None, [choice.name], versions())
    crashing, overwriting = harmful_cells(planned, known)
    manner = Manner(hypotheses_of(known, choice.name))
    runner = TaskRunner(LIMITS, print, manner, None, crashing, overwriting)
    cases = 0
    functions = (run_tasks, log_compilations)  # workers load the modules of both
    with executor_of(choice, jobs=given.jobs, functions=functions) as executor:
        batches = make_batches((one for one in planned if len(one)), crashing | overwriting)
        for ended in runner.run(executor, batches):
            cases += len(ended[1].records) if ended else 0
            seconds.look()
    rows = [
        Compilation(*json.loads(line))
        for file in folder.iterdir()
        if file.name.isdecimal()
        for line in file.read_text().splitlines()
    ]
    return rows, cases


def print_purposes(rows: list[Compilation]) -> None:
    modules = Counter(row.label for row in rows)
    programs = Counter[str]()
    seconds = defaultdict[str, float](float)
    for row in rows:
        programs[row.label] += row.programs
        seconds[row.label] += row.seconds
    sys.stdout.write(
        f"{'compiled for':36}{'modules':>9}{'programs':>10}{'seconds':>9}{'each':>10}\n"
    )
    for label, spent in sorted(seconds.items(), key=lambda pair: -pair[1]):
        each = 1e3 * spent / programs[label]
        sys.stdout.write(
            f"{label:36}{modules[label]:9,}{programs[label]:10,}{spent:9.1f}{each:7.1f} ms\n"
        )
    sys.stdout.write(
        f"{'all':36}{len(rows):9,}{sum(programs.values()):10,}{sum(seconds.values()):9.1f}\n"
    )


def print_limit(rows: list[Compilation], everything: float) -> None:
    """Print what planning could save at most of `everything`, the processor seconds of the run."""
    taken = [row for row in rows if row.purpose in (BATCH, PART) and not row.is_refused]
    full = [row for row in taken if row.programs >= FULL]
    if not full:
        sys.stdout.write(f"no module has {FULL} programs, so nothing is known of full modules\n")
        return
    each = sum(row.seconds for row in full) / sum(row.programs for row in full)
    small = [row for row in taken if row.programs < FULL]
    excess = sum(row.seconds for row in small) - each * sum(row.programs for row in small)
    saved = {
        f"modules of less than {FULL} programs, filled": max(0.0, excess),
        "refusals of a backend, not asked": sum(
            row.seconds for row in rows if row.purpose in (BATCH, PART) and row.is_refused
        ),
        "near misses, not asked": sum(row.seconds for row in rows if row.purpose == MISS),
        "failures and errors, not confirmed": sum(
            row.seconds for row in rows if row.purpose not in (BATCH, PART, MISS)
        ),
    }
    sys.stdout.write("\nat most saved, if all were compiled perfectly, of all processor seconds\n")
    for name, seconds in saved.items():
        sys.stdout.write(f"{name:46}{seconds:9.1f}{seconds / everything:8.1%}\n")
    left = everything - sum(saved.values())
    compiling = sum(row.seconds for row in taken) - max(0.0, excess)
    rest = {"left": left, "  of these, programs in full modules": compiling}
    for name, seconds in rest.items():
        sys.stdout.write(f"{name:46}{seconds:9.1f}{seconds / everything:8.1%}\n")


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    add_selection(asked)
    asked.add_argument("--jobs", type=int)
    given = asked.parse_args()
    seconds = Seconds({})
    with tempfile.TemporaryDirectory() as folder:
        rows, cases = run_logged(given, Path(folder), seconds)
    workers, parent = sum(seconds.workers.values()), process_time()
    compiling = sum(row.seconds for row in rows)
    other = f"{workers - compiling:.1f} other work of {len(seconds.workers)} processes"
    sys.stdout.write(
        f"{cases:,} cases, processor seconds: {compiling:.1f} compiling, {other}, "
        f"{parent:.1f} the parent\n\n"
    )
    print_purposes(rows)
    print_limit(rows, workers + parent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
