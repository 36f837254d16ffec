"""Memory of a campaign: `python -m benchmarks.campaign_memory --budget 30m`.

The command runs a campaign and reads the resident memory of its process and of each worker every
few seconds. It prints, for each minute, the median of the parent's memory and the median of the
largest worker's. Then it compares both medians of the last minutes with those around `--early`, and
exits with 1 if either has grown by more than a tenth.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

EVERY = 3.0
"""Seconds between two measurements."""

WINDOW = 2.0
"""Width in minutes of the window of a median."""

GROWTH = 1.1
"""Largest permitted ratio of the memory in the last minutes to the memory at the beginning."""

Sample = tuple[float, int, int]
"""Minutes since the beginning, bytes of the parent, bytes of the largest worker."""


def look(parent: psutil.Process, begun: float) -> Sample | None:
    """Return the current memory of a campaign; None if no worker is running, or it has ended."""
    sizes: list[int] = []
    try:
        for one in parent.children(recursive=True):
            if one.ppid() != parent.pid:  # workers are forked off a server, the parent's child
                sizes.append(one.memory_info().rss)
        own = parent.memory_info().rss
    except psutil.Error:
        return None
    return ((time.monotonic() - begun) / 60, own, max(sizes)) if sizes else None


def median_around(samples: list[Sample], minute: float, column: int) -> float:
    """Return the median memory within half a window around a minute, in MiB."""
    near = [one[column] for one in samples if abs(one[0] - minute) <= WINDOW / 2]
    return statistics.median(near) / 2**20 if near else float("nan")


def growth(samples: list[Sample], early: float) -> tuple[float, float]:
    """Return the growth of the parent's memory, and of the largest worker's: the last minutes' over
    an early minute's.
    """
    late = samples[-1][0] - WINDOW / 2
    parent, worker = (
        median_around(samples, late, n) / median_around(samples, early, n) for n in (1, 2)
    )
    return parent, worker


def main() -> int:
    """Run the campaign and print how much memory it took; 1 where it grows."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--budget", default="30m", help="time for the campaign, such as 30m")
    asked.add_argument("--early", type=float, default=5.0, help="minute to compare with")
    asked.add_argument("--jobs", default="2", help="worker processes")
    asked.add_argument("--backend", default="cpu")
    asked.add_argument("--seed", default="0")
    given = asked.parse_args()
    words = ["--backend", given.backend, "--jobs", given.jobs, "--seed", given.seed]
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as out:
        log = Path(out) / "log"
        with log.open("w") as told:
            begun = time.monotonic()
            process = subprocess.Popen(
                [sys.executable, "-m", "conformance", "fuzz", "--budget", given.budget, *words,
                 "--expectations", "none", "--out", out],
                stdout=told, stderr=told,
            )  # fmt: skip
            parent = psutil.Process(process.pid)
            while process.poll() is None:
                if (sample := look(parent, begun)) is not None:
                    samples.append(sample)
                time.sleep(EVERY)
        last = [line for line in log.read_text("utf-8").splitlines() if " programs: " in line]
    if not samples:
        sys.stdout.write("the campaign had no workers\n")
        return 1
    end = samples[-1][0]
    for minute in range(1, int(end) + 1):
        sizes = [median_around(samples, minute, column) for column in (1, 2)]
        sys.stdout.write(f"{minute:3} min: parent {sizes[0]:.0f} MiB, worker {sizes[1]:.0f} MiB\n")
    ratios = growth(samples, given.early)
    sys.stdout.write(f"{last[-1] if last else 'no summary'}\n")
    sys.stdout.write(
        f"after {end - WINDOW / 2:.0f} min against {given.early:.0f} min: parent {ratios[0]:.2f}, "
        f"largest worker {ratios[1]:.2f}\n"
    )
    return 0 if max(ratios) <= GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
