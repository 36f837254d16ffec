"""Failures that vary, and what is new or lost against a baseline."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.campaign.planning import Options
from conformance.campaign.progress import Watcher
from conformance.campaign.repetition import join_records
from conformance.campaign.runner import run
from conformance.errors import UsageError
from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.comparison import compare
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.expectations import Expectation, match_record
from conformance.gate.reading import ExpectationError
from conformance.results.lines import lines_of
from conformance.results.store import FILE_NAME, Store
from conformance.results.summary import RunData
from conformance.verdict import Failing, LostBatch, Record, Verdict
from suites.meta.support.one_task import Hearing

FLAKY = """
[[known]]
id = "now-and-then"
op = "negate"
kinds = ["not deterministic", "wrong value", "sign", "NaN", "infinity"]
flaky = true
reason = "It reads memory that is not its own."
"""


class Listener(Watcher):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, line: str) -> None:
        self.said.append(line)


def options_of_negate(out: Path, fault: str = "right", **given) -> Options:
    made = Options(out, (f"reference:{fault}",), ("negate",), ("f32",), "smoke", jobs=1)
    return replace(made, **{"expectations": "none", **given})


def as_if(done: RunData, out: Path, verdict: Verdict, kind: str) -> None:
    """Change the stored results of a run, as if its cases had ended otherwise by chance."""
    changed = [
        replace(record, verdict=verdict, kind=kind, message="", failing=())
        for record in done.records
    ]
    with Store(out / FILE_NAME) as store:
        store.settle(changed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("entries", "is_same", "varying"), [("none", True, True), (FLAKY, False, False)]
)
def test_what_differs_from_run_to_run_is_not_lost(
    tmp_path: Path, entries: str, is_same: bool, varying: bool
) -> None:
    """A baseline of a lucky run, and an unlucky run; on another library it needs an entry."""
    file = tmp_path / "flaky.toml"
    file.write_text(entries)
    good = run(options_of_negate(tmp_path / "good"))
    made = baseline_of(good if is_same else replace(good, digests={}))
    baseline, out, listener = ReadBaseline("base.txt", made), tmp_path / "now", Listener()
    as_if(run(options_of_negate(out)), out, Verdict.DIVERGENT, "wrong value")
    given = options_of_negate(
        out, baseline=baseline, expectations=str(file) if entries == FLAKY else "none"
    )
    done = run(given, listener)
    assert done.exit_code == 0
    assert listener.said == [f"running {len(done.records)} cases again, as the baseline differs"]
    for record in done.records:
        assert (record.verdict, record.kind) == (Verdict.DIVERGENT, NOT_DETERMINISTIC)
        assert record.repeats is not None
        assert (record.repeats.failed, record.repeats.runs) == (1, 4)
        assert record.known == ("now-and-then" if entries == FLAKY else "")
    told = compare(done, baseline)
    assert (told.changes, len(told.varying)) == ((), len(done.records) if varying else 0)
    run(given, listener)
    assert len(listener.said) == 1  # nothing is run again twice


@pytest.mark.slow
def test_other_wrong_values_of_the_same_backend_are_changed(tmp_path: Path) -> None:
    """An entry matches any failure of the op, and the wrong element moves."""
    file = tmp_path / "any.toml"
    file.write_text('[[known]]\nid = "any"\nop = "negate"\nreason = "Of any failure."\n')
    known = {"expectations": str(file)}
    given = options_of_negate(tmp_path / "then", "one_wrong_element", **known)
    then = run(given)
    assert all(record.known and record.wrong_digest for record in then.records)
    baseline = ReadBaseline("base.txt", baseline_of(then))
    same = run(replace(given, out=tmp_path / "same", baseline=baseline))
    assert {*same.recorded} == {record.id for record in same.records}
    assert same.exit_code == 0
    unmatched = replace(given, out=tmp_path / "none", baseline=baseline, expectations="none")
    assert run(unmatched).exit_code == 0  # the recording is enough
    now = options_of_negate(tmp_path / "now", "off_by_one_last_element", **known)
    digests = {name: {"digest": digest} for name, digest in run(now).digests.items()}
    as_same = ReadBaseline("base.txt", replace(baseline.baseline, backends=digests))
    done = run(replace(now, baseline=as_same))
    assert not any(record.is_new_failure for record in done.records)
    assert done.exit_code == 1


def test_ends_are_compared_by_what_no_entry_matches() -> None:
    """A stored record shows the class that no entry matches, a new one the gravest class."""
    wrong, small = (
        Failing(Verdict.DIVERGENT, "NaN", "", 1),
        Failing(Verdict.INACCURATE, "accuracy", "in part", 1),
    )
    again = Record("negate", "f32", "cpu", 0, "", Verdict.DIVERGENT, "NaN", failing=(wrong, small))
    entry = Expectation("e", ("negate",), "r", kinds=("NaN",))
    first = match_record(again, [entry])
    assert (first.verdict, first.kind) == (Verdict.INACCURATE, "accuracy")
    assert join_records(first, [again], [entry]) == first
    right = replace(again, verdict=Verdict.PASS, kind="", failing=())
    joined = join_records(first, [again, right], [entry])
    assert (joined.verdict, joined.kind) == (Verdict.INACCURATE, NOT_DETERMINISTIC)
    assert joined.message == "in 2 of 3 runs: in part"
    moved = replace(again, wrong_digest="2" * 16)
    assert join_records(first, [moved], [entry]).kind == NOT_DETERMINISTIC
    unsupported = replace(right, verdict=Verdict.UNSUPPORTED)
    assert join_records(unsupported, [right], [entry]) == right


KINDS = 'kinds = ["operands swapped"]'
BARE = f"""
[[known]]
id = "swapped"
op = "subtract"
{KINDS}
reason = "lhs and rhs are swapped."
"""
PROGRAM = """
[known.counterexample]
program = '''
func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.subtract %x, %y : tensor<f32>
  return %0 : tensor<f32>
}
'''
inputs = ["1.0", "2.0"]
"""
SHOWN = BARE + PROGRAM
MENDED = """
[[known]]
id = "mended"
op = "subtract"
kinds = ["NaN"]
reason = "Nothing shows it."
[known.counterexample]
program = '''
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.subtract %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
'''
inputs = ["1.0"]
"""


def options(out: Path, fault: str, ops: tuple[str, ...]) -> Options:
    return Options(out, (f"reference:{fault}",), ops, ("f32",), "smoke", jobs=1)


@pytest.mark.slow
def test_fixed_counterexample_is_reported_and_fails_strict_run(
    tmp_path: Path,
) -> None:
    file = tmp_path / "known.toml"
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    given = replace(given, expectations=str(file))
    for text, ids in ((SHOWN, ()), (SHOWN + MENDED, ("mended",))):
        file.write_text(text)
        for strict in (False, True):
            known = run(replace(given, strict=strict))
            assert (known.stale, known.fixed) == (ids, ids)
            assert known.exit_code == (1 if strict and ids else 0)
        shown = [line for line in lines_of(known, "") if line.startswith("fixed")]
        assert len(shown) == len(ids)
    assert shown[0].endswith(": mended")
    assert known.summary["fixed_expectations"] == ["mended"]


@pytest.mark.slow
def test_a_counterexample_that_fails_otherwise_is_stale_and_not_fixed(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(SHOWN.replace(KINDS, 'kinds = ["NaN"]'))
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    known = run(replace(given, expectations=str(file)))
    assert (known.stale, known.fixed) == (("swapped",), ())


def test_entry_about_timeouts_is_never_replayed_in_a_run(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(
        SHOWN + MENDED.replace("kinds", 'verdicts = ["timed_out"]\nwords = ["no answer"]\nkinds')
    )
    given = options(tmp_path / "out", "transposed_operands", ops=("subtract",))
    known = run(replace(given, expectations=str(file), strict=True))
    assert (known.stale, known.exit_code) == ((), 0)


@pytest.mark.slow
def test_unreadable_counterexample_is_reported_and_refused_by_strict(
    tmp_path: Path,
) -> None:
    file = tmp_path / "known.toml"
    file.write_text(SHOWN + MENDED.replace('["1.0"]', '["1.0", "2.0"]'))
    given = options(tmp_path / "out", "right", ops=("subtract",))
    given = replace(given, expectations=str(file))
    heard = Hearing()
    assert run(given, heard).fixed == ()
    said = "the counterexample of expectation 'mended': its program takes 1 inputs, and 2 are given"
    assert said in heard.said
    with pytest.raises(UsageError, match="its program takes 1 inputs"):
        run(replace(given, strict=True))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("BARE", "--strict: no counterexample in entry 'swapped' .*known.toml"),
        ("TODO", "--strict: the reason of entry 'swapped' .*known.toml.* is still TODO"),
    ],
)
def test_unfinished_entry_is_refused_by_strict_before_the_run(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "known.toml"
    file.write_text(BARE if text == "BARE" else SHOWN.replace("lhs and rhs are", "todo: are they"))
    given = options(tmp_path / "out", "right", ops=("subtract",))
    with pytest.raises(ExpectationError, match=said):
        run(replace(given, expectations=str(file), strict=True))
    assert not (tmp_path / "out").exists()


ENTRY = """
[[known]]
id = "now-and-then"
op = "add"
{}
reason = "It fails now and then."
"""
VARYING = """
[known.counterexample]
program = '''
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
'''
inputs = ["1.0"]
"""


def options_of_add(out: Path, fault: str, **given) -> Options:
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
    done = run(options_of_add(tmp_path, fault))
    assert done.exit_code == 1
    for record in done.records:
        assert (record.verdict, record.kind) == (verdict, NOT_DETERMINISTIC)
        assert record.message == f"in 2 of 4 runs: {words}"
        assert record.repeats is not None
        assert (record.repeats.failed, record.repeats.runs) == (2, 4)
    count = len(done.records)
    assert done.summary["not_deterministic"] == count
    assert f"not deterministic: {count} cases did not fail every time" in lines_of(done, "{}")
    again = run(options_of_add(tmp_path / "6", fault, repeats=6)).records[0].repeats
    assert again is not None
    assert (again.failed, again.runs) == (4, 7)


def test_a_flaky_entry_is_never_stale(tmp_path: Path) -> None:
    for flaky, stale in (("flaky = true", ()), ("", ("now-and-then",))):
        given = write_entry(tmp_path, f'kinds = ["NaN"]\n{flaky}', VARYING)
        out = tmp_path / f"out{len(stale)}"
        done = run(options_of_add(out, "right", expectations=given, strict=True))
        assert (done.stale, done.exit_code) == (stale, len(stale))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words"),
    [("error_together", "INTERNAL: too many functions"), ("abort_together", "SIGABRT")],
)
def test_failure_of_whole_batch_only_fails_the_run(tmp_path: Path, fault: str, words: str) -> None:
    done = run(options_of_add(tmp_path, fault))
    assert {record.verdict for record in done.records} == {Verdict.PASS}
    for lost in done.lost_batches:
        assert (lost.failed, lost.runs) == (4, 4)
        assert words in lost.message
    assert done.incidents == tuple(lost.line for lost in done.lost_batches) != ()
    assert done.exit_code == 1
    assert run(options_of_add(tmp_path, fault)).incidents == done.incidents  # nothing is left to do
    told = json.loads(json.dumps(done.summary))["lost_batches"]
    assert [one["cells"] for one in told] == [batch.name for batch in done.lost_batches]


def test_a_lost_batch_is_kept_when_the_run_is_killed_over_its_cases(tmp_path: Path) -> None:
    given = options_of_add(tmp_path, "right")
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
