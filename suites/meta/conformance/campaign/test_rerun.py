"""A recorded case run again in a worker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.campaign.recorded import RecordedCase, Replay
from conformance.campaign.rerun import crash_replay, rerun, text_of
from conformance.campaign.tasks import Task
from conformance.catalog import Cell
from conformance.executors.local import WorkerCrash, WorkerTimeout
from conformance.gate.classes import ONLY_IN_BATCH
from conformance.verdict import Record, Verdict
from generators.case.columns import INVALID
from reference.ir.types import element_type
from suites.meta.support.one_task import run_task
from suites.meta.support.small_programs import array

FAULTY = "reference:tanh_clamped"


def recorded_case(op: str, of: str, backend: str, index: int = 0, **given) -> RecordedCase:
    record = Record(op, of, backend, index, "0", Verdict.DIVERGENT, **given)
    return RecordedCase(record, 0, "smoke", backend)


def failing_record() -> Record:
    task = Task(Cell("tanh", element_type("f64"), FAULTY), 0, 0, 6)
    return next(one for one in run_task(task).records if one.verdict.fails)


def test_case_that_failed_fails_again_with_its_arrays() -> None:
    record = failing_record()
    found = rerun(RecordedCase(record, 0, "smoke", FAULTY), (), generic=True)
    assert (found.record.verdict, found.record.kind) == (record.verdict, record.kind)
    assert "stablehlo.tanh" in found.program
    ((name, of, _),) = found.arguments
    assert name
    assert of.endswith("f64>")
    ((result_type, expected, actual),) = found.results
    assert result_type.startswith("tensor<")
    assert expected != actual
    assert found.unit == "ulp"


def test_case_is_generated_again_from_its_seed_and_index() -> None:
    case = recorded_case("add", "f32", "reference")
    found, other = rerun(case, (), generic=True), rerun(replace(case, seed=1), (), generic=True)
    assert found.record.verdict is Verdict.PASS
    assert (found.program, found.arguments) != (other.program, other.arguments)
    assert all(expected == actual for _, expected, actual in found.results)


def test_failure_of_a_batch_is_run_with_its_batch() -> None:
    found = rerun(recorded_case("add", "f32", "reference", 1, kind=ONLY_IN_BATCH), (), generic=True)
    assert (found.record.element_type, found.record.index) == ("f32", 1)
    assert found.record.verdict is Verdict.PASS
    assert found.arguments == ()


def test_invalid_program_is_compiled_again() -> None:
    found = rerun(recorded_case("add", INVALID.name, "reference"), (), generic=True)
    assert found.record.element_type == INVALID.name


def test_program_is_printed_without_quotes_unless_generic() -> None:
    case = recorded_case("add", "f32", "reference")
    assert '"stablehlo.add"' in rerun(case, (), generic=True).program
    assert '"stablehlo.add"' not in rerun(case, (), generic=False).program


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [(WorkerCrash("SIGSEGV"), Verdict.CRASHED), (WorkerTimeout(60.0), Verdict.TIMED_OUT)],
)
def test_replay_of_a_crash_runs_nothing(
    reason: WorkerCrash | WorkerTimeout, verdict: Verdict
) -> None:
    found = crash_replay(recorded_case("add", "f32", "reference"), reason)
    assert isinstance(found, Replay)
    assert found.record.verdict is verdict
    assert found.results == ()


@pytest.mark.parametrize(
    ("values", "of", "text"),
    [
        ([1.5, -0.0], "f32", "[ 1.5 -0. ]"),
        ([0.1], "bf16", "[0.10009766]"),
        ([1.5], "f8E4M3FN", "[1.5]"),
        ([-3], "si4", "[-3]"),
        (2.0, "f64", "2."),
    ],
)
def test_arrays_are_decimal(values, of: str, text: str) -> None:
    assert text_of(array(values, of)) == text


def test_long_arrays_are_cut_and_foreign_types_are_named() -> None:
    assert "..." in text_of(array(range(61), "si32"))
    assert "..." not in text_of(array(range(60), "si32"))
    assert text_of(np.array(["a"])) == "an array of <U1"
