"""Reports beside the page: JUnit XML, Markdown and messages of a CI system."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from conformance.catalog import CATALOG
from conformance.verdict import Detail, Element, Record, Verdict
from reports import annotations, findings, junit, markdown, view
from suites.meta.support import synthetic_run as synthetic


@pytest.mark.slow
def test_junit_counts_and_kinds(tmp_path, runs):
    junit.render(runs["full"], tmp_path)
    parsed = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    totals = view.build(runs["full"]).totals
    assert parsed.tests == totals.planned
    known = totals.cells_failing - totals.cells_new
    untried = totals.unsupported + totals.not_judged + totals.untested
    suites = list(parsed)
    assert sum(suite.skipped for suite in suites) == untried + known
    assert {prop.name for prop in suites[0].properties()} >= {"seed", "tolerance"}
    assert [suite.name for suite in suites] == list(CATALOG)
    cases = [case for suite in suites for case in suite]
    assert len(cases) == totals.planned
    failing = [case for case in cases if any(isinstance(r, Failure) for r in case.result)]
    assert len(failing) == totals.cells_new
    assert parsed.failures == totals.cells_new
    assert "".join(case.result[0].text for case in failing).count("replay: ") == totals.new
    skipped = {r.type for c in cases for r in c.result if isinstance(r, Skipped)}
    assert skipped == {"unsupported", "not_judged", "untested", "known"}
    reasons = [r.message for c in cases for r in c.result if r.type == "known"]
    assert any(reason.startswith("f8-rounding: ") for reason in reasons)
    assert any("known by f8-rounding" in (c.system_out or "") for c in cases)
    assert "replay: hlo-conformance replay" in failing[0].result[0].text


def test_failure_of_a_cell_has_its_cases_with_inputs_and_results(runs):
    element = Element(0, (2,), "1.0", "0x3F", "2.0", "0x40", 7.0, (("lhs", "3.0", "0x41"),))
    detail = Detail("func.func @main", b"", 1, 4, (element,))
    first, second = (
        Record("add", "f32", "cpu", index, "d", verdict, message=f"m{index}", detail=detail)
        for index, verdict in enumerate((Verdict.INACCURATE, Verdict.DIVERGENT))
    )
    run = replace(runs["passing"], records=(first, second))
    (case,) = [c for s in junit.document(run) for c in s if c.name == "add[f32]@cpu"]
    (failure,) = case.result
    assert failure.message == "2 cases: divergent: m1"
    assert failure.text.index("divergent: m1") < failure.text.index("inaccurate: m0")
    assert "[2]: lhs = 3.0 (0x41), expected 1.0 (0x3F), actual 2.0 (0x40), ulp 7" in failure.text
    assert "replay: hlo-conformance replay add-f32-cpu-0" in failure.text


def test_junit_of_hostile_text_is_valid_xml(tmp_path, runs):
    junit.render(runs["nasty"], tmp_path)
    root = ET.parse(tmp_path / "junit.xml").getroot()
    words = "".join(root.itertext())
    assert "]]>" in words
    assert "\\u001b[31m" in words
    assert max(len(failure.text) for failure in root.iter("failure")) < 2 * junit.TEXT_LIMIT
    assert {case.get("name") for case in root.iter("testcase")} >= {"tanh[f32]@cpu"}


def test_failed_batches_and_incidents_are_errors_in_a_suite_of_their_own(runs, tmp_path):
    junit.render(runs["partial"], tmp_path)
    suites = {suite.name: suite for suite in JUnitXml.fromfile(str(tmp_path / "junit.xml"))}
    crashed, known, refused, incident = [*suites.pop(junit.OUTSIDE)]
    assert crashed.name == "add bf16, f32@cpu"
    assert isinstance(crashed.result[0], Error)
    assert "add bf16, f32, 2 cases: crashed in 3 of 3 runs" in crashed.result[0].message
    assert [(r.type, r.message) for r in known.result] == [
        ("known", "slow-batch: A batch may wait for a lock.")
    ]
    assert refused.result[0].type == "unsupported"
    assert incident.result[0].message == "a defect of the harness"
    assert not any(
        isinstance(r, Error) for suite in suites.values() for c in suite for r in c.result
    )
    for name in ("full", "passing"):
        assert junit.OUTSIDE not in [suite.name for suite in junit.document(runs[name])]


def test_a_cell_that_the_budget_left_out_is_skipped_with_that_reason(runs):
    cases = {case.name: case for suite in junit.document(runs["partial"]) for case in suite}
    (skipped,) = cases["add[f32]@cpu"].result
    assert isinstance(skipped, Skipped)
    assert skipped.message == "untested: --budget left out up to 40 cases"
    partly = cases["exponential[bf16]@cpu"]
    assert not partly.result
    assert "--budget left out up to 2 cases" in partly.system_out
    assert "2 of 3 cases come from the cache" in cases["add[bf16]@cpu"].system_out


@pytest.mark.slow
def test_markdown_is_short_and_complete(runs):
    written = markdown.markdown(runs["full"])
    totals = view.build(runs["full"]).totals
    assert len(written) < 20_000
    assert written.startswith("# The cpu backend does not conform: ")
    assert f"| cells tested | {totals.tested:,} | {totals.planned:,} |" in written
    for title in ("## Verdicts", "## New divergences", "## Known divergences", "## Worst accuracy"):
        assert title in written
    assert "[more](<https://github.com/openxla/xla/issues/1>)" in written
    for block in re.findall(r"(?:^\|.*\n?)+", written, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_markdown_of_hostile_text_holds_no_markup(runs):
    written = markdown.markdown(runs["nasty"])
    assert not re.search(r"<(?!/?code>)[a-z!/]", re.sub(r"`[^`\n]*`", "", written))
    assert not re.search(r"\]\((?!<https?://)", written.replace("\\]", ""))
    assert all(c >= " " or c == "\n" for c in written)
    for line in written.splitlines():
        assert not line.startswith("|") or line.endswith(" |")


def test_the_summary_shows_failed_batches_left_out_cases_and_the_cache(runs):
    written = markdown.markdown(runs["partial"])
    assert "The run fails: 1 lost batch, 1 incident." in written.splitlines()[0]
    assert (
        "- cpu: 1 lost batch; the budget left out up to 42 cases of 2 cells; "
        "3 of 9 cases from the cache"
    ) in written
    assert "- gpu: 1 lost batch, known\n" in written
    assert "## Batches and incidents" in written
    assert "(known by `slow-batch`)" in written
    assert "- a defect of the harness" in written
    assert "## Batches" not in markdown.markdown(runs["full"])


def test_every_class_of_new_failures_is_a_problem() -> None:
    run = synthetic.run("full")
    new = [group for group in findings.groups(run, "") if group.status == findings.NEW]
    found = annotations.problems(run)
    assert len(found) == len(new) > annotations.ANNOTATIONS
    told = [*annotations.github(found)]
    assert len(told) == annotations.ANNOTATIONS + 1
    assert all(line.startswith("::error title=new%3A ") for line in told[:-1])
    left = len(new) - annotations.ANNOTATIONS
    assert told[-1] == (
        f"::warning title=hlo-conformance::{left} more groups of failures are in the report"
    )
    assert annotations.problems(synthetic.run("passing")) == []


def test_no_message_ends_a_command_or_begins_another() -> None:
    run = synthetic.run("nasty")
    bad = [
        replace(record, message="a\n::error::b\r::set-output name=x::%0A", known="")
        for record in run.records
    ]
    told = [*annotations.github(annotations.problems(replace(run, records=bad)))]
    assert told
    for line in told:
        assert "\n" not in line
        assert "\r" not in line
        assert re.match(r"::(error|warning) title=[^,:\n]*::", line)
    assert any("%250A" in line for line in told)


def test_code_quality_is_json_with_a_lasting_fingerprint() -> None:
    run = synthetic.run("full")
    issues = json.loads(annotations.gitlab(annotations.problems(run)))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) > 1
    for issue in issues:
        assert {"description", "check_name", "fingerprint", "severity", "location"} == issue.keys()
    fewer = replace(run, records=run.records[: len(run.records) // 2])
    some = {i["fingerprint"] for i in json.loads(annotations.gitlab(annotations.problems(fewer)))}
    assert some
    assert len(some & {issue["fingerprint"] for issue in issues}) >= len(some) // 2
    assert json.loads(annotations.gitlab(annotations.problems(synthetic.run("nasty"))))
