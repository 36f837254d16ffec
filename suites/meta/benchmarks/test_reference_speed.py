"""Speed of the reference: the best of several runs, and the ratio to the interpreter."""

from __future__ import annotations

import pytest

from benchmarks import reference_speed
from benchmarks.reference_speed import GOAL, SMALL, WORK, Timings, _best_seconds, _inputs, _main
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import check


def test_the_best_of_several_runs_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([0.0, 3.0, 10.0, 11.0, 20.0, 25.0])
    monkeypatch.setattr(reference_speed, "perf_counter", lambda: next(ticks))
    of = "tensor<4x4xf32>"
    text = _main([of], of, f"%0 = {SMALL['add']}\nreturn %0 : {of}")
    assert _best_seconds(text, _inputs(((4, 4),)), 3) == 1


@pytest.mark.parametrize(
    ("ours", "theirs", "stopped", "end"),
    [
        (0.01, 0.01 * GOAL, False, "0.50        50   met"),
        (0.01, 0.01 * (GOAL - 1), False, "49   missed"),
        (0.1, 60.0, True, ">60.00      >600   met"),
    ],
)
def test_a_stopped_interpreter_gives_a_lower_limit(
    ours: float, theirs: float, stopped: bool, end: str
) -> None:
    assert Timings("a program", ours, theirs, stopped).line().endswith(end)


@pytest.mark.parametrize("name", WORK)
def test_modules_are_valid_and_take_their_inputs(name: str) -> None:
    text, shapes = WORK[name]
    program = parse_module(text)
    assert check(program) == []
    assert [value.type.static_shape for value in program.main.arguments] == list(shapes)  # type: ignore[union-attr]


def test_inputs_are_the_same_in_both_processes() -> None:
    for one, other in zip(_inputs(((2,), (3,))), _inputs(((2,), (3,))), strict=True):
        assert one.tolist() == other.tolist()
