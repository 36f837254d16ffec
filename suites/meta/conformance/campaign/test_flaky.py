"""Cases that fail sometimes, or only in a batch: reported, and matched by flaky entries only."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.campaign.planning import Options
from conformance.campaign.runner import run
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.results.lines import lines_of
from conformance.results.store import FILE_NAME, Store
from conformance.verdict import LostBatch, Verdict

ENTRY = """
[[known]]
id = "now-and-then"
op = "add"
{}
reason = "It fails now and then."
"""
PROGRAM = """
[known.counterexample]
program = '''
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
'''
inputs = ["1.0"]
"""
ERRORS = 'verdicts = ["crashed"]\nkinds = ["internal error"]\nwords = ["out of luck"]'


def options(out: Path, fault: str, **given) -> Options:
    made = Options(out, (f"reference:{fault}",), ("add",), ("f32", "si8"), "smoke", jobs=1)
    return replace(made, **given)


def write_entry(tmp_path: Path, keys: str, more: str = "") -> str:
    file = tmp_path / "known.toml"
    file.write_text(ENTRY.format(keys) + more)
    return str(file)


@pytest.mark.parametrize(
    ("fault", "verdict", "words"),
    [
        ("error_now_and_then", Verdict.CRASHED, "INTERNAL: out of luck"),
        ("reject_now_and_then", Verdict.REJECTED, "refused today"),
    ],
)
def test_flaky_case_is_reported_and_fails_the_run(
    tmp_path: Path, fault: str, verdict: Verdict, words: str
) -> None:
    done = run(options(tmp_path, fault))
    assert done.exit_code == 1
    for record in done.records:
        assert (record.verdict, record.kind) == (verdict, NOT_DETERMINISTIC)
        assert record.message == f"in 2 of 4 runs: {words}"
        assert record.repeats is not None
        assert (record.repeats.failed, record.repeats.runs) == (2, 4)
    count = len(done.records)
    assert done.summary["not_deterministic"] == count
    assert f"not deterministic: {count} cases did not fail every time" in lines_of(done, "{}")
    again = run(options(tmp_path / "6", fault, repeats=6)).records[0].repeats
    assert again is not None
    assert (again.failed, again.runs) == (4, 7)


def test_a_flaky_entry_is_never_stale(tmp_path: Path) -> None:
    for flaky, stale in (("flaky = true", ()), ("", ("now-and-then",))):
        given = write_entry(tmp_path, f'kinds = ["NaN"]\n{flaky}', PROGRAM)
        out = tmp_path / f"out{len(stale)}"
        done = run(options(out, "right", expectations=given, strict=True))
        assert (done.stale, done.exit_code) == (stale, len(stale))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [("error_together", "INTERNAL: too many functions"), ("abort_together", "SIGABRT")],
)
def test_failure_of_whole_batch_only_fails_the_run(tmp_path: Path, fault: str, words: str) -> None:
    done = run(options(tmp_path, fault))
    assert {record.verdict for record in done.records} == {Verdict.PASS}
    for lost in done.lost_batches:
        assert (lost.failed, lost.runs) == (4, 4)
        assert words in lost.message
    assert done.incidents == tuple(lost.line for lost in done.lost_batches) != ()
    assert done.exit_code == 1
    assert run(options(tmp_path, fault)).incidents == done.incidents  # nothing is left to do
    told = json.loads(json.dumps(done.summary))["lost_batches"]
    assert [one["cells"] for one in told] == [one.name for one in done.lost_batches]


@pytest.mark.parametrize(
    ("words", "flaky", "code"),
    [
        ("too many functions", "", 0),
        ("too many functions", "flaky = true", 0),
        ("too many cooks", "", 1),
        ("too many cooks", "flaky = true", 1),
    ],
)
def test_entry_with_its_words_matches_lost_batch(
    tmp_path: Path, words: str, flaky: str, code: int
) -> None:
    keys = ERRORS.replace("out of luck", words)
    given = write_entry(tmp_path, f"{keys}\n{flaky}")
    done = run(options(tmp_path / "out", "error_together", expectations=given))
    assert done.exit_code == code
    assert {one.known for one in done.lost_batches} == {"" if code else "now-and-then"}
    told = [line for line in lines_of(done, "") if line.startswith("known by now-and-then: lost")]
    assert bool(told) == (not code)


def test_a_lost_batch_is_kept_when_the_run_is_killed_over_its_cases(tmp_path: Path) -> None:
    given = options(tmp_path, "right")
    run(given)
    cases = (("add", "f32", 0),)
    batch = LostBatch(
        "reference:right", cases, Verdict.CRASHED, "abnormal exit", "the process ended"
    )
    with Store(tmp_path / FILE_NAME) as store:
        store.keep_lost([batch])
        store.keep_lost([replace(batch, runs=4)])
        assert store.lost_batches() == [replace(batch, runs=4)]
    done = run(given)
    assert done.exit_code == 1
    assert "crashed in 1 of 4 runs" in done.incidents[0]
