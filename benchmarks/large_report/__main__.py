"""The cost of the report of a large run: `python -m benchmarks.large_report [--records 100000]`.

Writes synthetic stores of N records over the cells of the real catalog, and the report of each by
the command. Opens the page in a headless Chromium. Prints for each store:

- the seconds that `hlo-conformance report` takes, in all and for 1,000 records, those of CPU among
  them (which a busy machine does not change much), and its peak memory
- the size of the page
- the time from the start of the navigation to the first screen drawn and the script run, the median
  of several loads, each in a new browser
- the elements of the page
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.large_report.stores import BACKENDS, write
from conformance.results.store import FILE_NAME
from docs.tools.screenshots import browser

LOADS = 3
WINDOW = 1280, 900
_TIMES = """const [page] = performance.getEntriesByType('navigation');
const paints = performance.getEntriesByType('paint').map((one) => one.startTime);
return [Math.max(page.domContentLoadedEventEnd, ...paints), document.all.length, paints.length];"""


@dataclass(frozen=True, slots=True)
class Figures:
    """The cost of a report; `opened_ms` is None without a browser."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    store_mb: float
    page_mb: float
    opened_ms: float | None
    elements: int


def write_reports(folder: Path) -> tuple[float, float, float]:
    """Write the reports of a stored run; return seconds, seconds of CPU, and peak memory in MB."""
    command = [sys.executable, "-m", "conformance", "report", str(folder)]
    begun = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    spent = usage.ru_utime + usage.ru_stime
    return perf_counter() - begun, spent, usage.ru_maxrss / 1024


def open_page(page: Path) -> tuple[float, int]:
    """Open a page; return the milliseconds until it is drawn, and its elements."""
    times: list[float] = []
    count = 0
    for _ in range(LOADS):
        with browser(*WINDOW) as driver:
            driver.get(page.as_uri())
            took, paints = 0.0, 0
            while not paints:  # a paint is reported a frame later
                took, count, paints = driver.execute_script(_TIMES)
            times.append(took)
    return median(times), count


def measure_report(count: int, backends: int, folder: Path, *, is_opened: bool) -> Figures:
    """Write a store and its report, open the report, and return the figures."""
    write(folder, count, BACKENDS[:backends])
    seconds, cpu, peak = write_reports(folder)
    page = folder / "index.html"
    took, elements = open_page(page) if is_opened else (None, 0)
    store = folder / FILE_NAME
    size, page_size = store.stat().st_size / 1e6, page.stat().st_size / 1e6
    return Figures(seconds, cpu, peak, size, page_size, took, elements)


def main() -> None:
    """Print a line for each size and number of backends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, action="append", metavar="N")
    parser.add_argument("--backends", type=int, action="append", choices=(1, 2, 3))
    parser.add_argument("--no-browser", action="store_true", help="do not open the pages")
    parser.add_argument("--keep", type=Path, help="keep the stores and pages in this folder")
    given = parser.parse_args()
    print(
        "records  backends   report   per 1,000      CPU    memory    store     page"
        "     open  elements"
    )
    for count in given.records or (1_000, 10_000, 100_000):
        for backends in given.backends or (1, 3):
            with tempfile.TemporaryDirectory() as temporary:
                base = given.keep or Path(temporary)
                folder = base / f"{count}-{backends}"
                one = measure_report(count, backends, folder, is_opened=not given.no_browser)
            took = "–" if one.opened_ms is None else f"{one.opened_ms:.0f} ms"
            print(
                f"{count:7,} {backends:9} {one.seconds:6.1f} s {1000 * one.seconds / count:9.2f} s"
                f" {one.cpu_seconds:6.1f} s {one.peak_mb:6.0f} MB {one.store_mb:5.0f} MB"
                f" {one.page_mb:5.2f} MB {took:>8} {one.elements:9,}",
                flush=True,
            )


if __name__ == "__main__":
    main()
