"""Counterexamples are replayed in calls to workers: batched, repeated, and split after a crash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from conformance.checking.calls import MATCH_CRASH
from conformance.checking.counterexamples import BATCH, ROUNDS, is_unsteady, replay_counterexamples
from conformance.checking.settings import ReplayedCounterexample
from conformance.executors.local import Call, WorkerCrash
from conformance.gate.expectations import Counterexample, Expectation
from conformance.limits import LIMITS
from conformance.verdict import Verdict
from suites.meta.support.workers import Workers

SHOWN = Counterexample("func.func @main() { return }")
DIED = WorkerCrash("SIGSEGV")


def entries(count: int, **given: Any) -> list[Expectation]:
    one = structs.replace(Expectation("", ("add",), "why", counterexample=SHOWN), **given)
    return [structs.replace(one, id=f"n{n}") for n in range(count)]


class RestartedWorkers(Workers):
    """Workers that count how often they were ended."""

    ended = 0

    def end_workers(self) -> None:
        self.ended += 1


def replay_result(entry: Expectation, reproduces: bool = True) -> ReplayedCounterexample:
    verdict = Verdict.DIVERGENT if reproduces else Verdict.PASS
    return ReplayedCounterexample(verdict, id=entry.id, reproduces=reproduces)


def replay(workers: Workers, given: Sequence[Expectation], jobs: int = 1) -> dict[str, bool]:
    found = replay_counterexamples(workers, given, "reference", jobs)  # type: ignore[arg-type]
    return {one.id: one.reproduces for one in found if one is not None}


def answer(call: Call) -> tuple[ReplayedCounterexample, ...]:
    return tuple(map(replay_result, call.name))


def test_entries_without_a_counterexample_are_left_out() -> None:
    workers = Workers(answer)
    given = [*entries(2), Expectation("bare", ("add",), "why")]
    assert replay(workers, given) == {"n0": True, "n1": True}


@pytest.mark.parametrize(
    ("count", "jobs", "sizes"), [(BATCH + 1, 1, [BATCH, 1]), (6, 4, [2, 2, 2]), (1, 4, [1])]
)
def test_batches_fill_the_workers(count: int, jobs: int, sizes: list[int]) -> None:
    workers = Workers(answer)
    replay(workers, entries(count), jobs)
    assert [len(call.name) for call in workers.made] == sizes


def test_entries_about_crashes_get_calls_of_their_own() -> None:
    workers = Workers(answer)
    replay(workers, entries(3, verdicts=("crashed", "divergent")))
    assert [len(call.name) for call in workers.made] == [1, 1, 1]


def test_entries_about_timeouts_get_first_calls_with_the_limit_of_one_program() -> None:
    workers = Workers(answer)
    replay(workers, [*entries(2), *entries(3, verdicts=("timed_out",))[2:]])
    assert [len(call.name) for call in workers.made] == [1, 2]
    assert [call.timeout for call in workers.made] == [LIMITS.item, LIMITS.timeout]


def test_unsteady_entries_are_tried_again_in_new_workers() -> None:
    workers = RestartedWorkers(lambda call: tuple(replay_result(one, False) for one in call.name))
    given = [*entries(1), *entries(2, flaky=True)[1:]]
    assert replay(workers, given) == {"n0": False, "n1": False}
    assert workers.ended == ROUNDS - 1
    assert [len(call.name) for call in workers.made] == [2] + [1] * (ROUNDS - 1)


def test_entry_that_reproduces_is_not_tried_again() -> None:
    workers = RestartedWorkers(answer)
    assert replay(workers, entries(1, unpredictable=True)) == {"n0": True}
    assert workers.ended == 0


def test_a_crash_is_found_in_its_batch_and_matched_in_another_worker() -> None:
    def value(call: Call) -> Any:
        if call.function == MATCH_CRASH:
            return (replay_result(call.name[0]),)
        return DIED if any(one.id == "n1" for one in call.name) else answer(call)

    workers = Workers(value)
    assert replay(workers, entries(3)) == {"n0": True, "n1": True, "n2": True}
    assert sum(call.function == MATCH_CRASH for call in workers.made) == 1


@pytest.mark.parametrize(
    ("given", "unsteady"),
    [
        ({}, False),
        ({"where": ("x",)}, True),
        ({"unpredictable": True}, True),
        ({"flaky": True}, True),
    ],
)
def test_entries_about_memory_and_races_are_unsteady(given: dict[str, Any], unsteady: bool) -> None:
    assert is_unsteady(entries(1, **given)[0]) is unsteady
