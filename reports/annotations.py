"""Annotations for CI systems: workflow commands of GitHub, code quality reports of GitLab."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.gate.baselines.comparison import REGRESSIONS, Comparison, Kind
from conformance.gate.conclusion import ChangeGroup, group_changes
from conformance.results.remarks import is_new, other_incidents
from conformance.results.summary import RunData
from reports import findings, squares, text

ANNOTATIONS = 10
"""The number of annotations of one kind that GitHub shows for a step."""


SUMMARY_LIMIT = 1_000_000
"""The largest job summary in bytes; GitHub shows nothing of a longer summary."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A failure of the run, described once for all element types.

    `key` is the same for the same problem in another run. `file` and `line` are the position of its
    first cell in the baseline, "" and 1 without a baseline file.
    """

    title: str
    message: str
    key: str
    is_loss: bool = False
    file: str = ""
    line: int = 1


def problems(
    run: RunData, comparison: Comparison | None = None, db: str = "", root: str = ""
) -> list[Problem]:
    """Return the failures of a run: new or lost cases against a baseline, otherwise all new
    failures.

    Lost batches and incidents follow. `db` is the folder for `replay`, `root` the folder of the
    repository, "" for the working directory.
    """
    if comparison is None:
        new = [
            _group_problem(one) for one in findings.groups(run, db) if one.status == findings.NEW
        ]
        return [*new, *_batch_problems(run)]
    lines = _cell_lines(comparison.path)
    groups = (group for kind in REGRESSIONS for group in group_changes(comparison.of(kind)))
    file = path_in(root, comparison.path) if lines else ""
    return [*(_change_problem(group, db, file, lines) for group in groups), *_batch_problems(run)]


def _batch_problems(run: RunData) -> Iterator[Problem]:
    """Yield the batches that fail the run as a whole, and the incidents."""
    for batch in filter(is_new, run.lost_batches):
        name, backend = text.clip_line(batch.name, 200), text.clip_line(batch.backend)
        key = "/".join(("batch", backend, name, batch.verdict, batch.kind))
        yield Problem(f"new: batch of {name} on {backend}", text.clip_line(batch.line, 1_000), key)
    for incident in other_incidents(run):
        line = text.clip_line(incident, 1_000)
        yield Problem("incident", line, f"incident/{line}")


def path_in(root: str, path: str) -> str:
    """Return a path relative to the root of a repository, or unchanged if the file is not there."""
    absolute = Path(path).absolute()
    if root and absolute.is_relative_to(root):
        return absolute.relative_to(root).as_posix()
    return path


def _cell_lines(path: str) -> dict[str, int]:
    """Return the lines of the cells in a baseline file by their beginning; empty for a stored
    run."""
    if not Path(path).is_file():
        return {}
    text_of = Path(path).read_text(encoding="utf-8", errors="replace")
    lines = enumerate(text_of.splitlines(), 1)
    return {_cell_start(*match.groups()): number for number, line in lines
            if (match := _CELL.match(line))}  # fmt: skip


_CELL = re.compile(r'cell ("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")')


def _cell_start(op: str, element_type: str) -> str:
    return f"{op} {element_type}"


def _change_problem(group: ChangeGroup, db: str, file: str, lines: dict[str, int]) -> Problem:
    first = group.changes[0]
    types = ", ".join(group.element_types)
    before = f"{group.before} in the baseline, " if first.before else ""
    replay = f"; {findings.replay_command(first.record, db)}" if first.record else ""
    said = f": {group.message}" if group.message else ""
    start = _cell_start(json.dumps(first.op), json.dumps(first.element_type))
    return Problem(
        text.clip_line(f"{group.kind.value}: {group.op} on {group.backend}"),
        text.clip_line(f"{group.cases} of {types}: {before}{group.after}{said}{replay}", 1_000),
        "/".join((group.kind.value, group.op, group.backend, group.before, group.after)),
        group.kind is Kind.LOST,
        file,
        lines.get(start, 1),
    )


def _group_problem(group: findings.CaseGroup) -> Problem:
    first, replay = group.findings[0].record, group.findings[0].command
    ops, types = ", ".join(group.ops), ", ".join(group.element_types)
    verdict = squares.words(group.verdict)
    count = text.plural(len(group.findings), "case")
    return Problem(
        text.clip_line(f"new: {ops} on {group.backend}: {verdict}"),
        text.clip_line(f"{count} of {types}: {first.message or group.kind}; {replay}", 1_000),
        "/".join(("new", ops, group.backend, verdict, group.kind)),
    )


def github(found: Sequence[Problem]) -> Iterator[str]:
    """Yield GitHub's workflow commands; each annotates the cell's line in the baseline, or the
    job."""
    for one in found[:ANNOTATIONS]:
        at = f"file={_property(one.file)},line={one.line}," if one.file else ""
        yield f"::error {at}title={_property(one.title)}::{_data(one.message)}"
    left = len(found) - ANNOTATIONS
    if left > 0:
        yield f"::warning title=hlo-conformance::{left} more groups of failures are in the report"


def _data(given: str) -> str:
    """Escape text so that it neither ends the command nor begins another."""
    return given.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(given: str) -> str:
    return _data(given).replace(":", "%3A").replace(",", "%2C")


def gitlab(found: Sequence[Problem]) -> str:
    """Return GitLab's code quality report.

    The fingerprint of a problem is the same in every run, so GitLab shows the problems that a merge
    request adds.
    """
    issues = [
        {
            "description": f"{one.title}: {one.message}",
            "check_name": "hlo-conformance",
            "fingerprint": hashlib.sha256(one.key.encode("utf-8", "backslashreplace")).hexdigest(),
            "severity": "critical" if one.is_loss else "major",
            "location": {"path": one.file or "hlo-conformance", "lines": {"begin": one.line}},
        }
        for one in found
    ]
    return json.dumps(issues, indent=1) + "\n"


def write_for(
    ci: str,
    run: RunData,
    out: Path,
    comparison: Comparison | None,
    *,
    summary: str = "",
    root: str = "",
    at: Path | None = None,
) -> list[str]:
    """Write the failures of a run for a CI system, and return the lines that it reads from the
    output.

    `ci` is "github" or "gitlab"; other values write nothing. `out`/summary.md is appended to
    GitHub's job summary, the file `summary`. `root` is the folder of the repository, to which paths
    are relative. `at` is the folder in which `replay` finds the run, if it is not `out`.

    Raises:
        OSError: if a file cannot be written.
    """
    if ci not in ("github", "gitlab"):
        return []
    found = problems(run, comparison, findings.db_of(at or out), root)
    if ci == "gitlab":
        (out / "codequality.json").write_text(gitlab(found), encoding="utf-8")
        return []
    if summary:
        told = (out / "summary.md").read_bytes()[:SUMMARY_LIMIT].decode("utf-8", "ignore")
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(told)
    return [*github(found)]
