"""Cost of a store as it grows: writing, resuming, one case, the summary, with 10 times the records.

    python -m benchmarks.store_growth --records 100000 --factor 10

Two stores of made-up records are written as a run writes them, one transaction for each task. Every
operation is timed on both. Exits with 1 where a record of the large store costs more than twice a
record of the small store: that would be quadratic, or lack an index.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from conformance.backends.base import Description
from conformance.catalog import cells
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import RunData, load, read_store, write_json
from conformance.verdict import Detail, Errors, Record, Timing, Verdict

PER_TASK = 32
GROWTH = 2.0
"""The largest ratio of the cost of a record in the large store to its cost in the small store."""

FAILING = 50
"""Number of records per failing record, which has a program."""

PROGRAM = "module {\n" + "  // a program of a few hundred bytes\n" * 12 + "}\n"


def record(cell: tuple[str, str, str], number: int) -> Record:
    digest = f"{hash((cell, number)) & (1 << 64) - 1:016x}"
    if number % FAILING:
        return Record(*cell, number, digest, Verdict.PASS, pairs=4, values=4096)
    return Record(
        *cell, number, digest, Verdict.DIVERGENT, "saturation", "2 of 12 elements differ",
        pairs=4, values=48, known="an-entry", detail=Detail(PROGRAM, b"\0" * 256, 2, 12, ()),
    )  # fmt: skip


def fill(path: Path, count: int) -> None:
    """Write a store with this number of records, over all cells of a backend."""
    keys = [(one.op, one.element_type.name, one.backend) for one in cells(backends=["cpu"])]
    with Store(path) as store:
        store.set_meta(
            {
                "planned": keys,
                "backends": [asdict(Description("cpu", "cpu", "cpu", ()))],
                "profile": "deep",
                "started": "2026-01-01T00:00:00+00:00",
            }
        )
        for task in range(-(-count // PER_TASK)):
            turn, at = divmod(task, len(keys))
            start = turn * PER_TASK
            stop = min(start + PER_TASK, start + count - task * PER_TASK)
            store.add_task(
                f"{'/'.join(keys[at])}:{start}",
                keys[at],
                [record(keys[at], number) for number in range(start, stop)],
                Errors(),
                Timing(0.1, 0.1, 0.1, 0.1, 0.1, 0.1),
                modules=1,
                peak_rss_mb=300.0,
                meta={"seconds": float(task)},
            )


def resume(path: Path) -> None:
    """Read everything that a resumed run reads first."""
    with Store(path) as store:
        store.finished_tasks()
        store.count_records()
        store.records()


def one_case(path: Path) -> None:
    with Store(path, read_only=True) as store:
        assert store.record("add-f32-cpu-7") is not None


def summary(path: Path) -> None:
    data: RunData = load(path)
    write_json(data.report, path.with_name("summary.json"))


def close_of_a_run(path: Path) -> None:
    with Store(path) as store:
        run = read_store(store)
        assert run.cells


OPERATIONS: dict[str, Callable[[Path], None]] = {
    "resume": resume,
    "one case": one_case,
    "end of a run": close_of_a_run,
    "summary.json": summary,
}


def processor_seconds(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure_operations(path: Path, count: int) -> Iterator[tuple[str, float]]:
    """Yield the processor seconds of each operation on a store with this number of records."""
    yield "writing", processor_seconds(lambda: fill(path, count))
    for name, operation in OPERATIONS.items():
        yield name, processor_seconds(lambda operation=operation: operation(path))


def ratios(small: Mapping[str, float], large: Mapping[str, float], factor: int) -> dict[str, float]:
    """Return for each operation the ratio of a record's costs in the large and the small store."""
    return {name: large[name] / seconds / factor for name, seconds in small.items()}


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--records", type=int, default=100_000)
    asked.add_argument("--factor", type=int, default=10)
    given = asked.parse_args()
    sizes = (given.records, given.records * given.factor)
    found: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in sizes:
            path = Path(folder) / str(count) / FILE_NAME
            path.parent.mkdir()
            found.append(dict(measure_operations(path, count)))
            size = path.stat().st_size / 1e6
            sys.stdout.write(f"{count:,} records: {size:,.0f} MB on disk\n")
    small, large = found
    grown = ratios(small, large, given.factor)
    for name, ratio in grown.items():
        sys.stdout.write(
            f"{name:14} {small[name]:7.2f} s and {large[name]:7.2f} s: "
            f"{1e6 * large[name] / sizes[1]:.1f} us a record, {ratio:.2f} of the small store's\n"
        )
    return 0 if max(grown.values()) <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
