"""JUnit: valid whatever a backend says, complete in its counts."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

from junitparser import Failure, JUnitXml, Skipped

from conformance.catalog import CATALOG
from reports import junit, view


def test_junit_counts_and_kinds(tmp_path, runs):
    junit.render(runs["full"], tmp_path)
    parsed = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    totals = view.build(runs["full"]).totals
    assert parsed.tests == totals.planned
    known = totals.cells_failing - totals.cells_new
    assert parsed.skipped == totals.unsupported + totals.untested + known
    suites = list(parsed)
    assert [suite.name for suite in suites] == list(CATALOG)
    cases = [case for suite in suites for case in suite]
    assert len(cases) == totals.planned
    failing = [case for case in cases if any(isinstance(r, Failure) for r in case.result)]
    assert len(failing) == totals.cells_new
    assert sum(len(case.result) for case in failing) == totals.new
    skipped = {r.type for c in cases for r in c.result if isinstance(r, Skipped)}
    assert skipped == {"unsupported", "untested", "known"}
    reasons = [r.message for c in cases for r in c.result if r.type == "known"]
    assert any(reason.startswith("f8-rounding: ") for reason in reasons)
    assert any("known by f8-rounding" in (c.system_out or "") for c in cases)
    assert "replay: hlo-conformance replay" in failing[0].result[0].text


def test_junit_of_hostile_text_is_valid_xml(tmp_path, runs):
    junit.render(runs["nasty"], tmp_path)
    root = ET.parse(tmp_path / "junit.xml").getroot()
    words = "".join(root.itertext())
    assert "]]>" in words
    assert "\\u001b[31m" in words
    assert max(len(failure.text) for failure in root.iter("failure")) < 2 * junit.TEXT_LIMIT
    assert {case.get("name") for case in root.iter("testcase")} >= {"tanh[f32]@cpu"}


def test_junit_leaves_out_what_was_filtered(tmp_path, runs):
    junit.render(runs["passing"], tmp_path)
    root = ET.parse(tmp_path / "junit.xml").getroot()
    assert [case.get("name") for case in root.iter("testcase")] == [
        "add[bf16]@cpu", "add[f32]@cpu", "exponential[bf16]@cpu", "exponential[f32]@cpu",
    ]  # fmt: skip


def test_junit_has_the_seconds_of_each_cell(runs):
    run = replace(runs["passing"], cell_seconds={("add", "f32", "cpu"): 1.23456})
    seconds = {case.name: case.time for suite in junit.document(run) for case in suite}
    assert seconds["add[f32]@cpu"] == 1.235
    assert sum(seconds.values()) == 1.235
