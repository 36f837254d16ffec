"""Cost of a program in runs of more and more cases: planning, storing, and all of it.

    python -m benchmarks.growth --cases 1000 10000

Each run has the same cells, and more cases of each. The cost of a program should not grow. Planning
is the parent's, its share is of the wall time of the run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from conformance.campaign.planning import PROFILES, Options
from conformance.campaign.runner import run
from conformance.results.store import FILE_NAME, Store

OPS = ("abs", "add", "cosine", "divide", "exponential", "log", "maximum", "multiply", "tanh")
TYPES = ("bf16", "f16", "f32", "f64")


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
        programs = len(data.records)
        each = 1e3 * seconds / programs
        first = first or each
        memory = data.peak_rss_mb
        planning, storing = (meta[f"{part}_seconds"] for part in ("planning", "storage"))
        sys.stdout.write(
            f"{programs:,} programs: {seconds:.1f} s, {each:.2f} ms each ({each / first:.2f}), "
            f"planning {planning / seconds:.1%}, storing {storing / seconds:.1%}, "
            f"parent {memory['parent']:.0f} MB, worker {memory['worker']:.0f} MB\n"
        )
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
