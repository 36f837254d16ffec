"""CI systems get each group once, in a form that no message breaks."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from reports import annotations, findings
from suites.meta.support import synthetic_run as synthetic


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


def test_failed_batches_and_incidents_are_problems() -> None:
    batch, incident = annotations.problems(synthetic.run("partial"))
    assert batch.title == "new: batch of add bf16, f32 on cpu"
    assert "crashed in 3 of 3 runs" in batch.message
    assert incident.message == "a defect of the harness"
