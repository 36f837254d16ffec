"""New failures that known divergences hide: results are corrupted before they are judged.

    python -m benchmarks.masking [--backend cpu] [--cells 360] [--cases 1] [--seed 0] [--op OP]
                                 [--recorded]

A real backend runs a case once. Then one result of one of its input sets is corrupted by each
change in `--changes`, and the case is judged again as `run` judges it, with confirmation and
expectations. With `--recorded`, it is also compared with a recording of the original case by the
same backend. A refusal, an abort and an internal error with unknown words are judged, too. With
`--limit 2`, exits with 1 if more than 2 percent of the corrupted results, or of such endings, are
known.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.masking import report
from benchmarks.masking.changes import CHANGES
from benchmarks.masking.endings import ENDINGS
from benchmarks.masking.measuring import Settings
from benchmarks.masking.workers import chosen_cells, measure_all
from conformance.backends.registry import parse
from conformance.campaign.planning import PROFILES
from conformance.catalog import Cell
from conformance.errors import NotAvailable, UsageError
from conformance.gate.reading import ExpectationError


def arguments_of(line: Sequence[str] | None) -> argparse.Namespace:
    """Return the parsed options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.masking", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("--backend", default="cpu", help="whose results are corrupted, as `run` takes it")
    add("--expectations", help="a file, a folder or a name, as `run` takes it; else the shipped")
    add("--op", action="append", default=[], help="ops by name or glob")
    add("--type", action="append", default=[], help="element types by name or glob")
    add("--cells", type=_positive, help="cells drawn of those that match; else all")
    add("--cases", type=_positive, default=1, help="cases drawn of each cell (1)")
    add("--profile", choices=list(PROFILES), default="standard", help="what cases are drawn from")
    add("--seed", type=int, default=0, help="of the cells, cases and positions drawn (0)")
    add("--jobs", type=_positive, help="worker processes; else as many as the backend can use")
    add("--changes", nargs="+", choices=[*CHANGES, *ENDINGS], help="else all of these")
    add("--recorded", action="store_true", help="compare with a recording of the backend's results")
    add("--limit", type=float, help="the largest share of results in per cent that may be known")
    add("--out", type=Path, help="a file for every outcome, as JSON")
    return parser.parse_args(line)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def main(line: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if more is known than `--limit` allows, 2 for bad options."""
    given = arguments_of(line)
    settings = Settings(
        tuple(given.changes or (*CHANGES, *ENDINGS)),
        given.seed,
        given.expectations,
        given.recorded,
    )
    try:
        choice = parse(given.backend)
        chosen = _choose_cells(given, choice.name)
        measured = measure_all(
            choice, chosen, given.profile, given.cases, settings, given.jobs, _notice
        )
    except (UsageError, NotAvailable, ExpectationError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{report.format_tables(measured)}\n")
    if given.out is not None:
        given.out.write_text(json.dumps(report.tables_json(measured), indent=1))
    share = report.worst_share(measured.outcomes)
    over = given.limit is not None and share.percent > given.limit
    if over:
        sys.stderr.write(f"known: {share}, more than {given.limit:g} %\n")
    return int(over)


def _choose_cells(given: argparse.Namespace, backend: str) -> list[Cell]:
    try:
        return chosen_cells(given.op, given.type, backend, given.cells, given.seed)
    except LookupError as error:
        raise UsageError(f"no op or element type matches {error.args[0]!r}") from None


def _notice(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")


if __name__ == "__main__":
    sys.exit(main())
