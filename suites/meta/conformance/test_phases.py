"""The step of a worker at its timeout: noted by the worker, reported by the parent."""

from __future__ import annotations

import gc
import signal
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.executors.limit import TooSlow, interrupt_after, limit_evaluation
from conformance.phases import Phase, describe_timeout, note_phases, phase, read_phases


def test_phases_are_noted_as_they_begin_and_end(tmp_path: Path) -> None:
    @phase("inputs", 1, of=3)
    def judge_in_phase() -> None:
        with phase("compilation"):
            pass
        with pytest.raises(KeyError), phase("evaluation"):
            raise KeyError
        seen.extend(read_phases(path))

    seen: list[Phase] = []
    path = tmp_path / "notes"
    judge_in_phase()
    assert not seen
    with note_phases(path):
        judge_in_phase()
    names = [(one.name, one.number, one.of, one.ended is None) for one in seen]
    assert names == [
        ("inputs", 1, 3, True), ("compilation", 0, 0, False), ("evaluation", 0, 0, False)
    ]  # fmt: skip
    assert not path.exists()


SETS = Phase("inputs", 1, 3, 10.0)


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ((), ""),
        (
            (SETS, Phase("evaluation", 0, 11, 10.0)),
            ("the reference had been evaluating for 90 s, input set 1 of 3; the time needed "
            "is unknown: try --timeout 200"),
        ),
        (  # 10 s for the rest, then 33 evaluations of 20 s: 670 s, and a quarter more
            (
                SETS, Phase("evaluation", 0, 11, 10.0, 30.0), Phase("moved", 0, 0, 30.0),
                *(Phase("evaluation", 0, 11, 30.0 + 20 * n, 50.0 + 20 * n) for n in range(3)),
                Phase("evaluation", 0, 11, 90.0),
            ),
            ("the reference was in evaluation 5 of 11 (about 20 s each) with intermediate results "
            "perturbed, input set 1 of 3; if nothing is wrong, --timeout 840 should be enough"),
        ),
        (  # more than rounding differs: how many evaluations that takes is open
            (
                Phase("inputs", 1, 1, 0.0), Phase("locating", 0, 0, 40.0),
                *(Phase("evaluation", 0, 2, 0.5 * n, 0.5 * n + 0.5) for n in range(2)),
                Phase("evaluation", 0, 2, 99.5),
            ),
            ("the reference was in evaluation 3 (about 0.5 s each) during the search for the first "
            "wrong operation; the time needed is unknown: try --timeout 200"),
        ),
    ],
)  # fmt: skip
def test_timeout_message_names_slow_step_and_needed_limit(
    phases: tuple[Phase, ...], expected: str
) -> None:
    assert describe_timeout(phases, 100.0) == expected


def _be_busy(*_: object) -> None:
    last = time.process_time() + 0.2
    while time.process_time() < last:
        pass


@pytest.mark.parametrize("sent", [signal.SIGALRM, signal.SIGPROF])
def test_a_signal_of_others_does_not_end_a_limit(sent: signal.Signals) -> None:
    with interrupt_after(600, TooSlow()), limit_evaluation(600):
        signal.raise_signal(sent)
    signal.raise_signal(sent)  # one that was under way


class _Slow:
    def __del__(self) -> None:
        _be_busy()


def _finalize() -> None:
    _Slow()


def _end_weak_reference() -> None:
    referred = type("Referred", (), {})()
    reference = weakref.ref(referred, _be_busy)
    del referred
    assert reference() is None


def _collect() -> None:
    gc.callbacks.append(_be_busy)
    gc.collect()
    gc.callbacks.remove(_be_busy)


@pytest.mark.parametrize("drop", [_finalize, _end_weak_reference, _collect])
def test_a_limit_that_is_over_where_python_drops_errors_is_not_lost(
    drop: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def compute_past_limit() -> None:
        drop()
        while time.monotonic() < last:
            pass

    last = time.monotonic() + 60
    with pytest.raises(TooSlow), limit_evaluation(0.05):
        compute_past_limit()
    assert not capsys.readouterr().err
