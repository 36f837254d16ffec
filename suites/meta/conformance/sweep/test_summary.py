"""New classes of a sweep, and its lines."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.outputs.sweep import ResultClass
from conformance.sweep.summary import is_new, lines_of
from conformance.verdict import HISTOGRAM_EDGES, Verdict


class Stated:
    """An object with the given fields, in place of a whole sweep."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


def result_class(
    verdict: Verdict, count: int = 1, known: str = "", message: str = ""
) -> ResultClass:
    return ResultClass(
        verdict=verdict, class_="", count=count, known=known, message=message, worst_ulp=None,
        example=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "known", "new"),
    [
        (Verdict.DIVERGENT, "", True),
        (Verdict.DIVERGENT, "mine", False),
        (Verdict.PASS, "", False),
        (Verdict.UNSPECIFIED, "", False),
    ],
)
def test_failures_that_no_expectation_matches_are_new(
    verdict: Verdict, known: str, new: bool
) -> None:
    assert is_new(result_class(verdict, 1, known)) is new


def lines(*classes: ResultClass, **given: Any) -> list[str]:
    function: Any = Stated(**{
        "name": "tanh f32", "state": "pass", "arguments": "all", "values": 1000, "planned": 1000,
        "correctly_rounded": 999, "worst": None, "worst_ulp": None, "classes": classes,
        "histogram": (0,) * (len(HISTOGRAM_EDGES) + 1), "inversions": 0, "asymmetries": None,
        **given,
    })  # fmt: skip
    sweep: Any = Stated(functions=(function,), shard=given.get("shard", "1/1"))
    return list(lines_of(sweep))


def test_function_has_the_share_that_is_correctly_rounded() -> None:
    passed = result_class(Verdict.PASS, 1000)
    first, last = lines(passed)
    assert first == "tanh f32: all 1,000 values, 99.9000% correctly rounded"
    assert last == "1 function, 1,000 values: 0 new and 0 known classes of failures"
    assert "100% correctly" in lines(passed, correctly_rounded=1000)[0]
    nearly = lines(passed, values=10**8, planned=10**8, correctly_rounded=10**8 - 1)[0]
    assert "<100% correctly" in nearly


def test_part_of_a_sweep_says_so() -> None:
    found = lines(result_class(Verdict.PASS), values=10, arguments="sample", shard="2/3")[0]
    assert found.startswith("tanh f32: a sample of 10 of 1,000 values of part 2/3, ")


def test_failures_are_listed_as_known_or_new() -> None:
    found = lines(
        result_class(Verdict.DIVERGENT, 2000, "", "It is wrong. And more"),
        result_class(Verdict.INACCURATE, 1, "mine"), inversions=5,
    )  # fmt: skip
    assert found[1] == "  divergent: 2,000: It is wrong.; new"
    assert found[2] == "  inaccurate: 1; known: mine"
    assert found[3] == "  not monotonic: 5 neighbours in the wrong order"
    assert found[4].endswith("1 new and 1 known classes of failures")


def test_function_without_results_has_the_backends_words() -> None:
    found = lines(result_class(Verdict.CRASHED, 1, "", "It died. More"), state="crashed")
    assert found[0] == "tanh f32: crashed: It died.; new"
    assert lines(state="untested")[0] == "tanh f32: untested"
