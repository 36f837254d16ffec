"""The commands that read stored runs: `report` and `baseline`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from conformance.errors import UsageError
from conformance.options import CI, STRICT_HELP, AtLeast, Baseline, CIOption, LinesFormat

if TYPE_CHECKING:  # the whole harness, which `--help` must not wait for
    from conformance.gate.comparison import Comparison
    from conformance.outputs.report import Report
    from conformance.results.summary import RunData

DEFAULT_OUT = Path("hlo-conformance-results")

_ROOTS = {CI.GITHUB: "GITHUB_WORKSPACE", CI.GITLAB: "CI_PROJECT_DIR"}
"""The variables in which CI systems give the folder of the repository."""

baseline_app = typer.Typer(no_args_is_help=True)


@baseline_app.callback()
def baselines() -> None:
    """Keep what a backend supports in a file, to compare later runs with."""


@baseline_app.command("write")
def write_baseline(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run, or its results.sqlite.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The file to write, to be committed.")],
) -> int:
    """Write how every case of a run ended to a small text file.

    `run --baseline FILE` and `report --baseline FILE` compare later runs with it.
    """
    from conformance.gate.baseline import baseline_of
    from conformance.gate.baseline_file import write
    from conformance.results.cells import UNTESTED
    from conformance.results.summary import load

    data = load(run)
    if not data.records:
        raise UsageError(f"{run} has no results: a baseline is of a run that tested something")
    made = baseline_of(data)
    write(made, out)
    cases = sum(map(len, made.cells.values()))
    lines = [f"baseline: {out}: {len(made.cells)} cells, {cases} cases"]
    untested = sum(cell.state == UNTESTED for cell in data.cells.values())
    if untested:
        lines.append(f"note: {untested} planned cells were not run and are not in the baseline")
    print_lines(lines)
    return 0


def report(
    db: Annotated[
        list[Path],
        typer.Argument(
            help="The folder of a run or a campaign, or its database; several to merge the runs."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write to; needed to merge.", show_default="the run's own"),
    ] = None,
    baseline: Baseline = None,
    at_least: AtLeast = None,
    strict: Annotated[bool, typer.Option("--strict", help=STRICT_HELP)] = False,
    ci: CIOption = CI.AUTO,
    format: Annotated[  # noqa: A002 - the option's name
        LinesFormat,
        typer.Option(
            "--format",
            help="json prints what summary.json holds, and writes the reports only to --out.",
        ),
    ] = LinesFormat.TEXT,
) -> int:
    """Write the reports of a run again: HTML, JUnit, Markdown, JSON; of a campaign its HTML.

    Several runs are merged into one: shards, and other backends with the same options. The merged
    run is kept and can be read as any. It exits as the whole run would.

    A run alone exits with 1 only where a baseline, a floor or a strict report is asked for, and
    fails.
    """
    from conformance.campaign.fuzzing.keeping.summary import is_campaign
    from conformance.campaign.fuzzing.keeping.summary import load as load_campaign
    from conformance.gate.baseline import read_baseline
    from conformance.gate.comparison import compare
    from conformance.gate.conclusion import closing_lines, exit_code, parse_share
    from conformance.outputs.schema import json_text
    from conformance.results.lines import lines_of
    from conformance.results.summary import load
    from reports.campaigns.page import write_to

    given = None if baseline is None else read_baseline(baseline)
    floor = None if at_least is None else parse_share(at_least)
    if len(db) > 1:
        data, missing = _merge(db, out)
        folder = at = out or db[0]
    else:
        at = db[0] if db[0].is_dir() else db[0].parent
        folder = out or at
        if is_campaign(db[0]):
            if format is LinesFormat.JSON:
                raise UsageError(f"{db[0]} is a campaign: its campaign.json is its JSON")
            _make(folder)
            print_lines([f"report: {write_to(load_campaign(db[0]), folder)}"])
            return 0
        data, missing = load(db[0]), []
    comparison = None if given is None else compare(data, given)
    is_gate = comparison is not None or floor is not None or strict or len(db) > 1
    code = (
        exit_code(data, strict=strict, comparison=comparison, at_least=floor) if is_gate else 0
    ) or (1 if missing else 0)
    annotations: list[str] = []
    if format is LinesFormat.TEXT or out is not None:
        _make(folder)
        annotations = write_reports(data, folder, comparison, ci)
    if format is LinesFormat.JSON:
        sys.stdout.write(json_text(with_more(data, comparison)))
        return code
    where = "" if at == DEFAULT_OUT else f" --db {shlex.quote(str(at))}"
    replaying = f"hlo-conformance replay {{}}{where}"
    told = [*missing]
    if len(db) > 1:
        told = [f"merged: {len(db)} runs into {folder}", *told]
    if len(db) > 1 or strict:
        told += lines_of(data, replaying, is_compared=comparison is not None)
    told += closing_lines(data, comparison, floor, replaying)
    print_lines([*told, f"report: {folder / 'index.html'}", *annotations])
    return code


def _merge(runs: list[Path], out: Path | None) -> tuple[RunData, list[str]]:
    """Merge runs into a folder, and return the whole with a line for each part that is missing."""
    from conformance.campaign.fuzzing.keeping.summary import is_campaign
    from conformance.campaign.merging import merge_runs

    if out is None:
        raise UsageError("several runs are merged into a folder of their own: give it by --out")
    for run in runs:
        if is_campaign(run):
            raise UsageError(f"{run} is a campaign: runs alone can be merged, report it by itself")
    _make(out)
    data, missing = merge_runs(runs, out, shlex.join(["hlo-conformance", *sys.argv[1:]]))
    return data, missing


def print_lines(lines: Iterable[str]) -> None:
    """Print lines as they are: what looks like markup is none."""
    console = Console()
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {folder}: {error.strerror or error}") from error


def with_more(data: RunData, comparison: Comparison | None) -> Report:
    """Return what JSON says of a run, with what changed since a baseline."""
    from conformance.gate.conclusion import described

    return replace(data.report, comparison=None if comparison is None else described(comparison))


def write_reports(data: RunData, out: Path, comparison: Comparison | None, ci: CI) -> list[str]:
    """Write the reports of a run, with what changed since a baseline where it was compared.

    Returns:
        The lines that the CI system is to read from the output.

    Raises:
        UsageError: when the folder cannot be written.
    """
    from conformance.results.summary import write_json
    from reports import annotations, html, junit, markdown

    try:
        with Console(stderr=True).status("writing the reports"):  # the pictures take seconds
            write_json(with_more(data, comparison), out / "summary.json")
            html.render(data, out, comparison)
            junit.render(data, out, comparison)
            markdown.render(data, out, comparison)
            system = ci.detected()
            return annotations.write_for(
                system,
                data,
                out,
                comparison,
                summary=os.environ.get("GITHUB_STEP_SUMMARY", ""),
                root=os.environ.get(_ROOTS.get(system, ""), ""),
            )
    except OSError as error:
        raise UsageError(
            f"cannot write the reports to {out}: {error.strerror or error}; the results are "
            "stored, hlo-conformance report writes the reports again"
        ) from error
