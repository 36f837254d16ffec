"""Mutants in functions that several ops reach are tried with the cases of the others, too."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.mutants.measuring import OTHERS, Fate, OpResult, Settings
from benchmarks.mutants.workers import _add_other_ops, _foreign_mutants
from suites.meta.benchmarks.mutants.test_report import mutant

SETTINGS = Settings(profiles=("smoke",))
OWN, SHARED = "own:1", "shared:1"


def result(op: str, *mutants: object) -> OpResult:
    return OpResult(op, mutants, frozenset({f"{op}:1", SHARED}))  # type: ignore[arg-type]


SURVIVOR = replace(mutant(), function=SHARED, mutant="file#7")


def test_survivors_in_shared_functions_are_tried_by_the_others() -> None:
    detected = replace(SURVIVOR, caught=("smoke",))
    alone = replace(mutant(), function=OWN)
    results = {"add": result("add", SURVIVOR, detected, alone), "abs": result("abs")}
    assert _foreign_mutants(results, SETTINGS) == {"abs": ["file#7"]}


def test_an_op_that_does_not_reach_the_function_is_not_asked() -> None:
    results = {"add": result("add", SURVIVOR), "abs": OpResult("abs")}
    assert _foreign_mutants(results, SETTINGS) == {}


def test_only_survivors_are_noted_as_detected_by_others() -> None:
    mutants = (
        SURVIVOR, replace(SURVIVOR, caught=("smoke",)), replace(SURVIVOR, fate=Fate.PERMITTED),
        replace(SURVIVOR, mutant="file#8"),
    )  # fmt: skip
    found = _add_other_ops(result("add", *mutants), {"file#7"}, SETTINGS).mutants
    assert [one.caught for one in found] == [(OTHERS,), ("smoke",), (), ()]
