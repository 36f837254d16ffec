"""The least time of a few rounds, and a program that is only partly evaluated again."""

from __future__ import annotations

import pytest

from benchmarks import check_evaluations
from benchmarks.check_evaluations import ROUNDS, seconds, training_step
from reference.interpreter.evaluate import check


def test_the_least_of_all_rounds_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0, 5, 10, 12, 20, 27, 30, 34, 40, 46])
    monkeypatch.setattr(check_evaluations.time, "perf_counter", lambda: next(ticks))
    calls: list[int] = []
    assert seconds(lambda: calls.append(1)) == 2
    assert len(calls) == ROUNDS


def test_the_step_draws_bits_that_perturbation_does_not_change() -> None:
    program, inputs = training_step()
    assert check(program) == []
    assert len(inputs) == len(program.main.arguments)
    types = {
        str(value.type.element_type)
        for one in program.main.body.operations
        for value in one.results
    }  # type: ignore[union-attr]
    assert {"f32", "ui32", "i1"} <= types
