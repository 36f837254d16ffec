"""The commands that read stored runs: `report` and `baseline`."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from conformance import options
from conformance.commands.sweep_reports import report_sweeps
from conformance.errors import UsageError
from conformance.options import CI, STRICT_HELP, AtLeast, Baseline, CIOption, LinesFormat
from conformance.text import plural

if TYPE_CHECKING:  # the whole harness, which `--help` must not wait for
    from conformance.gate.baselines.baseline import ReadBaseline
    from conformance.gate.baselines.comparison import Comparison
    from conformance.outputs.report import Report
    from conformance.outputs.sweep import Sweep
    from conformance.results.history import History
    from conformance.results.summary import RunData
    from reports.context import Context

DEFAULT_OUT = Path("hlo-conformance-results")

_ROOTS = {CI.GITHUB: "GITHUB_WORKSPACE", CI.GITLAB: "CI_PROJECT_DIR"}
"""The variables in which CI systems give the folder of the repository."""

baseline_app = typer.Typer(no_args_is_help=True)


@baseline_app.callback()
def baselines() -> None:
    """Store the cases that a backend supports in a file, to compare later runs with."""


@baseline_app.command("write")
def write_baseline(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="The folder of a run, or its results.sqlite.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The file to write, to be committed.")],
) -> int:
    """Write the outcome of every case of a run to a small text file.

    `run --baseline FILE` and `report --baseline FILE` compare later runs with it.
    """
    from conformance.gate.baselines.baseline import baseline_of
    from conformance.gate.baselines.text_file import write
    from conformance.results.cells import UNTESTED
    from conformance.results.summary import load

    data = load(run)
    if not data.records:
        raise UsageError(f"{run} has no results: write a baseline of a run that tested something")
    made = baseline_of(data)
    write(made, out)
    cases = sum(map(len, made.cells.values()))
    lines = [f"baseline: {out}: {plural(len(made.cells), 'cell')}, {plural(cases, 'case')}"]
    untested = sum(cell.state == UNTESTED for cell in data.cells.values())
    if untested:
        lines.append(f"note: {untested} planned cells were not run and are not in the baseline")
    if data.left_out:
        cases = sum(one.cases for one in data.left_out)
        lines.append(f"note: {cases} cases were left out by --budget and are not in the baseline")
    print_lines(lines)
    return 0


StoredRuns = Annotated[
    list[Path],
    typer.Argument(
        help="The folder of a run, a campaign or a sweep, or its database; several runs are "
        "merged, or shards of a sweep. Sweeps given with a run get a section in its report."
    ),
]
ReportFolder = Annotated[
    Path | None,
    typer.Option(help="Folder to write to; needed to merge.", show_default="the run's own"),
]
WithHistory = Annotated[
    bool,
    typer.Option(
        "--history",
        help="Report the newest run with the history of the others, and merge nothing. Older "
        "runs need only their summary.json.",
    ),
]
FindingFolders = Annotated[
    list[Path] | None,
    typer.Option(
        help="Add the findings of a campaign or a corpus of `fuzz`. Repeatable.",
        show_default="none",
    ),
]
StrictReport = Annotated[bool, typer.Option("--strict", help=STRICT_HELP)]
ReportFormat = Annotated[
    LinesFormat,
    typer.Option(
        "--format",
        help="json prints what summary.json holds, and writes the reports only to --out.",
    ),
]


def report(
    db: StoredRuns,
    out: ReportFolder = None,
    history: WithHistory = False,
    findings: FindingFolders = None,
    baseline: Baseline = None,
    at_least: AtLeast = None,
    strict: StrictReport = False,
    ci: CIOption = CI.AUTO,
    format: ReportFormat = LinesFormat.TEXT,  # noqa: A002 - the option's name
) -> int:
    """Write the reports of a run: HTML, JUnit, Markdown, JSON. Campaigns and sweeps have HTML only.

    Several runs are merged into one run: shards, and other backends with the same options. The
    merged run is stored, and every command reads it. The exit code is for the whole run.

    Sweeps given with a run are a section of its report. They do not change the exit code.

    With `--history`, report the newest of several runs of the same backends.

    A single run exits with 1 only if it fails a baseline, a floor or a strict report.
    """
    from conformance.fuzzing.keeping.summary import is_campaign
    from conformance.gate.baselines.baseline import read_baseline
    from conformance.gate.conclusion import parse_share
    from conformance.sweep.merging import is_sweep

    for path in db:
        if not path.exists():
            raise UsageError(f"{path} does not exist: give the folder of a run, campaign or sweep")
    sweeps = [path for path in db if is_sweep(path)]
    runs = [path for path in db if path not in sweeps]
    if not runs:
        is_plain = baseline is None and at_least is None and not (strict or history or findings)
        return _report_sweeps(sweeps, out, format, is_plain=is_plain)
    gate = _Gate(
        strict,
        None if baseline is None else read_baseline(baseline),
        None if at_least is None else parse_share(at_least),
    )
    if len(runs) == 1 and is_campaign(runs[0]):
        is_alone = not (history or findings or sweeps)
        return _report_campaign(runs[0], out, format, is_alone=is_alone)
    read = _read(runs, out, is_history=history)
    context = _context(read, findings or [], sweeps)
    return _report_run(read, gate, context, ci, format, writes=out is not None)


@dataclass(frozen=True)
class _Gate:
    """The conditions on a run: a strict report, a baseline, the smallest share of tested cells."""

    is_strict: bool
    baseline: ReadBaseline | None
    floor: float | None


def _report_run(
    read: _Read,
    gate: _Gate,
    context: Context,
    ci: CI,
    format: LinesFormat,  # noqa: A002 - the option's name
    *,
    writes: bool,
) -> int:
    """Write the reports of a run, or print it as JSON, and return the exit code.

    `writes` says whether the reports are written beside JSON, too.
    """
    from conformance.gate.baselines.baseline import apply_recordings
    from conformance.gate.baselines.comparison import compare
    from conformance.gate.conclusion import exit_code
    from conformance.outputs.schema import json_text

    data = read.data
    comparison = None
    if gate.baseline is not None:
        recorded = compare(data, gate.baseline).recorded
        data = apply_recordings(data, recorded, data.expectations)
        comparison = compare(data, gate.baseline)
        read = dataclasses.replace(read, data=data)
    code = 1 if read.missing else 0
    if comparison is not None or gate.floor is not None or gate.is_strict or read.merged:
        strict, floor = gate.is_strict, gate.floor
        code = exit_code(data, strict=strict, comparison=comparison, at_least=floor) or code
    annotations: list[str] = []
    if format is LinesFormat.TEXT or writes:
        _make(read.folder)
        annotations = write_reports(data, read.folder, comparison, ci, context, at=read.at)
    if format is LinesFormat.JSON:
        sys.stdout.write(json_text(complete_report(data, comparison, context)))
    else:
        told = _lines(read, comparison, gate.floor, context, is_strict=gate.is_strict)
        print_lines([*told, f"report: {read.folder / 'index.html'}", *annotations])
    return code


def _context(read: _Read, findings: list[Path], sweeps: list[Path]) -> Context:
    """Return the history, findings and sweeps to report with a run."""
    from reports.context import Context

    causes = None
    if findings:
        from conformance.fuzzing.keeping.collection import load_findings  # loads jax

        causes = load_findings(findings)
    return Context(read.history, causes, _read_sweeps(sweeps))


def check_folder_of_run(out: Path) -> None:
    """Check that the report of a new run in a folder would not replace another page.

    Raises:
        UsageError: if the folder holds a campaign or a sweep, and no run.
    """
    from conformance.results.store import FILE_NAME

    if not out.is_dir() or (out / FILE_NAME).is_file():
        return
    from conformance.fuzzing.keeping.summary import is_campaign
    from conformance.sweep.merging import is_sweep

    found = "a campaign" if is_campaign(out) else "a sweep" if is_sweep(out) else ""
    if found:
        raise UsageError(
            f"{out} holds {found}, whose index.html the report would replace: choose another --out"
        )


def _read_sweeps(paths: list[Path]) -> tuple[Sweep, ...] | None:
    """Read the results of sweeps; None for no sweeps."""
    if not paths:
        return None
    from reports.sweeps import page

    return tuple(page.read(_folder_of(path)) for path in paths)


def _report_sweeps(
    sweeps: list[Path],
    out: Path | None,
    format: LinesFormat,  # noqa: A002 - the option's name
    *,
    is_plain: bool,
) -> int:
    """Write the page of sweeps again; `is_plain` says that no option of runs is given."""
    from conformance.outputs.schema import json_text

    if not is_plain:
        raise UsageError(
            f"{sweeps[0]} is a sweep: --baseline, --at-least, --strict, --history and --findings "
            "apply only to the report of a run"
        )
    is_json = format is LinesFormat.JSON
    swept = report_sweeps(sweeps, out, writes=out is not None or not is_json)
    if is_json:
        sys.stdout.write(json_text(swept.result))
    else:
        print_lines(swept.lines)
    return swept.exit_code


def _report_campaign(path: Path, out: Path | None, format: LinesFormat, *, is_alone: bool) -> int:  # noqa: A002 - the option's name
    """Write the page of a campaign again."""
    from conformance.fuzzing.keeping.summary import load as load_campaign
    from reports.campaigns.page import write_to

    if format is LinesFormat.JSON:
        raise UsageError(f"{path} is a campaign: read its campaign.json")
    if not is_alone:
        raise UsageError(
            f"{path} is a campaign: --history, --findings and sweeps apply only to the report "
            "of a run"
        )
    folder = out or (path if path.is_dir() else path.parent)
    _make(folder)
    print_lines([f"report: {write_to(load_campaign(path), folder)}"])
    return 0


@dataclass(frozen=True)
class _Read:
    """A run that a command has read, with the paths that reports mention.

    `at` is the folder in which `replay` finds it, `folder` the folder to which reports are written.
    `merged` is how many runs were merged into it, 0 for a stored run; `missing` has
    a line for each part that a merged run lacks.
    """

    data: RunData
    at: Path
    folder: Path
    merged: int = 0
    missing: tuple[str, ...] = ()
    history: History | None = None


def _read(runs: list[Path], out: Path | None, *, is_history: bool) -> _Read:
    """Read a run, merge several, or read the newest run of a history with the older runs."""
    from conformance.campaign.merging import merge_runs
    from conformance.fuzzing.keeping.summary import is_campaign
    from conformance.results.history import load_history
    from conformance.results.summary import load

    if len(runs) > 1 or is_history:
        for run in runs:
            if is_campaign(run):
                raise UsageError(f"{run} is a campaign: give runs, and campaigns by --findings")
    if is_history:
        history = load_history(runs)
        at = _folder_of(Path(history.runs[-1].path))
        return _Read(history.newest, at, out or at, history=history)
    if len(runs) == 1:
        at = _folder_of(runs[0])
        return _Read(load(runs[0]), at, out or at)
    if out is None:
        raise UsageError(
            "give --out, a new folder for the merged run; "
            "runs of several dates or versions are not merged with --history"
        )
    _make(out)
    data, missing = merge_runs(runs, out, options.given_command())
    return _Read(data, out, out, merged=len(runs), missing=tuple(missing))


def _folder_of(run: Path) -> Path:
    return run if run.is_dir() else run.parent


def _lines(
    read: _Read,
    comparison: Comparison | None,
    floor: float | None,
    context: Context,
    *,
    is_strict: bool,
) -> list[str]:
    """Return the lines about a run that are printed before the reports and the messages for CI."""
    from conformance.gate.conclusion import closing_lines
    from conformance.results.history import history_lines
    from conformance.results.lines import lines_of

    where = "" if read.at == DEFAULT_OUT else f" --db {shlex.quote(str(read.at))}"
    replaying = f"hlo-conformance replay {{}}{where}"
    told = [f"merged: {read.merged} runs into {read.folder}"] if read.merged else []
    told += read.missing
    if read.merged or is_strict:
        told += lines_of(read.data, replaying, is_compared=comparison is not None)
    if context.history is not None:
        told += history_lines(context.history)
    if context.causes is not None:
        findings = sum(len(cause.described.findings) for cause in context.causes)
        told.append(f"campaigns: {len(context.causes)} causes, {findings} findings")
    if context.sweeps is not None:
        told.append(_swept_line(context.sweeps))
    return told + closing_lines(read.data, comparison, floor, replaying)


def _swept_line(sweeps: tuple[Sweep, ...]) -> str:
    """Return a line with the number of functions and values of the sweeps that accompany a run."""
    from reports.sweeps.tables import tables_of

    groups = tables_of(sweeps)
    functions = plural(sum(group.functions for group in groups), "function")
    values = sum(group.values for group in groups)
    new = plural(sum(group.new for group in groups), "new class", "new classes")
    return f"sweeps: {functions}, {values:,} values, {new} of failures"


def print_lines(lines: Iterable[str]) -> None:
    """Print lines literally, without interpreting markup."""
    console = Console()
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create {folder}: {error.strerror or error}") from error


def complete_report(data: RunData, comparison: Comparison | None, context: Context) -> Report:
    """Return the JSON object of a run, with baseline, history, findings and sweeps."""
    from conformance.gate import conclusion
    from conformance.results import history

    past, causes = context.history, context.causes
    return replace(
        data.report,
        comparison=None if comparison is None else conclusion.comparison_json(comparison),
        history=None if past is None else history.history_json(past),
        findings=None if causes is None else tuple(cause.described for cause in causes),
        sweeps=context.sweeps,
    )


def write_reports(
    data: RunData,
    out: Path,
    comparison: Comparison | None,
    ci: CI,
    context: Context | None = None,
    *,
    at: Path | None = None,
) -> list[str]:
    """Write the reports of a run, with its changes since a baseline if there is one.

    `context` has history, findings and sweeps to report with the run; `at` is the folder in which
    `replay` finds the run, where that is not `out`.

    Returns:
        The lines that the CI system is to read from the output.

    Raises:
        UsageError: when the folder cannot be written.
    """
    from conformance.results.summary import write_json
    from reports import annotations, findings, html, junit, markdown, view
    from reports.context import NOTHING
    from reports.context_markdown import sections

    context = context or NOTHING
    try:
        with Console(stderr=True).status("writing the reports"):  # the pictures take seconds
            write_json(complete_report(data, comparison, context), out / "summary.json")
            seen = view.build(data, findings.db_of(at or out), comparison)
            html.write(seen, out, context)
            junit.write(seen, out)
            markdown.write(seen, out, sections(context))
            system = ci.detect()
            return annotations.write_for(
                system,
                data,
                out,
                comparison,
                summary=os.environ.get("GITHUB_STEP_SUMMARY", ""),
                root=os.environ.get(_ROOTS.get(system, ""), ""),
                at=at,
            )
    except OSError as error:
        raise UsageError(
            f"cannot write the reports to {out}: {error.strerror or error}; the results are "
            "stored, hlo-conformance report writes the reports again"
        ) from error
