"""benchmarks/masking: corruptions, counts, and failures that shipped entries hide in a sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.masking import report
from benchmarks.masking.__main__ import main
from benchmarks.masking.changes import CHANGES
from benchmarks.masking.endings import ENDINGS
from benchmarks.masking.measuring import (
    Corruption,
    CorruptionOutcome,
    End,
    MaskingCounts,
    Settings,
    measure_endings,
    measure_results,
)
from benchmarks.masking.workers import chosen_cells, tasks_of
from reference.ir.types import Array

SAMPLE = ("add", "atan2", "dot_general", "gather", "log", "reduce", "reshape", "sort")

HIDES_ALL = """
[[known]]
id = "{op}-is-wrong"
op = "{op}"
reason = "any failure of the op, whatever it is"
"""

HIDES_VALUES = HIDES_ALL + 'verdicts = ["divergent", "inaccurate"]\n'


def measure_cells(ops: Sequence[str], types: Sequence[str], settings: Settings) -> MaskingCounts:
    """Measure two cases of each cell on the reference."""
    found = MaskingCounts()
    for cell in chosen_cells(ops, types, "reference", None, 0):
        tasks = tasks_of(cell, "smoke", 0, 2)
        found.add(measure_results(tasks, settings))
        found.add(measure_endings(tasks, settings))
    return found


@pytest.mark.slow
def test_shipped_cpu_entries_hide_few_wrong_results_and_no_other_ending() -> None:
    found = measure_cells(SAMPLE, ["f32", "bf16", "si32"], Settings(expectations="cpu"))
    results = [outcome for outcome in found.outcomes if outcome.change in CHANGES]
    share = report.known_share(results)
    assert share.of > 200
    assert share.percent <= 1.5, report.table_by_entry(results)
    endings = [outcome for outcome in found.outcomes if outcome.change in ENDINGS]
    assert len(endings) > 200
    assert report.known_share(endings).known == 0, report.table_by_entry(endings)


def test_failures_hidden_by_unpredicting_entry_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(HIDES_VALUES.format(op="reshape"))
    found = measure_cells(["reshape", "reverse"], ["si32"], Settings(expectations=str(file)))
    ends = {(outcome.op, outcome.change in CHANGES): set[End]() for outcome in found.outcomes}
    for outcome in found.outcomes:
        ends[outcome.op, outcome.change in CHANGES].add(outcome.end)
    assert ends == {
        ("reshape", True): {End.KNOWN}, ("reshape", False): {End.NEW},
        ("reverse", True): {End.NEW}, ("reverse", False): {End.NEW},
    }  # fmt: skip
    pairs = report.green_pairs(found.outcomes)
    assert {op for (op, _, _), green in pairs.items() if green} == {"reshape"}


def test_recording_leaves_nothing_known_of_what_an_entry_hides(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text(HIDES_VALUES.format(op="reshape"))
    settings = Settings((*CHANGES,), expectations=str(file), recorded=True)
    assert {outcome.end for outcome in measure_cells(["reshape"], ["si32"], settings).outcomes} == {
        End.NEW
    }


@pytest.mark.slow
@pytest.mark.x86
def test_known_divergences_of_a_recorded_backend_hide_no_wrong_results(tmp_path: Path) -> None:
    """Other values than recorded are new, also where an entry predicts no value."""
    out = tmp_path / "outcomes.json"
    line = ["--cells", "60", "--seed", "12", "--jobs", "1", "--recorded", "--changes", *CHANGES]
    assert main([*line, "--limit", "0", "--out", str(out)]) == 0
    found = [CorruptionOutcome(**one) for one in json.loads(out.read_text())["outcomes"]]
    assert len(found) > 200
    assert len(report.select_known_cases(found)) > 5


def outcomes(line: Sequence[str], out: Path, *, code: int) -> dict[str, list[dict[str, str]]]:
    """Run the command in one worker, see its exit code, and return what it writes as JSON."""
    assert main([*line, "--type", "f32", "--jobs", "1", "--out", str(out)]) == code
    return json.loads(out.read_text())


def test_cases_that_end_their_worker_have_endings_all_the_same(tmp_path: Path) -> None:
    line = ["--backend", "reference:abort", "--op", "add", "--op", "abs", "--cases", "2"]
    found = outcomes([*line, "--changes", "nan", "refused"], tmp_path / "out", code=0)
    assert {(one["op"], one["change"], one["end"]) for one in found["outcomes"]} == {
        ("add", "refused", "new"), ("abs", "refused", "new"),
    }  # fmt: skip
    assert len(found["without_results"]) == 4
    assert all("SIGABRT" in line for line in found["without_results"])


def test_cases_that_fail_new_as_they_are_are_named_and_left_out(tmp_path: Path) -> None:
    line = ["--backend", "reference:off_by_100_ulp@add", "--op", "add", "--changes", "nan"]
    found = outcomes(line, tmp_path / "out", code=0)
    assert not found["outcomes"]
    assert len(found["new_before"]) == 1


FLOAT, WHOLE = np.array([[1, 2, 4], [8, 16, 32]], np.float32), np.array([5, 6, 7, 9], np.int8)


@pytest.mark.parametrize(
    ("change", "given", "differing"),
    [
        ("64-ulp", FLOAT, 1), ("sign", FLOAT, 1), ("zero", FLOAT, 1), ("nan", FLOAT, 1),
        ("rolled", FLOAT, 6), ("swapped", FLOAT, 2), ("64-ulp", WHOLE, 1), ("sign", WHOLE, 1),
        ("zero", WHOLE, 1), ("last-bit", WHOLE, 1), ("tile", np.arange(64.0), 4),
        ("64-ulp", FLOAT.astype(np.complex64), 1), ("nan", FLOAT.astype(np.complex64), 1),
        ("infinity", FLOAT, 1), ("infinity", FLOAT.astype(np.complex64), 1), ("doubled", FLOAT, 1),
        ("doubled", WHOLE, 1), ("unfinished", np.arange(1.0, 65.0), 8), ("unfinished", WHOLE, 1),
        ("narrowed", FLOAT / 3, 6), ("narrowed", FLOAT.astype(np.complex64) / 3, 6),
        ("narrowed", np.array([5, 300, -7, -300], np.int16), 2),
    ],
)  # fmt: skip
def test_a_change_alters_as_many_elements_as_it_says(
    change: str, given: Array, differing: int
) -> None:
    result = CHANGES[change](given, given, np.random.default_rng(0))
    assert result is not None
    assert (result.dtype, result.shape) == (given.dtype, given.shape)
    assert int((result != given).sum()) == differing


@pytest.mark.parametrize(
    ("change", "given"),
    [
        ("nan", WHOLE), ("last-bit", FLOAT), ("zero", np.zeros(3, np.float32)),
        ("sign", np.array([1, 2], np.uint8)), ("rolled", np.full(4, 7.0)), ("swapped", np.ones(5)),
        ("64-ulp", np.full(3, np.inf)), ("nan", np.full(3, np.nan)), ("tile", np.array(3.0)),
        ("infinity", WHOLE), ("infinity", np.full(3, np.nan)), ("doubled", np.zeros(3)),
        ("doubled", np.full(3, 100, np.int8)), ("narrowed", FLOAT), ("unfinished", np.zeros(3)),
        ("narrowed", np.full(3, np.inf)),
    ],
)  # fmt: skip
def test_a_change_that_would_leave_the_bits_equal_does_not_apply(change: str, given: Array) -> None:
    assert CHANGES[change](given, given, np.random.default_rng(0)) is None


def test_a_pattern_that_matches_nothing_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--op", "no_such_op"]) == 2
    assert "no_such_op" in capsys.readouterr().err


def test_elements_that_only_a_result_of_a_wrong_shape_has_fit_no_other() -> None:
    corruption = Corruption(0, 1, np.array([2, 5]), np.ones(2, np.float32))
    larger, right = ([[np.zeros(1), np.zeros(size, np.float32)]] for size in (6, 5))
    assert corruption.fits(larger)
    assert corruption.put(larger)[0][1].tolist() == [0, 0, 1, 0, 0, 1]
    assert not corruption.fits(right)
