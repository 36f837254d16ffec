"""The JUnit report, for continuous integration: a suite per op, a test case per cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from conformance.gate.baselines.comparison import REGRESSIONS, Change, Comparison
from conformance.gate.conclusion import outcome_words
from conformance.judging.messages import additional_failure_line
from conformance.results.remarks import is_new, other_incidents
from conformance.results.summary import RunData
from conformance.verdict import LostBatch, Record
from reports import findings, squares, text, view
from reports.squares import Square
from reports.view import OpResults, View

FAILURES_PER_CELL = 20
TEXT_LIMIT = 4_000


def render(
    run: RunData, out: Path, comparison: Comparison | None = None, at: Path | None = None
) -> None:
    """Write `out`/junit.xml.

    Each cell is one test. It fails if it has new failures; the text of the failure lists their
    inputs, expected and actual results. With a baseline, it also fails if it has lost cases, and
    the baseline decides what is new. A cell with known failures only, or an unsupported or untested
    cell, is skipped with the reason. Filtered cells are left out. Incidents and lost batches are
    errors in a suite of their own. `at` is the folder in which `replay` finds the run, if it is not
    `out`.

    Raises:
        OSError: if the folder cannot be written.
    """
    write(view.build(run, findings.db_of(at or out), comparison), out)


def write(seen: View, out: Path) -> None:
    """Write `out`/junit.xml from the view of a run.

    Raises:
        OSError: when the folder cannot be written.
    """
    # junitparser's own pretty printer takes ten times as long
    root = ET.fromstring(_document(seen).tostring())  # noqa: S314 - written just now
    root.attrib.pop("skipped")  # Jenkins' schema has this count on suites only
    ET.indent(root)
    ET.ElementTree(root).write(out / "junit.xml", "utf-8", xml_declaration=True)


def document(run: RunData, db: str = "", comparison: Comparison | None = None) -> JUnitXml:
    """Return the report as junitparser's document; `db` is the folder for `replay`."""
    return _document(view.build(run, db, comparison))


def _document(seen: View) -> JUnitXml:
    run = seen.run
    root = JUnitXml("hlo-conformance")
    for op in seen.ops:
        if op.is_planned:
            root.add_testsuite(_suite(seen, op))
    if run.lost_batches or run.incidents:
        root.add_testsuite(_batch_test_cases(seen))
    root.update_statistics()
    return root


OUTSIDE = "batches and incidents"
"""The suite for results that belong to no cell."""


def _batch_test_cases(seen: View) -> TestSuite:
    """Return the batches that failed as a whole, and the incidents, as test cases."""
    suite = TestSuite(OUTSIDE)
    suite.add_testcases([_batch(batch, seen) for batch in seen.run.lost_batches])
    for index, incident in enumerate(other_incidents(seen.run), 1):
        case = TestCase(f"incident {index}", "conformance.incidents")
        case.result = [Error(text.clip_line(incident), "incident")]
        suite.add_testcase(case)
    return suite


def _batch(batch: LostBatch, seen: View) -> TestCase:
    """Return a lost batch as an error if it fails the run, otherwise as skipped with the reason."""
    name = text.clip_line(f"{batch.name}@{batch.backend}")
    case = TestCase(name, f"conformance.{text.slug(batch.backend)}.batches")
    if is_new(batch):
        case.result = [Error(text.clip_line(batch.line), batch.verdict.value)]
    elif batch.known:
        reason = findings.explanation(seen.run, batch.known)[0]
        case.result = [Skipped(text.clip_line(f"{batch.known}: {reason}"), "known")]
    else:
        case.result = [Skipped(text.clip_line(batch.line), batch.verdict.value)]
    return case


def _suite(seen: View, op: OpResults) -> TestSuite:
    suite = TestSuite(text.escape_controls(op.name))
    if seen.run.started:
        suite.timestamp = text.clip_line(seen.run.started)
    facts = {
        "seed": str(seen.run.seed), "profile": seen.run.profile, "command": seen.run.command,
        "family": op.family, "tolerance": op.rule, **seen.run.versions,
    }  # fmt: skip
    for name, value in facts.items():
        suite.add_property(text.clip_line(name), text.clip_line(value))
    suite.add_testcases([_case(c, seen) for c in op.cells if c.state != squares.FILTERED])
    return suite


def _case(cell: Square, seen: View) -> TestCase:
    name = text.escape_controls(f"{cell.op}[{cell.element_type}]@{cell.backend}")
    case = TestCase(name, f"conformance.{text.slug(cell.backend)}.{text.slug(cell.op)}")
    if cell.key in seen.run.cell_seconds:  # 0 is no time of what nobody timed
        case.time = round(seen.run.cell_seconds[cell.key], 3)
    failures = _failures(cell, seen)
    if failures:
        case.result = [_join_failures(failures)]
    elif cell.failing:
        case.result = [Skipped(text.clip_line(_explain_accepted(cell, seen)), "known")]
    elif not cell.is_tested:
        reason = cell.records[0].message if cell.records else _explain_untested(cell, seen)
        case.result = [Skipped(f"{cell.state}: {text.clip_line(reason)}", cell.state)]
    case.system_out = _output(cell, seen)
    return case


def _explain_untested(cell: Square, seen: View) -> str:
    return _left_out_text(cell, seen) or squares.MEANINGS[squares.UNTESTED]


def _left_out_text(cell: Square, seen: View) -> str:
    """Return the number of cases of a cell that `--budget` left out in words, "" for none."""
    count = seen.run.left_out_cases.get(cell.key, 0)
    return f"--budget left out up to {text.plural(count, 'case')}" if count else ""


@dataclass(frozen=True, slots=True)
class _FailingCase:
    """A case that fails the run: its verdict or its change, a message, and the details."""

    kind: str
    message: str
    details: str = ""


def _failures(cell: Square, seen: View) -> list[_FailingCase]:
    """Return what fails in a cell: new failures, or new and lost cases against the baseline."""
    if seen.comparison is None:
        failing = sorted(
            (record for record in cell.records if record.is_new_failure),
            key=lambda record: -record.verdict.severity,
        )
        return [
            _FailingCase(record.verdict.value, _message(record), _details(record, seen.db))
            for record in failing
        ]
    changes = seen.comparison.changes_by_cell.get(cell.key, [])
    return [_regression(change, seen.db) for change in changes if change.kind in REGRESSIONS]


def _regression(change: Change, db: str) -> _FailingCase:
    """Return a case that is new or lost against the baseline."""
    before = f"{outcome_words(change.before)} in the baseline, " if change.before else ""
    said = text.clip_line(f"{change.kind.value}: {before}{outcome_words(change.after)}")
    if change.record is not None:
        message = f"{said}: {text.clip_line(change.record.message)}"
        return _FailingCase(change.kind.value, message, _details(change.record, db))
    case = f": case {change.index}" if change.index is not None else ""
    return _FailingCase(change.kind.value, said + case)


def _join_failures(failing: Sequence[_FailingCase]) -> Failure:
    """Return the one failure of a cell, with the message of its first failing case."""
    first, several = failing[0], len(failing) > 1
    joined = Failure(
        f"{text.plural(len(failing), 'case')}: {first.message}" if several else first.message,
        first.kind,
    )
    parts = [f"{one.message}\n{one.details}".rstrip() for one in failing[:FAILURES_PER_CELL]]
    if len(failing) > FAILURES_PER_CELL:
        parts.append(f"{len(failing) - FAILURES_PER_CELL} more failures are in results.sqlite")
    joined.text = "\n\n".join(parts)
    return joined


def _explain_accepted(cell: Square, seen: View) -> str:
    """Return why a failing cell does not fail the run."""
    ids = dict.fromkeys(id_ for record in cell.records for id_ in record.expectation_ids)
    reasons = [f"{id_}: {findings.explanation(seen.run, id_)[0]}" for id_ in ids]
    if any(record.is_new_failure for record in cell.records):
        reasons.append("new, and fails as in the baseline")
    return "; ".join(reasons)


def _message(record: Record) -> str:
    kind = (
        f" ({text.clip_line(record.kind, 80)})" if record.kind not in ("", record.verdict) else ""
    )
    return f"{squares.words(record.verdict)}{kind}: {text.clip_line(record.message)}"


def _details(record: Record, db: str) -> str:
    """Return how to replay a failing case, its inputs, expected and actual results, and program."""
    lines = [f"replay: {findings.replay_command(record, db)}"]
    if record.detail is not None:
        for element in record.detail.elements:
            inputs = [f"{name} = {value} ({bits}), " for name, value, bits in element.inputs]
            lines.append(
                f"{list(element.index)}: {''.join(inputs)}"
                f"expected {element.expected} ({element.expected_hex}), "
                f"actual {element.actual} ({element.actual_hex}), ulp {text.ulp(element.ulp)}"
            )
        inputs = findings.inputs_beside_elements(record)
        lines += [f"{name} = {values} ({bits})" for name, values, bits in inputs]
        lines += [
            text.clip_line(additional_failure_line(failure)) for failure in record.further_failures
        ]
        lines.append(record.detail.program)
    shown, left = text.clip_lines(text.escape_controls("\n".join(lines)), TEXT_LIMIT)
    return shown + (f"\n... {left} more characters" if left else "")


def _output(cell: Square, seen: View) -> str:
    lines = [text.escape_controls(cell.label)]
    if left_out := _left_out_text(cell, seen):
        lines.append(left_out)
    if cached := seen.run.cached_cases.get(cell.key, 0):
        lines.append(f"{cached} of {text.plural(len(cell.records), 'case')} come from the cache")
    known = [r for r in cell.records if r.known and r.verdict.fails][:FAILURES_PER_CELL]
    lines += [text.clip_line(f"known by {r.known}: {r.id}: {r.message}") for r in known]
    return "\n".join(lines)
