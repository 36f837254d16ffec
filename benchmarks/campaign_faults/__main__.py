"""Time until a campaign finds seeded faults: `python -m benchmarks.campaign_faults`.

The reference with a fault is the backend. There are two kinds of faults:

- `--faults 40`: changes of the source that an op is evaluated with (those of `benchmarks.mutants`),
  in ops of all families in turn; some case of the op shows each to be wrong. A campaign over the
  family's ops (`fuzz --op`) should find it within `--budget 60s`.
- `--rewritings`: wrong rewritings of several operations
  (`benchmarks/campaign_faults/rewritings.py`). A campaign over all ops should find each within
  `--long 5m`.

A campaign here has one worker and no steering; a real campaign has a worker per core, and steering.
Prints the seconds and programs for each fault. Exits with 1 if any fault was not found.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor

from benchmarks.campaign_faults.rewritings import REWRITINGS
from benchmarks.campaign_faults.seeding import Job, JobResult, do, faults_in_order
from conformance.catalog import CATALOG
from conformance.fuzzing.command import seconds_of


def line(done: JobResult) -> str:
    """Return the result for one fault, as a line."""
    found = done.found
    assert found is not None
    how = f"{found.seconds:6.1f} s {found.programs:6} programs"
    family = "" if done.job.rewriting else f" [{CATALOG[done.job.name].family}]"
    last = found.failure or f"NOT FOUND\n  {done.told}"
    return f"{how}  {done.job.name}{family}: {last}"


def work(jobs: list[Job], wanted: int, processes: int) -> list[JobResult]:
    """Run jobs until `wanted` faults were seeded; print each as it ends."""
    done: list[JobResult] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, max_tasks_per_child=1) as pool:
        pending = [pool.submit(do, job) for job in jobs[:wanted]]
        further = iter(jobs[wanted:])
        while pending:
            one = pending.pop(0).result()
            if one.found is None:  # the next op takes its place
                pending += [pool.submit(do, job) for job in [next(further, None)] if job]
                continue
            done.append(one)
            sys.stdout.write(f"{line(one)}\n")
            sys.stdout.flush()
    return done


def main() -> int:
    """Seed the faults, run the campaigns, print the table; return 1 if any was not found."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--faults", type=int, default=0, help="changed ops to be found")
    asked.add_argument("--rewritings", nargs="*", help="wrong rewritings to seed; all if omitted")
    asked.add_argument("--seed", type=int, default=0, help="of faults and of campaigns")
    asked.add_argument("--budget", default="60s", help="time for a campaign over a family")
    asked.add_argument("--long", default="5m", help="time for a campaign over all ops")
    asked.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="campaigns at once")
    given = asked.parse_args()
    short, long = seconds_of(given.budget), seconds_of(given.long)
    faults = [Job(op, False, given.seed, short) for op in faults_in_order(given.seed)]
    names = [] if given.rewritings is None else given.rewritings or [*REWRITINGS]
    rewritings = [Job(name, True, given.seed, long) for name in names]
    code = 0
    for jobs, wanted in ((faults, given.faults), (rewritings, len(rewritings))):
        if not wanted:
            continue
        done = work(jobs, wanted, given.jobs)
        hits = [one.found.seconds for one in done if one.found is not None and one.found.failure]
        median = statistics.median(hits) if hits else float("nan")
        sys.stdout.write(f"{len(hits)} of {len(done)} found; median {median:.1f} s\n")
        code |= len(hits) < len(done)
    return code


if __name__ == "__main__":
    sys.exit(main())
