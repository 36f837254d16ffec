"""Check whether the first refusals of a cell predict how its later cases end, in stored runs.

    python -m benchmarks.refusals RUN...

Counts cells in which the first cases that were compiled were refused with the same words, and how
their later cases ended. Refusals that the backend tells without compiling are left out: they cost
nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from conformance.backends.session import cached_backend
from conformance.campaign.tasks import Task, cases_of
from conformance.catalog import cells
from conformance.results.summary import RunData, load
from conformance.text import join_versions
from conformance.verdict import Record, Verdict
from generators.case.columns import INVALID

REFUSED = (Verdict.UNSUPPORTED, Verdict.REJECTED)


def is_compiled(record: Record, seed: int) -> bool:
    """Return whether the backend compiled the program, or refused it without compiling."""
    if record.verdict not in REFUSED:
        return True
    (cell,) = cells([record.op], [record.element_type], [record.backend])
    (case,) = cases_of(Task(cell, seed, record.index, record.index + 1))
    return cached_backend(record.backend).refusal(case.program) is None


def lines_of(data: RunData) -> Iterable[str]:
    valid = [one for one in data.records if one.element_type != INVALID.name]
    asked = [one for one in valid if is_compiled(one, data.seed)]
    refused = sum(one.verdict in REFUSED for one in valid)
    compiled = sum(one.verdict in REFUSED for one in asked)
    yield f"{len(valid):,} cases, {refused:,} refused, {compiled:,} of them by compiling"
    by_cell = groupby(asked, key=lambda one: (one.op, one.element_type, one.backend))
    rows = [sorted(group, key=lambda one: one.index) for _, group in by_cell]
    for count in (1, 2, 3, 4):
        alike = [
            row
            for row in rows
            if len(row) > count
            and row[0].verdict in REFUSED
            and len({(one.verdict, one.message) for one in row[:count]}) == 1
        ]
        later = [(row[0], one) for row in alike for one in row[count:]]
        other = [pair for pair in later if pair[0].verdict is not pair[1].verdict]
        words = [
            pair
            for pair in later
            if pair[0].verdict is pair[1].verdict and pair[0].message != pair[1].message
        ]
        yield (
            f"  the first {count} refused alike: {len(alike)} cells, {len(later)} later cases: "
            f"{len(other)} with another verdict, {len(words)} with other words"
        )


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    for run in asked.parse_args().runs:
        data = load(run)
        versions = join_versions(data.versions.items())
        sys.stdout.write(f"{run}: {data.profile}, {versions}\n")
        for line in lines_of(data):
            sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
