"""Outcomes: their order, their fields in subclasses, and programs without results."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.gate.expectations import Expectation
from conformance.pipeline.outcome import Outcome, known_loss
from conformance.verdict import Verdict
from reference.ir.program import Function, Operation, Program, Region, Value
from suites.meta.support.small_programs import tensor_of

F32 = tensor_of(2)
X, Y, Z = (Value(name, F32) for name in "xyz")
PROGRAM = Program(
    (
        Function(
            "main",
            Region(
                (X,),
                (
                    Operation("sine", (X,), (Y,)),
                    Operation("cosine", (Y,), (Z,)),
                    Operation("return", (Z,)),
                ),
            ),
            (F32,),
        ),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedOutcome(Outcome):
    """An outcome with a name."""

    name: str


def test_a_new_failure_is_worse_than_any_known_failure() -> None:
    new = Outcome(Verdict.INACCURATE)
    known = Outcome(Verdict.CRASHED, known=("entry",))
    passing = Outcome(Verdict.PASS)
    assert max((passing, known, new), key=lambda one: one.severity) is new
    assert max((passing, known), key=lambda one: one.severity) is known
    assert [one.is_new_failure for one in (passing, known, new)] == [False, False, True]


def test_a_subclass_takes_over_all_fields() -> None:
    fault = (Verdict.DIVERGENT, "NaN")
    outcome = Outcome(Verdict.DIVERGENT, "NaN", "m", "%0", (), ("a",), "add f32", fault)
    named = NamedOutcome.of(outcome, name="n", message="other")
    assert named == NamedOutcome(
        Verdict.DIVERGENT, "NaN", "other", "%0", (), ("a",), "add f32", fault, name="n"
    )


def test_a_crash_is_known_if_an_entry_matches_any_operation() -> None:
    crash = Outcome(Verdict.CRASHED, "abnormal exit", "the process ended with SIGABRT: oops")
    entries = [
        Expectation(op, (op,), "r", verdicts=("crashed",), words=("oops",))
        for op in ("cosine", "tan")
    ]
    assert known_loss(PROGRAM, entries, "cpu", crash).known == ("cosine",)
    assert known_loss(PROGRAM, entries[1:], "cpu", crash).known == ()
    silent = Outcome(Verdict.CRASHED, "abnormal exit", "the process ended with SIGABRT")
    assert known_loss(PROGRAM, entries, "cpu", silent).known == ()
