"""Calls that lose their worker: split into parts, repeated, and asked about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.executors.local import Call, CallEnd, WorkerCrash, WorkerTimeout
from conformance.pipeline.splitting import (
    BatchCall,
    SplitCall,
    answers_of,
    run_in_parts,
)
from suites.meta.support.workers import Workers

DIED = WorkerCrash("SIGSEGV")
SECONDS = 60.0


def call_of(name: str, seconds: float = SECONDS, **given: Any) -> BatchCall:
    """Return a call about programs, one for each letter of its name; its halves are its parts."""
    half = len(name) // 2
    parts = (name[:half], name[half:]) if half else (name,)
    return BatchCall(
        name, print, (name,), seconds,
        parts=lambda: [call_of(part, seconds / 2, **given) for part in parts], **given,
    )  # fmt: skip


class Made:
    """Calls made in workers without processes, and how those ended that were not split."""

    def __init__(self, value: Callable[[Call], Any], *names: str, **given: Any) -> None:
        self.notices: list[tuple[str, int, bool, int, int]] = []
        workers = Workers(value)
        calls = [call_of(name, **given) for name in names]
        ended = run_in_parts(workers, calls, self._note)  # type: ignore[arg-type]
        self.ends = [one for one in ended if one is not None]
        self.values = {one.call.name: one.value for one in self.ends}
        assert len(self.values) == len(self.ends)
        self.names = [one.name for one in workers.made]
        self.seconds = [one.timeout for one in workers.made]

    def _note(self, split: SplitCall) -> None:
        name = split.call.name
        self.notices.append((name, split.left, split.has_culprit, split.failed, split.runs))


def dies(*culprits: str, end: object = DIED) -> Callable[[Call], object]:
    """Return a function that ends calls with any of these letters badly, others with their name."""
    return lambda call: end if {*culprits} & {*call.name} else call.name


@pytest.mark.parametrize("lost", [DIED, WorkerTimeout(60.0)])
def test_one_program_that_loses_its_worker_is_found(lost: object) -> None:
    made = Made(dies("b", end=lost), "abcd", "ef")
    assert made.values == {"a": "a", "b": lost, "cd": "cd", "ef": "ef"}
    assert made.names == ["abcd", "ab", "cd", "a", "b", "ef"]
    assert made.notices == [
        ("abcd", 2, False, 1, 1), ("ab", 2, False, 1, 1), ("ab", 0, True, 1, 1),
        ("abcd", 0, True, 1, 1),
    ]  # fmt: skip


def test_two_programs_that_lose_their_worker_are_found() -> None:
    made = Made(dies("b", "c"), "abcd", repeats=[1.0])
    assert made.values == {"a": "a", "b": DIED, "c": DIED, "d": "d"}
    assert sorted(made.names) == sorted(["abcd", "ab", "cd", *"abcd", "b", "c"])
    assert all(runs == 1 for *_, runs in made.notices)


def test_programs_that_lose_their_worker_only_together_are_called_together_again() -> None:
    crashes = iter([True, False, True])
    made = Made(
        lambda call: DIED if len(call.name) == 4 and next(crashes) else call.name, "abcd",
        repeats=[5.0, 5.0],
    )  # fmt: skip
    assert made.values == {"ab": "ab", "cd": "cd"}
    assert made.names == ["abcd", "ab", "cd", "abcd", "abcd"]
    assert made.seconds == [60.0, 30.0, 30.0, 5.0, 5.0]
    assert made.notices == [
        ("abcd", 2, False, 1, 1), ("abcd", 0, False, 1, 1), ("abcd", 0, False, 1, 2),
        ("abcd", 0, False, 2, 3),
    ]  # fmt: skip


def test_an_error_splits_only_calls_that_say_so() -> None:
    error = KeyError("x")
    made = Made(dies("b", end=error), "ab", splits_errors=True, repeats=[5.0])
    assert made.values == {"a": "a", "b": error}
    assert made.names == ["ab", "a", "b"]
    whole = Made(dies("b", end=error), "ab", repeats=[5.0])
    assert (whole.values, whole.names) == ({"ab": error}, ["ab"])


def test_an_error_of_the_whole_only_is_noticed_and_not_repeated() -> None:
    made = Made(
        lambda call: KeyError("x") if len(call.name) > 1 else call.name, "ab",
        splits_errors=True, repeats=[5.0],
    )  # fmt: skip
    assert made.names == ["ab", "a", "b"]
    assert made.notices[-1] == ("ab", 0, False, 1, 1)


def test_a_part_that_is_lost_is_asked_about_in_another_worker() -> None:
    def value(call: Call) -> object:
        if call.arguments == ("asked",):
            return "answer"
        return DIED if "b" in call.name else call.name

    asked: list[object] = []

    def question(lost: object) -> Call:
        asked.append(lost)
        return Call("question", print, ("asked",), 1.0)

    made = Made(value, "ab", question=question)
    assert made.values == {"a": "a", "b": "answer"}
    assert asked == [DIED]
    assert made.notices[-1] == ("ab", 0, True, 1, 1)


def test_a_question_that_is_lost_too_leaves_the_first_end() -> None:
    ends = iter([WorkerCrash("end 1"), WorkerCrash("end 2")])
    made = Made(lambda _: next(ends), "b", question=lambda _: Call("question", print, (), 1.0))
    assert made.values == {"b": WorkerCrash("end 1")}
    assert made.names == ["b", "question"]


def test_answers_of_a_call() -> None:
    call = call_of("a")
    assert answers_of(CallEnd(call, ("x",)), lambda _: ()) == ("x",)
    assert answers_of(CallEnd(call, DIED), lambda lost: (lost.reason,)) == ("SIGSEGV",)
    with pytest.raises(KeyError):
        answers_of(CallEnd(call, KeyError("x")), lambda _: ())


STARVED = WorkerTimeout(60.0, waited=50.0)


@pytest.mark.parametrize("ends", [[STARVED], [STARVED, WorkerTimeout(60.0)], [STARVED, STARVED]])
def test_a_program_whose_worker_had_no_processor_is_called_again_by_itself(ends: list[Any]) -> None:
    left = list(ends)

    def value(call: Call) -> object:
        if call.name == "b":
            return left.pop(0) if left else "b"
        return WorkerTimeout(60.0) if "b" in call.name else call.name

    made = Made(value, "ab", "cd", "ef")
    assert made.names == ["ab", "a", "b", "cd", "ef", "b"]
    assert made.values["b"] == (ends[1] if len(ends) > 1 else "b")
    assert made.notices[-1] == ("ab", 0, len(ends) > 1, 1, 1)


def test_a_program_that_times_out_without_waiting_for_a_processor_is_not_postponed() -> None:
    made = Made(dies("b", end=WorkerTimeout(60.0, waited=20.0)), "ab", "cd")
    assert made.names == ["ab", "a", "b", "cd"]
