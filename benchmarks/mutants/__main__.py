"""Mutants of the reference that an op's own cells detect.

    python -m benchmarks.mutants [--op OP] [--family FAMILY] [--per-op 12] [--seed 0] [--jobs N]

A mutant is the reference with one small change in the source that an op is evaluated with. It is
the backend, and judged as in a run without expectations. Mutants do not count if they are right on
a large pool of other cases, if the op's rule permits every difference, or if the first case raises
an error, which any case would show.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.mutants import report
from benchmarks.mutants.measuring import Part, Settings
from benchmarks.mutants.workers import measure_all
from conformance.campaign.planning import PROFILES
from conformance.catalog import CATALOG, match_names


def select_ops(ops: Sequence[str], families: Sequence[str]) -> list[str]:
    """Return the ops that patterns of names and of families select.

    Raises:
        LookupError: if a pattern matches nothing.
    """
    known = list(dict.fromkeys(row.family for row in CATALOG.values()))
    wanted = set(match_names(families, known))
    return [op for op in match_names(ops, list(CATALOG)) if CATALOG[op].family in wanted]


def arguments_of(line: Sequence[str] | None) -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mutants", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("--op", action="append", default=[], help="ops by name or glob")
    add("--family", action="append", default=[], help="families of the catalog by name or glob")
    add("--element-type", action="append", default=[], help="columns by name or glob")
    add("--part", action="append", choices=[part.value for part in Part], help="else both")
    add(
        "--per-op",
        type=int,
        default=12,
        help="mutants of each part that change results",
    )
    add("--seed", type=int, default=0, help="chooses mutants, and the cases of the profiles")
    add("--profile", action="append", choices=list(PROFILES), help="else smoke and standard")
    add("--pool", type=int, default=24, help="cases of each cell of the pool")
    add("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    add("--out", type=Path, help="a file for everything as JSON")
    return parser.parse_args(line)


def main(line: Sequence[str] | None = None) -> None:
    """Measure the ops that the command line selects, and print the tables."""
    given = arguments_of(line)
    try:
        ops = select_ops(given.op, given.family)
    except LookupError as error:
        raise SystemExit(f"no op or family matches {error.args[0]!r}") from None
    settings = Settings(
        per_op=given.per_op, seed=given.seed, columns=tuple(given.element_type), pool=given.pool,
        profiles=tuple(given.profile or ("smoke", "standard")),
        parts=tuple(map(Part, given.part)) if given.part else tuple(Part),
    )  # fmt: skip
    results = measure_all(ops, settings, given.jobs)
    measured = [mutant for result in results for mutant in result.mutants]
    last = settings.profiles[-1]
    for survivor in report.survivors(measured, last):
        print(report.format_survivor(survivor))
    print(f"{report.table(measured, settings.profiles)}\n\n{report.fates(measured)}")
    if given.out is not None:
        given.out.write_text(json.dumps([report.mutant_json(one) for one in measured], indent=1))


if __name__ == "__main__":
    main()
