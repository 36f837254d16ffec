"""Markdown and annotations of CI systems: short, complete, and without markup of others."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from reports import annotations, findings, markdown, view
from suites.meta.support import synthetic_run as synthetic


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
