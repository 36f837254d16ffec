"""Speed of compiling and running the cases of a profile in modules of several sizes.

    python -m benchmarks.batching --op "a*" --op "c*" --profile smoke

A run makes modules of programs of the same op. They are compared with modules of any ops, of the
given sizes. Programs that the backend refuses, and programs of several processes, are left out of
all modules. Everything runs in one process. Seconds are CPU time, which does not depend on other
work of the machine. The rounds alternate, and the fastest round counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time

from benchmarks.selection import add_selection, run_options
from conformance.backends.session import open_session
from conformance.campaign.planning import drop_unneeded_cases, make_batches, plan
from conformance.campaign.tasks import Task, cases_of
from conformance.pipeline.batch import Batcher, run_all
from conformance.pipeline.items import Item
from generators.case.columns import Invalid
from generators.values.contents import materialise

PLANNED = "of one op, as planned"


def items_of(tasks: Sequence[Task]) -> list[Item]:
    """Return the cases of a module with their inputs."""
    return [
        Item(0, case.program, [materialise(case.program, one) for one in case.inputs], [])
        for task in tasks
        for case in cases_of(task)
        if case.program.process_grid is None
    ]


def seconds_of(batcher: Batcher, modules: Sequence[Sequence[Item]]) -> float:
    """Return the CPU seconds that compiling and running all modules takes."""
    begun = process_time()
    for module in modules:
        batcher.run(module)
    return process_time() - begun


def table(seconds: Mapping[str, float], modules: Mapping[str, int], programs: int) -> Iterator[str]:
    """Yield a line for each layout: its modules, its time, and its share of the best speed."""
    fastest = min(seconds.values())
    yield f"{programs:,} programs"
    for name, spent in seconds.items():
        yield (
            f"{name:24}{modules[name]:5} modules{spent:8.1f} s"
            f"{1e3 * spent / programs:8.2f} ms each{fastest / spent:7.2f} of the best"
        )


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    add_selection(asked)
    asked.add_argument("--sizes", type=int, nargs="+", default=[8, 16, 32, 64])
    asked.add_argument("--rounds", type=int, default=2)
    given = asked.parse_args()
    options = run_options(given, Path())
    batcher = Batcher(open_session(given.backend), repeats=0)
    planned: list[list[Item]] = []
    tasks = (drop_unneeded_cases(one, given.profile).plan_cases() for one in plan(options).tasks
             if not isinstance(one.cell.element_type, Invalid))  # fmt: skip
    for batch in make_batches(one for one in tasks if len(one)):
        items = items_of(batch)
        ((*answers,),), _ = run_all(batcher, [items]) if items else (([],), ())
        accepted = [
            one for one, told in zip(items, answers, strict=True) if isinstance(told.answer, list)
        ]
        planned += [accepted] if accepted else []
    programs = [one for module in planned for one in module]
    layouts: dict[str, list[list[Item]]] = {PLANNED: planned}
    for size in given.sizes:
        starts = range(0, len(programs), size)
        layouts[f"of any ops, {size} cases"] = [programs[at : at + size] for at in starts]
    rounds = [
        {name: seconds_of(batcher, modules) for name, modules in layouts.items()}
        for _ in range(given.rounds)
    ]
    best = {name: min(one[name] for one in rounds) for name in layouts}
    counts = {name: len(modules) for name, modules in layouts.items()}
    for line in table(best, counts, len(programs)):
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
