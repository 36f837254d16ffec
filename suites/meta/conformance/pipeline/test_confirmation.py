"""Confirmation: a failing case counts as what further runs in isolation show; known crashes."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.base import BackendError, Failed, Unsupported
from conformance.backends.session import open_session
from conformance.catalog import Cell
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.expectations import Expectation
from conformance.pipeline.batch import Batcher
from conformance.pipeline.confirmation import conclude, conclude_miss
from conformance.pipeline.items import CellItem, Item, ItemAnswer, Results
from conformance.pipeline.outcome import Outcome, known_loss
from conformance.pipeline.records import ONLY_IN_BATCH
from conformance.verdict import Record, Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Operation, Program, Region, Value
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.small_programs import op_program, tensor_of

F32 = ELEMENT_TYPES["f32"]
X = np.array([1.0, 2.0], np.float32)
PROGRAM = op_program("negate", [tensor_of(2)], tensor_of(2))
ITEM = CellItem(
    0, PROGRAM, [(X,)], [tuple(evaluate(PROGRAM, (X,)))], Cell("negate", F32, "reference")
)
RIGHT: Results = [[-X]]
WRONG: Results = [[X]]
OTHER: Results = [[np.array([-1.0, 5.0], np.float32)]]


def batcher_with(
    monkeypatch: pytest.MonkeyPatch,
    alone: list[Results | BackendError],
    batch: list[Results | BackendError] | None = None,
) -> Batcher:
    """Return a batcher that answers so, in isolation and for the whole batch."""

    def run_in_isolation(_: Batcher, __: Item) -> list[Results]:
        for one in alone:
            if isinstance(one, BackendError):
                raise one
        return [one for one in alone if not isinstance(one, BackendError)]

    monkeypatch.setattr(Batcher, "run_in_isolation", run_in_isolation)
    monkeypatch.setattr(Batcher, "attempts", lambda *_: alone)
    monkeypatch.setattr(Batcher, "batch_again", lambda *_: batch or [])
    return Batcher(open_session("reference"))


def record_of(
    first: Results | BackendError, batcher: Batcher, batch: list[Item] | None = None
) -> Record:
    """Return the record of the case, whose first answer this is."""
    return conclude(ITEM, ItemAnswer(first, batch or [ITEM]), batcher).record


def test_a_failure_in_every_run_has_its_own_class(monkeypatch: pytest.MonkeyPatch) -> None:
    batcher = batcher_with(monkeypatch, [WRONG, WRONG, WRONG])
    result = conclude(ITEM, ItemAnswer(WRONG, [ITEM]), batcher)
    assert result.record.verdict is Verdict.DIVERGENT
    assert result.record.kind != NOT_DETERMINISTIC
    assert result.is_steady


def test_results_that_change_are_not_deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(WRONG, batcher_with(monkeypatch, [RIGHT, OTHER, RIGHT]))
    assert (record.verdict, record.kind) == (Verdict.DIVERGENT, NOT_DETERMINISTIC)
    assert record.repeats is not None
    assert (record.repeats.failed, record.repeats.runs) == (2, 4)


def test_a_failure_of_the_batch_alone_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    batch: list[Item] = [ITEM, CellItem(1, PROGRAM, [(X,)], ITEM.expected, ITEM.cell)]
    batcher = batcher_with(monkeypatch, [RIGHT, RIGHT, RIGHT], [WRONG, WRONG, WRONG])
    assert record_of(WRONG, batcher, batch).kind == ONLY_IN_BATCH
    rarely = batcher_with(monkeypatch, [RIGHT, RIGHT, RIGHT], [WRONG, RIGHT, RIGHT])
    assert record_of(WRONG, rarely, batch).kind == NOT_DETERMINISTIC


def test_an_error_counts_if_it_is_raised_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    error = Failed("oops")
    always = record_of(error, batcher_with(monkeypatch, [error, error, error]))
    assert (always.verdict.fails, always.kind == NOT_DETERMINISTIC) == (True, False)
    sometimes = record_of(error, batcher_with(monkeypatch, [RIGHT, error, RIGHT]))
    assert sometimes.kind == NOT_DETERMINISTIC
    assert sometimes.message == "in 2 of 4 runs: oops"
    refused = record_of(Unsupported("not yet"), batcher_with(monkeypatch, []))
    assert refused.verdict is Verdict.UNSUPPORTED


def test_a_near_miss_that_is_accepted_once_is_not_deterministic() -> None:
    passing = Record(*ITEM.key, Verdict.PASS)
    accepted = Record(*ITEM.key, Verdict.ACCEPTED, "C1", "compiled")
    answers = iter([accepted, passing, passing, passing])
    record = conclude_miss(lambda: next(answers), 3).record
    assert (record.kind, record.message) == (NOT_DETERMINISTIC, "in 1 of 4 runs: compiled")
    assert conclude_miss(lambda: accepted, 3).is_steady
    assert conclude_miss(lambda: passing, 3).record == passing


TENSOR = tensor_of(2)
X_VALUE, Y, Z = (Value(name, TENSOR) for name in "xyz")
SINE_COSINE = Program(
    (
        Function(
            "main",
            Region(
                (X_VALUE,),
                (
                    Operation("sine", (X_VALUE,), (Y,)),
                    Operation("cosine", (Y,), (Z,)),
                    Operation("return", (Z,)),
                ),
            ),
            (TENSOR,),
        ),
    )
)


def test_a_new_failure_is_worse_than_any_known_failure() -> None:
    new = Outcome(Verdict.INACCURATE)
    known = Outcome(Verdict.CRASHED, known=("entry",))
    passing = Outcome(Verdict.PASS)
    assert max((passing, known, new), key=lambda one: one.severity) is new
    assert max((passing, known), key=lambda one: one.severity) is known
    assert [one.is_new_failure for one in (passing, known, new)] == [False, False, True]


def test_a_crash_is_known_if_an_entry_matches_any_operation() -> None:
    crash = Outcome(Verdict.CRASHED, "abnormal exit", "the process ended with SIGABRT: oops")
    entries = [
        Expectation(op, (op,), "r", verdicts=("crashed",), words=("oops",))
        for op in ("cosine", "tan")
    ]
    assert known_loss(SINE_COSINE, entries, "cpu", crash).known == ("cosine",)
    assert known_loss(SINE_COSINE, entries[1:], "cpu", crash).known == ()
    silent = Outcome(Verdict.CRASHED, "abnormal exit", "the process ended with SIGABRT")
    assert known_loss(SINE_COSINE, entries, "cpu", silent).known == ()
