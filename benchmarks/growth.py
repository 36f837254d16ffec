"""Cost of a program in runs of more and more cases: planning, storing, and in total.

    python -m benchmarks.growth --cases 1000 10000

Each run has the same cells, and more cases of each. The cost of a program should not grow. Planning
is the parent's, its share is of the wall time of the run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from conformance.campaign.planning import PROFILES, Options
from conformance.campaign.runner import run
from conformance.results.store import FILE_NAME, Store

OPS = ("abs", "add", "cosine", "divide", "exponential", "log", "maximum", "multiply", "tanh")
TYPES = ("bf16", "f16", "f32", "f64")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a run: its programs, all its seconds, and its seconds of planning and storing."""

    programs: int
    seconds: float
    planning: float
    storing: float
    memory_mb: Mapping[str, float]

    @property
    def each_ms(self) -> float:
        """Milliseconds of a program."""
        return 1e3 * self.seconds / self.programs

    def line(self, first_ms: float) -> str:
        """Return the cost as text, compared with the cost of a program in the first run."""
        return (
            f"{self.programs:,} programs: {self.seconds:.1f} s, {self.each_ms:.2f} ms each "
            f"({self.each_ms / first_ms:.2f}), planning {self.planning / self.seconds:.1%}, "
            f"storing {self.storing / self.seconds:.1%}, parent {self.memory_mb['parent']:.0f} MB, "
            f"worker {self.memory_mb['worker']:.0f} MB"
        )


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--backend", default="cpu")
    asked.add_argument("--cases", type=int, nargs="+", default=[1_000, 10_000])
    asked.add_argument("--jobs", type=int)
    given = asked.parse_args()
    first = 0.0
    for count in given.cases:
        PROFILES["deep"] = max(1, count // (len(OPS) * len(TYPES)))
        with tempfile.TemporaryDirectory() as out:
            options = Options(
                Path(out),
                (given.backend,),
                OPS,
                TYPES,
                "deep",
                jobs=given.jobs,
                expectations="none",
            )
            begun = perf_counter()
            data = run(options)
            seconds = perf_counter() - begun
            with Store(Path(out) / FILE_NAME, read_only=True) as store:
                meta = store.meta()
        planning, storage = (meta[f"{part}_seconds"] for part in ("planning", "storage"))
        cost = Cost(len(data.records), seconds, planning, storage, data.peak_rss_mb)
        first = first or cost.each_ms
        sys.stdout.write(f"{cost.line(first)}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
