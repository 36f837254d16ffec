"""Share of a run that goes into making its cases: planned by the parent, built by workers.

    python -m benchmarks.planning --op "a*" --op "dot*"

Runs a profile and prints the seconds of each part, over all processes, with its share. Planning is
shown as a share of the wall time, too: workers wait where it takes longer than their calls.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

from benchmarks.selection import add_selection, run_options
from conformance.campaign.runner import run
from conformance.results.store import FILE_NAME, Store
from conformance.verdict import Timing


def lines_of(timing: Timing, planning: float, programs: int, wall: float) -> Iterator[str]:
    """Yield the seconds of each part with its share of all, and the share of planning of the wall
    time.

    The time of generation in `timing` includes `planning`, which is shown by itself.
    """
    timing = replace(timing, generation=timing.generation - planning)
    parts = {"planning": planning}
    parts |= {field.name: getattr(timing, field.name) for field in fields(timing)}
    whole = sum(parts.values())
    yield f"{programs:,} programs in {wall:.1f} s"
    for name, seconds in parts.items():
        each = 1e3 * seconds / programs
        yield f"{name:12}{seconds:9.2f} s{seconds / whole:8.1%}{each:9.3f} ms each"
    yield f"planning is {planning / wall:.1%} of the wall time"


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    add_selection(asked)
    asked.add_argument("--jobs", type=int)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as out:
        data = run(run_options(given, Path(out), given.jobs))
        with Store(Path(out) / FILE_NAME, read_only=True) as store:
            planning = store.meta()["planning_seconds"]
    for line in lines_of(data.timing, planning, len(data.records), data.seconds):
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
