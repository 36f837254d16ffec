"""Speed of the harness: rates, the median round, and a backend that records its modules."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import throughput
from benchmarks.throughput import Clock, Rate, Recorder, median_round


def test_a_rate_by_second() -> None:
    line = Rate("ours", 100, 400, 8.0).line()
    assert line.split() == ["ours", "100", "12.5", "400", "50.0", "8.0"]


def test_the_median_round_counts() -> None:
    rounds = [Rate("ours", 100, 400, seconds) for seconds in (9.0, 2.0, 4.0)]
    assert median_round(rounds) == Rate("ours", 100, 400, 4.0)


def test_texts_and_inputs_of_all_executions_are_recorded() -> None:
    class Executable:
        def execute(self, inputs: Any) -> list[Any]:
            return [inputs, "results"]

    class Backend:
        name, hardware = "a backend", None

        def compile(self, text: str, program: Any) -> Executable:
            del text, program
            return Executable()

        def refusal(self, program: Any) -> None:
            del program

    recorder = Recorder(Backend())  # type: ignore[arg-type]
    executable = recorder.compile("text", "program")  # type: ignore[arg-type]
    assert executable.execute([["a"]]) == [[["a"]], "results"]
    executable.execute([["b"]])
    assert recorder.kept == [("text", "program", [(["a"],), (["b"],)])]
    assert recorder.refusal("program") is None  # type: ignore[arg-type]


def test_a_clock_runs_from_the_first_task_to_the_last_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = iter([3.0, 10.0])
    monkeypatch.setattr(throughput, "perf_counter", lambda: next(ticks))
    clock = Clock()
    clock.start(None)
    clock.stop()
    assert clock.seconds == 7
