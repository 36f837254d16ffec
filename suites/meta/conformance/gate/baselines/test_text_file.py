"""Baselines as files: the same when read again, stable, and refused in one line when damaged."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.gate.baselines.baseline import baseline_of, read_baseline
from conformance.gate.baselines.text_file import (
    Baseline,
    BaselineError,
    Case,
    CaseOutcome,
    baseline_text,
    write,
)
from conformance.results.store import FILE_NAME
from conformance.verdict import Verdict
from suites.meta.support import synthetic_run as synthetic

ADD = ("add", "f32", "plugin:mine")
SIGN = CaseOutcome(Verdict.DIVERGENT, "sign")
IDS = ("add-sign", 'of "x"')
MADE = Baseline(
    "smoke", 7, "abc", {"jaxlib": "0.10"}, {"plugin:mine": {"library": "1f"}, "cpu": {}},
    {
        ADD: {
            0: Case("aaaa", CaseOutcome(Verdict.PASS)),
            2: Case("bbbb", CaseOutcome(Verdict.INACCURATE, 'a "quoted"\nclass', False, 3.5)),
            3: Case("cccc", CaseOutcome(Verdict.CRASHED, "abnormal exit", True)),
            4: Case("dddd", CaseOutcome(Verdict.UNSUPPORTED)),
            5: Case("eeee", CaseOutcome(Verdict.CRASHED, "not deterministic", True, flaky=True)),
            6: Case("ffff", replace(SIGN, known=True, wrong_digest="ab" * 8, entries=IDS)),
            7: Case("0000", replace(SIGN, wrong_digest="0123456789012345")),
        },
        ("Reshape (explicit)", "q<si8:f32:axis>", "cpu"): {
            0: Case("eeee", CaseOutcome(Verdict.PASS))
        },
    },
)  # fmt: skip


@pytest.mark.slow
def test_written_baseline_is_read_back(tmp_path: Path) -> None:
    write(MADE, tmp_path / "new" / "base.txt")
    assert read_baseline(tmp_path / "new" / "base.txt").baseline == MADE
    for name in synthetic.RUNS:
        run = synthetic.run(name)
        records = [replace(one, digest=f"{number:08x}") for number, one in enumerate(run.records)]
        made = baseline_of(replace(run, records=records))
        write(made, tmp_path / "run.txt")
        assert read_baseline(tmp_path / "run.txt").baseline == made


def test_file_without_digests_of_wrong_elements_is_read(tmp_path: Path) -> None:
    path = tmp_path / "base.txt"
    older = re.sub(" (wrong|by) .*", "", baseline_text(MADE)).replace("format 3", "format 2")
    path.write_text(older)
    read = read_baseline(path).baseline.cells[ADD]
    assert read[6].outcome == replace(SIGN, known=True)
    assert {case.outcome.wrong_digest for case in read.values()} == {""}


def test_a_loss_is_one_line_in_a_diff() -> None:
    cases = {**MADE.cells[ADD], 0: Case("aaaa", CaseOutcome(Verdict.UNSUPPORTED))}
    lost = replace(MADE, cells={**MADE.cells, ADD: cases})
    before, after = (baseline_text(one).splitlines() for one in (MADE, lost))
    assert [line for line in after if line not in before] == ["  0 unsupported"]
    assert [line for line in before if line not in after] == []


def test_the_order_is_that_of_names() -> None:
    turned = replace(MADE, cells=dict(reversed(MADE.cells.items())),
                     backends=dict(reversed(MADE.backends.items())))  # fmt: skip
    assert baseline_text(turned) == baseline_text(MADE)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("format 3", "format 4"), "has format 4"),
        (lambda _: "", "is not a baseline"),
        (lambda _: "[[known]]\n", "is not a baseline"),
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: text.rpartition("total")[0], "its last line is missing"),
        (lambda text: text.replace("  4 unsupported\n", "").replace("dddd", ""), "cannot be"),
        (lambda text: text.replace("  4 unsupported", "  9 unsupported"), "line 14 cannot be"),
        (lambda text: text.replace("  4 unsupported", "  4 sleepy"), "cannot be: '4 sleepy'"),
        (lambda text: text.replace("seed 7", "<<<<<<< HEAD\nseed 7"), "is a merge conflict"),
        (lambda text: text + "cell\n", "cannot be: 'cell'"),
        (lambda text: text.replace('backend "cpu"', ""), "cannot be"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, change, said: str) -> None:
    path = tmp_path / "base.txt"
    path.write_text(change(baseline_text(MADE)))
    assert path.read_text() != baseline_text(MADE)
    with pytest.raises(BaselineError, match=said) as refused:
        read_baseline(path)
    told = str(refused.value)
    assert str(path) in told
    assert "\n" not in told
    assert "hlo-conformance baseline write RUN --out" in told


def test_missing_or_binary_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for path, said in (
        (tmp_path / "none.txt", "there is no baseline"),
        (tmp_path / "bytes", "is not a baseline"),
        (tmp_path, "there is no"),
        (tmp_path / FILE_NAME, "there is no"),
    ):
        with pytest.raises(BaselineError, match=said):
            read_baseline(path)
