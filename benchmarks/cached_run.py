"""Savings by a cache: `python -m benchmarks.cached_run [--op 'a*'] [--profile standard]`.

Runs the same command twice with one cache, and once without. Prints the seconds of each, the second
run's share of the first's, and the outcomes of failing cases. Fails if the reports differ, except
for cases that entries call unpredictable or flaky: their values are foreign memory and differ from
run to run. The sources must not change meanwhile, because they are part of the key.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from pathlib import Path
from time import perf_counter

from conformance.results.summary import RunData, load
from conformance.verdict import Record

DETAILS = 20
"""Largest number of differences that are printed."""

OURS = [sys.executable, "-m", "conformance", "run"]


def timed_run(out: Path, arguments: list[str]) -> tuple[float, RunData]:
    """Return the seconds that a run takes, including reports, and the run."""
    begun = perf_counter()
    done = subprocess.run(
        [*OURS, *arguments, "--out", str(out)], capture_output=True, text=True, check=False
    )
    seconds = perf_counter() - begun
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return seconds, load(out)


def predictable_records(run: RunData) -> dict[str, Record]:
    """Return the records by id, without records whose entry is unpredictable or flaky."""
    ids = {id_ for id_, known in run.expectations.items() if known.unpredictable or known.flaky}
    return {record.id: record for record in run.records if ids.isdisjoint(record.expectation_ids)}


def differences(one: RunData, other: RunData) -> list[str]:
    """Return the differences between the reports of two runs, ignoring times and counts of the
    cache.
    """
    names = ("coverage", "exit_code", "incidents", "stale", "fixed")
    found = [name for name in names if getattr(one, name) != getattr(other, name)]
    records = [predictable_records(run) for run in (one, other)]
    apart = {
        (record.op, record.element_type, record.backend)
        for run, kept in zip((one, other), records, strict=True)
        for record in run.records
        if record.id not in kept
    }
    errors = [
        {cell: errors for cell, errors in run.errors.items() if cell not in apart}
        for run in (one, other)
    ]
    return [
        *found,
        *["records"] * (records[0] != records[1]),
        *["errors"] * (errors[0] != errors[1]),
    ]


def detail_lines(one: RunData, other: RunData) -> Iterator[str]:
    """Yield a line for each difference between the records and the errors of two runs."""
    theirs = predictable_records(other)
    for record in predictable_records(one).values():
        there = theirs.get(record.id)
        if there is None:
            yield f"{record.id}: only in the first"
        elif there != record:
            names = (field.name for field in fields(record))
            pairs = ((name, getattr(record, name), getattr(there, name)) for name in names)
            told = (f"{name}: {first!r:.200} {second!r:.200}" for name, first, second in pairs
                    if first != second)  # fmt: skip
            yield f"{record.id}: {'; '.join(told)}"
    for cell, errors in one.errors.items():
        if errors != other.errors.get(cell):
            yield f"errors of {'-'.join(cell)}: {errors!r:.300} {other.errors.get(cell)!r:.300}"


def main() -> None:
    """Time the runs and print their durations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--op", action="append", default=[])
    parser.add_argument("--element-type", action="append", default=[])
    parser.add_argument("--profile", default="standard")
    parser.add_argument("--without", action="store_true", help="time a run without a cache, too")
    given = parser.parse_args()
    arguments = ["--backend", given.backend, "--profile", given.profile]
    arguments += [word for op in given.op for word in ("--op", op)]
    arguments += [word for of in given.element_type for word in ("--element-type", of)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cached = [*arguments, "--cache", str(folder / "cache")]
        first, run = timed_run(folder / "first", cached)
        second, again = timed_run(folder / "second", cached)
        size = sum(path.stat().st_size for path in (folder / "cache").iterdir())
        print(f"first run                {first:8.1f} s, {len(run.records)} cases")
        told = f"{again.from_cache} from the cache"
        print(f"second run               {second:8.1f} s, {told}")
        print(f"share                    {100 * second / first:8.1f} %")
        print(f"size of the cache        {size / 1e6:8.1f} MB")
        left = Counter(r.verdict.value for r in run.records if r.verdict.fails)
        print("failed:", ", ".join(f"{verdict} {n}" for verdict, n in left.most_common()))
        if given.without:
            bare, other = timed_run(folder / "bare", [*arguments, "--no-cache"])
            print(f"run without a cache      {bare:8.1f} s")
            print("differs from that:", ", ".join(differences(run, other)) or "nothing")
        found = differences(run, again)
        if found:
            told = "\n".join(islice(detail_lines(run, again), DETAILS))
            raise SystemExit(f"the reports differ in {', '.join(found)}\n{told}")


if __name__ == "__main__":
    main()
