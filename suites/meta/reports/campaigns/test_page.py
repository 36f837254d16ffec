"""The page of a campaign shows findings, trials and coverage, and escapes all text."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.cli import app, exit_code_of
from conformance.fuzzing.command import Options, fuzz
from conformance.fuzzing.keeping.journal import FILE_NAME, StoredFinding
from conformance.fuzzing.keeping.summary import CampaignData, is_campaign, load
from reports.campaigns.page import html, write

EVIL = "<script>alert('x')</script>\u202e"

TOLD = {
    "operation": "multiply (line 3)",
    "votes": "reference and interpreter against the backend",
    "inputs": {"x": "f32[2]: 1.0, nan"},
    "elements": [
        {"result": 0, "index": [1], "expected": "7", "expected_bits": "0x40E00000",
         "actual": EVIL, "actual_bits": "0x00000000"},
    ],
    "attribution": {
        "vanishes": ["without pass algsimp"],
        "ways": {"without pass algsimp": "right", "without pass fusion": "wrong",
                 "without pass layout": "no answer"},
        "note": "nothing else was asked",
    },
}  # fmt: skip

NEW = StoredFinding(
    "multiply-1234", "divergent | NaN | multiply f32", "", "divergent", "NaN", "multiply f32", 1, 4,
    f"func.func @main() {EVIL}", f"first wrong {EVIL}", TOLD, "divergent | NaN | multiply", 7,
    {"multiply f32": 5, "multiply bf16": 2},
    {"divergent | NaN | multiply f32 | multiply f32,f32>f32": 2, "a | b | c | abs bf16>bf16": 1},
)  # fmt: skip
KNOWN = StoredFinding(
    "known: fold", "fold", "fold", "inaccurate", "", "power f16", 2, 4, "", "m", {}, "", 9
)

DATA = CampaignData(
    Path("somewhere"),
    {
        "identity": {"backend": "cpu", "seed": 4, "op": [], "version of jax": "0.12"},
        "backend": {"platform": "cpu", "device": "x", "versions": [["jaxlib", "0.12.0"]]},
        "started": "2026-01-02T03:04:05+00:00", "seconds": 61.0, "command": "hlo-conformance fuzz",
        "spelling": "cpu", "findings": "/some where/findings",
    },
    Counter({"pass": 100, "divergent": 7, "known inaccurate": 9, "only together": 2}),
    (NEW, KNOWN),
    frozenset({("add", "abs"), ("abs", "add"), ("constant", "add")}),
    12,
    ("abs", "add", "sort"),
)  # fmt: skip


def test_finding_is_shown_with_all_details() -> None:
    page = html(DATA)
    for part in (
        "1 finding on cpu", "118", "multiply (line 3)", "f32[2]: 1.0, nan", "0x40E00000",
        "reference and interpreter against the backend", "7 programs led to it",
        "<dt>Right</dt><dd>without pass algsimp</dd>",
        "<dt>Still wrong</dt><dd>without pass fusion",
        "<dt>No answer</dt><dd>without pass layout", "<dt>Note</dt><dd>nothing else was asked",
        "&#39;/some where/findings/multiply-1234&#39; --backend cpu", "divergent (NaN): multiply<",
        "jaxlib 0.12.0", "fold", "<dt>Element types</dt><dd>bf16, f32</dd>",
        "2 kinds of minimised programs", "<dt>Grouped by</dt><dd>divergent | NaN | multiply</dd>",
        "<code>multiply f32,f32&gt;f32</code>",
    ):  # fmt: skip
        assert part in page, part


def test_program_text_is_escaped() -> None:
    page = html(DATA)
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert") == 3
    assert "\u202e" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_a_campaign_without_findings_says_so() -> None:
    page = html(replace(DATA, findings=(), counts=Counter({"pass": 3})))
    assert "Nothing new found on cpu in 3 programs" in page
    assert "No finding is new." in page
    assert "No program was judged." in html(replace(DATA, findings=(), counts=Counter()))


@pytest.mark.slow
def test_campaign_and_report_write_the_same_page(tmp_path: Path, capsys) -> None:
    options = Options(
        tmp_path, "reference:floor_division", "60s", programs=32, ops=("divide",), jobs=1
    )
    assert fuzz(options, write) == 1
    assert f"report: {tmp_path / 'index.html'}" in capsys.readouterr().out
    first = (tmp_path / "index.html").read_text("utf-8")
    (finding, *_) = json.loads((tmp_path / "campaign.json").read_text())["findings"]
    assert finding["name"] in first
    assert "reference and interpreter against the backend" in first
    assert "takes no compiler options" in first
    other = tmp_path / "other"
    code = exit_code_of(
        lambda: app(["report", str(tmp_path), "--out", str(other)], standalone_mode=False)
    )
    assert code == 0
    assert (other / "index.html").read_text("utf-8") == first
    assert is_campaign(tmp_path / FILE_NAME)
    assert load(tmp_path / FILE_NAME) == load(tmp_path)
