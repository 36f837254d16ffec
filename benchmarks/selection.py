"""The options of benchmarks that select the cases of a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from conformance.campaign.planning import FASTEST, Options


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that `run_options` reads to a parser."""
    parser.add_argument("--op", action="append", default=[], help="ops by name or glob")
    parser.add_argument("--element-type", action="append", default=[])
    parser.add_argument("--profile", default=FASTEST)
    parser.add_argument("--backend", default="cpu")


def run_options(given: argparse.Namespace, out: Path, jobs: int | None = None) -> Options:
    """Return the options of the requested run, in the folder `out`."""
    return Options(
        out, (given.backend,), tuple(given.op), tuple(given.element_type), given.profile, jobs=jobs
    )
