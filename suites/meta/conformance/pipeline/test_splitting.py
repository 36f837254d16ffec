"""Calls that lose their worker are replaced by calls of their parts; a lost part is asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from conformance.errors import NotAvailable
from conformance.executors.local import Call, CallEnd, Died, TimedOut
from conformance.pipeline.splitting import answers_of, run_in_parts
from suites.meta.support.workers import Workers

DIED = Died("SIGSEGV")


def call_of(name: str) -> Call:
    return Call(name, print, (name,), 1.0)


def letters(call: Call, value: object) -> list[Call]:
    del value
    return [call_of(letter) for letter in call.name] if len(call.name) > 1 else []


def ends(
    value: Callable[[Call], Any], names: Iterable[str], **given: Any
) -> tuple[dict[str, Any], list[str]]:
    """Return the value of each call that ended, by its name, and the names of all calls made."""
    workers = Workers(value)
    ended = run_in_parts(workers, map(call_of, names), letters, **given)  # type: ignore[arg-type]
    found = [one for one in ended if one is not None]
    assert len({one.call.name for one in found}) == len(found)
    return {one.call.name: one.value for one in found}, [one.name for one in workers.made]


@pytest.mark.parametrize("lost", [DIED, TimedOut(1.0), KeyError("x")])
def test_only_the_guilty_part_is_lost(lost: object) -> None:
    found, made = ends(lambda call: lost if "b" in call.name else call.name, ["abc", "de"])
    assert found == {"a": "a", "b": lost, "c": "c", "de": "de"}
    assert made == ["abc", "a", "b", "c", "de"]


def test_a_part_that_is_lost_is_asked_about_in_another_worker() -> None:
    def value(call: Call) -> object:
        if call.arguments == ("asked",):
            return "answer"
        return DIED if "b" in call.name else call.name

    def question(call: Call, lost: object) -> Call:
        assert (call.name, lost) == ("b", DIED)
        return replace(call, arguments=("asked",))

    found, _ = ends(value, ["ab"], question=question)
    assert found == {"a": "a", "b": "answer"}


def test_a_question_that_is_lost_too_leaves_the_first_end() -> None:
    calls: list[Call] = []

    def value(call: Call) -> object:
        calls.append(call)
        return Died(f"end {len(calls)}")

    found, _ = ends(value, ["b"], question=lambda call, _: replace(call, arguments=("asked",)))
    assert found == {"b": Died("end 1")}
    assert len(calls) == 2


def test_no_question_about_an_exception() -> None:
    error = KeyError("x")
    found, made = ends(lambda _: error, ["b"], question=lambda call, _: call)
    assert (found, made) == ({"b": error}, ["b"])


def test_without_a_backend_nothing_is_split() -> None:
    with pytest.raises(NotAvailable, match="no device"):
        ends(lambda _: NotAvailable("no device"), ["abc"])


def test_answers_of_a_call() -> None:
    call = call_of("a")
    assert answers_of(CallEnd(call, ("x",)), lambda _: ()) == ("x",)
    assert answers_of(CallEnd(call, DIED), lambda lost: (lost.reason,)) == ("SIGSEGV",)
    with pytest.raises(KeyError):
        answers_of(CallEnd(call, KeyError("x")), lambda _: ())
